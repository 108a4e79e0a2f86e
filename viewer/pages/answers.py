"""Answers to the browser: a page, or its fragment for htmx; a store's refusal as a page that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django_htmx.middleware import HtmxDetails

from viewer.store.errors import StoreError

from .addresses import Place

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]

STATUS = {"not_found": 404, "store_unavailable": 503}  # every other refusal is a conflict with what is stored: 409


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a page says about a refusal: its stable code and its sentence; `kept` is text somebody typed for it."""

    code: str
    message: str
    kept: str = ""


def page(request: HttpRequest, template: str, data: Any, *, status: int = 200) -> HttpResponse:
    """Render `template` with `page=data`. Session text may hold what UTF-8 cannot say: it must not break the answer."""
    text = render_to_string(template, {"page": data}, request)
    response = HttpResponse(text.encode("utf-8", "replace"), status=status)
    response["Vary"] = "HX-Request"
    response["Cache-Control"] = "no-store"
    return response


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of a page, and not for a page to go back to."""
    found: HtmxDetails = request.htmx  # type: ignore[attr-defined]  # set by django-htmx's middleware
    return bool(found) and not found.history_restore_request and not found.boosted


def on_page_of(request: HttpRequest, place: Place) -> bool:
    """Whether htmx asks from a session's own page, where its History can be brought up to date."""
    return urlsplit(request.headers.get("HX-Current-URL", "")).path == place.href


def shows_refusals(view: View[P]) -> View[P]:
    """The view, with a StoreError shown as a page (or a fragment) in the visitor's words."""

    @wraps(view)
    def shown(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except StoreError as refusal:
            return refused(request, refusal)

    return shown


def refused(request: HttpRequest, refusal: StoreError, kept: str = "") -> HttpResponse:
    """The page of a refusal. htmx swaps only answers of status 200, so a fragment says it there."""
    said = Refusal(refusal.code, refusal.message, kept)
    if is_fragment(request):
        return page(request, "_refusal.html", said)
    return page(request, "refusal.html", said, status=STATUS.get(refusal.code, 409))
