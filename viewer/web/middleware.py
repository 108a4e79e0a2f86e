"""What every response passes: the Content-Security-Policy header, and `Secure` cookies behind a proxy that ends TLS."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port

_POLICY = (
    "default-src 'none'; script-src 'self'{nonce}; style-src 'self'{nonce}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class ContentSecurityPolicy:
    """Middleware: nothing inline runs unless the template gave it this response's nonce (`csp_nonce`)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.META["palimpsest.csp_nonce"] = secrets.token_urlsafe(16)
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", _policy(request))
        return response


def _policy(request: HttpRequest) -> str:
    return _POLICY.format(nonce=f" 'nonce-{request.META['palimpsest.csp_nonce']}'")


def framing(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The response of a page that shows another address of this site in a frame."""
    response.headers["Content-Security-Policy"] = f"{_policy(request)}; frame-src 'self'"
    return response


def nonce(request: HttpRequest) -> dict[str, str]:
    """Template context: `csp_nonce`, the name that django-htmx's own tags read."""
    return {"csp_nonce": request.META.get("palimpsest.csp_nonce", "")}


class BehindTls:
    """Middleware: trusts `X-Forwarded-Proto` only from the configured proxies, and marks cookies as Secure.

    Cookies for this machine itself, such as http://127.0.0.1:8000, are marked only if the request came by TLS.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _came_by_tls(request):
            request.META["wsgi.url_scheme"] = "https"
        response = self.get_response(request)
        if request.is_secure() or (settings.SECURE_COOKIES and not is_for_this_machine(request)):
            for cookie in response.cookies.values():
                cookie["secure"] = True
        return response


def _came_by_tls(request: HttpRequest) -> bool:
    """Whether a configured proxy says so; of several values the last is its own."""
    scheme = request.headers.get("X-Forwarded-Proto", "").rpartition(",")[2].strip().lower()
    try:
        peer = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    return scheme == "https" and any(peer in network for network in settings.TRUSTED_PROXIES)


def is_for_this_machine(request: HttpRequest) -> bool:
    """Whether the request names this machine itself as its host, such as 127.0.0.1 or localhost."""
    name = split_domain_port(request.META.get("HTTP_HOST", ""))[0].strip("[]")
    return is_loopback(name) or name == "localhost" or name.endswith(".localhost")


def is_loopback(address: str) -> bool:
    """Whether this is an IP address of the machine itself."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
