"""The switch that masks what looks like a secret on pages: a cookie of the browser's, off until it is switched on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from compaction.secrets import mask
from viewer.rendering.redaction import masked, masked_item, masked_name, masked_session, masked_text
from viewer.stores.base import Session

__all__ = [
    "COOKIE", "masked", "masked_item", "masked_session", "masked_text", "masks", "name", "session_for", "switch",
    "text_for",
]  # fmt: skip

COOKIE = "palimpsest_mask"
YEAR = 365 * 24 * 3600


def masks(request: HttpRequest) -> bool:
    """Whether this browser asks for masked text."""
    return request.COOKIES.get(COOKIE) == "1"


def text_for(request: HttpRequest, text: str) -> str:
    """The text, masked if the browser asks for it."""
    return mask(text) if masks(request) else text


def session_for(request: HttpRequest, session: Session) -> Session:
    """The session, with what people call it masked if the browser asks for it."""
    return masked_session(session) if masks(request) else session


def name(text: str, masking: bool) -> str:
    """A session's name, or the first words that stand for one, masked or not."""
    return masked_name(text) if masking else text


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Mask, or show what is masked, and go back to the page the switch was on."""
    back = request.POST.get("next", "")
    safe = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    response = redirect(back if safe else "/")
    if request.POST.get("mask") == "1":
        response.set_cookie(COOKIE, "1", max_age=YEAR, httponly=True, samesite="Lax")
    else:
        response.delete_cookie(COOKIE, samesite="Lax")
    return response
