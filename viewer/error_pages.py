"""Answers where there is no other, as a page or in JSON: a request that cannot be read (400) or is too large (413), a
form that is not accepted (403), an address that only takes forms (405), a fault of ours (500), and this site's own
database that cannot be used (503). What does not exist (404) is answered by `viewer.api.errors`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import DisallowedHost, RequestDataTooBig
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.defaults import server_error

from viewer.api.errors import problem
from viewer.pages.http import refused
from viewer.settings.logs import HOSTS_SETTING
from viewer.web import own_database
from viewer.web.auth import is_signed_in
from viewer.web.own_database import OwnDatabaseUnavailable
from viewer.web.session_urls import SessionUrls

logger = logging.getLogger(__name__)

LONGEST = 255  # characters of a name that are repeated


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page of status 400 or 413, in JSON for the API. It asks nothing of the request: reading it is what failed."""
    host = request.META.get("HTTP_HOST", "")[:LONGEST] if isinstance(exception, DisallowedHost) else ""
    if request.path_info.startswith("/api/"):
        message = (
            f"This site does not answer as {host!r}: name it in {HOSTS_SETTING}."
            if host
            else "This request cannot be read."
        )
        return JsonResponse({"error": {"code": "bad_request", "message": message}}, status=400)
    name = host.rpartition(":")[0] or host if host.rpartition(":")[2].isdigit() else host
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE if isinstance(exception, RequestDataTooBig) else 0
    text = render_to_string("400.html", {"host": host, "name": name, "limit": limit})
    return HttpResponse(text, status=413 if limit else 400)


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page of status 403: a form without the token of this browser's cookie, or from an unknown origin."""
    origin, here = request.headers.get("Origin", ""), request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(here, {request.get_host()})
    data = {
        "signed_in": is_signed_in(request),
        "origin": origin[:LONGEST] if origin.partition("://")[2] != request.get_host() else "",
        "back": here if is_ours else _page_of(request)[0],
    }
    return render(request, "403.html", data, status=403)


class OnlyForms:
    """Middleware: opening an address that only takes forms is answered by a page, with status 405."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != 405 or not is_signed_in(request) or request.path_info.startswith(("/api/", "/mcp")):
            return response
        shown = render(request, "405.html", {"back": _page_of(request)}, status=405)
        shown.headers["Allow"] = response.headers["Allow"]
        return shown


def _page_of(request: HttpRequest) -> tuple[str, str]:
    """Address and label of the page whose forms are sent to this address."""
    match = request.resolver_match
    values, route = (match.kwargs, match.route) if match else ({}, "")
    if "session_id" in values:
        return SessionUrls(values["store"], values["session_id"]).href, "Open the session"
    if "run_id" in values:
        return reverse("pages:run", args=[values["run_id"]]), f"Run {values['run_id']}"
    if route.startswith(("settings", "sign-out")):
        return reverse("pages:settings"), "Settings"
    if route.startswith("sign-in"):
        return request.path, "Sign in"
    if route.startswith("stores"):
        return reverse("pages:stores"), "Stores"
    return reverse("pages:sessions"), "All sessions"


class OwnDatabase:
    """Middleware: a view that needed the database is answered by a page of status 503."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        unavailable = own_database.refusal(exception)
        return _answer(request, unavailable) if unavailable else None


def failed(request: HttpRequest) -> HttpResponse:
    """The page of status 500; of 503 where the database failed outside of a view, such as in a session."""
    unavailable = own_database.refusal(sys.exc_info()[1])
    return _answer(request, unavailable) if unavailable else server_error(request)


def _answer(request: HttpRequest, found: OwnDatabaseUnavailable) -> HttpResponse:
    route = request.resolver_match.route if request.resolver_match else ""  # the path itself may hold a sign-in link
    logger.warning("%s %s: %s", request.method, route, found.message)
    is_call = request.path_info.startswith("/api/")
    answer = problem(found.status, found.code, found.message) if is_call else refused(request, found)
    answer._has_been_logged = True  # type: ignore[attr-defined]  # or Django logs it with its path
    return answer
