"""Switches that a browser remembers: each is a cookie, set by a form that leads back to the page it stood on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

YEAR = 365 * 24 * 3600


def remembered(request: HttpRequest, cookie: str, value: str) -> HttpResponse:
    """Set the cookie, or take it away for "", and go back to the page that the form names as `next`."""
    back = request.POST.get("next", "")
    safe = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    response = redirect(back if safe else "/")
    if value:
        response.set_cookie(cookie, value, max_age=YEAR, httponly=True, samesite="Lax")
    else:
        response.delete_cookie(cookie, samesite="Lax")
    return response
