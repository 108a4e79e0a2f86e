"""Who may call what: a token within its scopes; a signed-in browser may read."""

from __future__ import annotations

from django.http import HttpRequest

from viewer.web import auth

COMPACT = auth.require("compact")
WRITE = auth.require("write")


def browser(request: HttpRequest) -> bool:
    """A signed-in browser; GET only: no CSRF token is checked here, and a cookie alone must not change anything."""
    return request.method == "GET" and auth.is_signed_in(request)


READ = [auth.require("read"), browser]
