"""Switches that a browser remembers: each is a cookie, set by a form that leads back to the page it stood on."""

from __future__ import annotations

from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

Response = TypeVar("Response", bound=HttpResponseBase)
YEAR = 365 * 24 * 3600


def way_back(request: HttpRequest) -> str:
    """The address within this site that a form names as `next`; the list of sessions where it names none."""
    back = request.POST.get("next", "")
    safe = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return back if safe else reverse("pages:sessions")


def remembered(response: Response, cookie: str, value: str) -> Response:
    """The answer, with which the browser keeps this value of the switch, or forgets it for ""."""
    if value:
        response.set_cookie(
            cookie, value, max_age=YEAR, httponly=True, samesite="Lax", path=settings.SESSION_COOKIE_PATH
        )
    else:
        response.delete_cookie(cookie, samesite="Lax", path=settings.SESSION_COOKIE_PATH)
    return response
