"""Every refusal as {"error": {"code", "message"}}: those of stores and runs by their code, and HTTP's own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import Error as DatabaseProblem
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import URLPattern, URLResolver
from django.views.defaults import page_not_found
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

import compaction
from viewer.stores.errors import StoreError
from viewer.web import own_database

WEB_CODES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed"}

logger = logging.getLogger(__name__)


def problem(status: int, code: str, message: str) -> JsonResponse:
    """The one shape of an error."""
    return JsonResponse({"error": {"code": code, "message": message}}, status=status)


def install(api: NinjaAPI) -> None:
    """Make `api` answer every exception in that shape."""
    handlers: list[tuple[type[Exception], Callable[[HttpRequest, Any], HttpResponse]]] = [
        (StoreError, _refused),
        (compaction.CompactionError, _nothing),
        (ValidationError, _invalid),
        (AuthenticationError, _unauthorized),
        (HttpError, _web),
        (RequestDataTooBig, _too_large),
        (Http404, unknown),
        (DatabaseProblem, _unusable),
        (Exception, _unexpected),
    ]
    for kind, handler in handlers:
        api.add_exception_handler(kind, handler)


def _refused(request: HttpRequest, refusal: StoreError) -> HttpResponse:
    return problem(refusal.status, refusal.code, refusal.message)


def _nothing(request: HttpRequest, refusal: compaction.CompactionError) -> HttpResponse:
    return problem(409, "nothing_to_compact", refusal.reason)


def _invalid(request: HttpRequest, invalid: ValidationError) -> HttpResponse:
    problems = "; ".join(f"{'.'.join(map(str, error['loc'][1:]))}: {error['msg']}" for error in invalid.errors)
    return problem(422, "invalid", problems)


def _unauthorized(request: HttpRequest, refused: AuthenticationError) -> HttpResponse:
    response = problem(401, "unauthorized", "This call needs a known token: Authorization: Bearer <token>.")
    response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _web(request: HttpRequest, refused: HttpError) -> HttpResponse:
    return problem(refused.status_code, WEB_CODES.get(refused.status_code, "refused"), refused.message)


def _too_large(request: HttpRequest, refused: RequestDataTooBig) -> HttpResponse:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return problem(413, "too_large", f"A call takes at most {limit:,} bytes: send less at a time.")


def unknown(request: HttpRequest, missing: Http404 | None = None) -> HttpResponse:
    """The response to a call that does not exist."""
    message = "There is no such call; /api/v1/docs lists them, and says how an id with a slash is written in a path."
    return problem(404, "not_found", message)


def _unusable(request: HttpRequest, failure: DatabaseProblem) -> HttpResponse:
    unavailable = own_database.refusal(failure)
    return _refused(request, unavailable) if unavailable else _unexpected(request, failure)


def _unexpected(request: HttpRequest, failure: Exception) -> HttpResponse:
    logger.error("%s %s failed.", request.method, request.path, exc_info=failure)
    return problem(500, "internal", "Something unexpected went wrong; the log of the site says what.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The site's status 404: its page, or JSON for an unknown path of the API."""
    return unknown(request) if request.path_info.startswith("/api/") else page_not_found(request, exception)


def all_in_json(patterns: list[URLResolver | URLPattern]) -> list[URLResolver | URLPattern]:
    """The same URL patterns with JSON for what django-ninja leaves out: the 405, and the 404 of the bare /api/v1/."""
    return [_in_json(pattern) if isinstance(pattern, URLPattern) else pattern for pattern in patterns]


def _in_json(pattern: URLPattern) -> URLPattern:
    view: Callable[..., HttpResponseBase] = pattern.callback

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **values: Any) -> HttpResponseBase:
        try:
            response = view(request, *args, **values)
        except Http404 as missing:
            return unknown(request, missing)
        if response.status_code != 405:
            return response
        refused = problem(405, "method_not_allowed", f"This call does not take {request.method}.")
        refused.headers["Allow"] = response.headers["Allow"]
        return refused

    return URLPattern(pattern.pattern, answer, pattern.default_args, pattern.name)
