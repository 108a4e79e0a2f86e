"""Responses to the browser: a page, or its fragment for htmx; a store's refusal as a page that says what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django_htmx.middleware import HtmxDetails

from viewer.rendering import formats
from viewer.stores.errors import AlreadyUndone, StoreError
from viewer.web.session_urls import SessionUrls

from .parts.opened import now_without_boundary
from .parts.ways_on import ways_on

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def page(request: HttpRequest, template: str, data: Any, *, status: int = 200) -> HttpResponse:
    """Render `template` with `page=data`. Characters of session text that UTF-8 cannot encode are replaced.

    Going back to a page shows it as it was, at once: `no-store` would forbid that. `Vary: *` keeps a stored answer from
    being used in any other way. Answers to a POST may hold a new token, and parts of a page are not gone back to.
    """
    text = render_to_string(template, {"page": data}, request)
    response = HttpResponse(text.encode("utf-8", "replace"), status=status)
    kept = request.method == "GET" and status == 200 and not is_fragment(request)
    response["Vary"] = "*" if kept else "HX-Request"
    response["Cache-Control"] = "private, no-cache" if kept else "no-store"
    return response


def tab(request: HttpRequest, fragment: str, data: Any, *, name: str, back: str, heading: str) -> HttpResponse:
    """The fragment for htmx, else a page with it under a heading and a link `back` to the page `name`."""
    if is_fragment(request):
        return page(request, fragment, data)
    top = {"name": name, "back": back, "heading": heading, "fragment": fragment, "data": data}
    return page(request, "boundary/tab.html", top)


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx requests a part of a page, and not a page to go back to."""
    htmx: HtmxDetails = request.htmx  # type: ignore[attr-defined]  # set by django-htmx's middleware
    return bool(htmx) and not htmx.history_restore_request and not htmx.boosted


def on_page_of(request: HttpRequest, urls: SessionUrls) -> bool:
    """Whether htmx asks from a session's own page, where its History can be updated."""
    return asking_path(request) == urls.href


def asking_path(request: HttpRequest) -> str:
    """The path of the page from which htmx asks, "" if it sends none."""
    return urlsplit(request.headers.get("HX-Current-URL", "")).path


def whole_number(text: str) -> int | None:
    """A part of an address as a number, such as a row's id; None for any other text, and from 19 digits on."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def start_of(request: HttpRequest, name: str = "from") -> int:
    """The position at which a further page of a list begins."""
    return whole_number(request.GET.get(name, "")) or 0


def shows_refusals(view: View[P]) -> View[P]:
    """The view, but a StoreError becomes a page (or a fragment) in the visitor's words."""

    @wraps(view)
    def shown(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except StoreError as refusal:
            return refused(request, refusal)

    return shown


def refused(
    request: HttpRequest, refusal: StoreError, kept: str = "", back: Sequence[tuple[str, str]] = ()
) -> HttpResponse:
    """The page or fragment of a refusal, with its status; `htmx-config` in `base.html` names the statuses that are
    swapped in. `kept` is text that somebody typed; `back` is address and label of each page that the refusal is about.
    """
    sentence = refusal.message
    if isinstance(refusal, AlreadyUndone):
        urls = SessionUrls(refusal.store, refusal.session_id)
        reading, sentence = now_without_boundary(urls, refusal.cut_id), _undone(refusal)
        back = [(reading, "Back to the session")]
        if is_fragment(request) and on_page_of(request, urls):
            undone = {"reading": reading, "sentence": sentence}
            return page(request, "boundary/_undone.html", undone, status=refusal.status)
    data = {"code": refusal.code, "sentence": sentence, "kept": kept, "back": back}
    if is_fragment(request):
        return page(request, "_refusal.html", data, status=refusal.status)
    return page(request, "refusal.html", data if back else data | ways_on(request, refusal), status=refusal.status)


def _undone(refusal: AlreadyUndone) -> str:
    """The sentence of a refusal with its time in the reader's zone."""
    if refusal.at is None:
        return refusal.message
    today = timezone.localtime(refusal.at).date() == timezone.localdate()
    when = formats.hour(refusal.at) if today else formats.moment(refusal.at)
    return format_html("Already undone {} {}.", "at" if today else "on", when)
