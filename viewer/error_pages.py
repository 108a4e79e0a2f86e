"""Answers where there is no other, as a page or in JSON: a request that cannot be read (400), a fault of ours (500),
and this site's own database that cannot be used (503). What does not exist (404) is answered by `viewer.api.errors`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from viewer.api.errors import problem
from viewer.pages.http import refused
from viewer.settings.logs import HOSTS_SETTING
from viewer.web import own_database
from viewer.web.own_database import OwnDatabaseUnavailable

logger = logging.getLogger(__name__)

LONGEST = 255  # characters of a name that are repeated


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page of status 400, in JSON for the API. It asks nothing of the request: reading it is what failed."""
    host = request.META.get("HTTP_HOST", "")[:LONGEST] if isinstance(exception, DisallowedHost) else ""
    if request.path_info.startswith("/api/"):
        message = (
            f"This site does not answer as {host!r}: name it in {HOSTS_SETTING}."
            if host
            else "This request cannot be read."
        )
        return JsonResponse({"error": {"code": "bad_request", "message": message}}, status=400)
    name = host.rpartition(":")[0] or host if host.rpartition(":")[2].isdigit() else host
    return HttpResponse(render_to_string("400.html", {"host": host, "name": name}), status=400)


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
