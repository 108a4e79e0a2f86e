"""The Content-Security-Policy header, with a nonce for the few scripts and styles a page writes itself."""

import secrets
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

_POLICY = (
    "default-src 'none'; script-src 'self'{nonce}; style-src 'self'{nonce}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class ContentSecurityPolicy:
    """Middleware: nothing inline runs unless the template gave it this answer's nonce (`csp_nonce`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        nonce = secrets.token_urlsafe(16)
        request.META["palimpsest.csp_nonce"] = nonce
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", _POLICY.format(nonce=f" 'nonce-{nonce}'"))
        return response


def nonce(request: HttpRequest) -> dict[str, str]:
    """Template context: `csp_nonce`, the name that django-htmx's own tags read."""
    return {"csp_nonce": request.META.get("palimpsest.csp_nonce", "")}
