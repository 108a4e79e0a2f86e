"""What is answered where this site's own database cannot be used: 503 with a sentence, as page or JSON."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.views.defaults import server_error

from viewer import own_database
from viewer.api.errors import problem
from viewer.own_database import OwnDatabaseUnavailable
from viewer.pages.http import refused

logger = logging.getLogger(__name__)


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
