"""Answers to requests that no page or call can answer: most often, those whose Host is none of this site's names."""

from __future__ import annotations

import logging

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

LONGEST = 255  # characters of a name that are repeated
SETTING = "PALIMPSEST_ALLOWED_HOSTS"


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page of status 400, in JSON for the API. It asks nothing of the request: reading it is what failed."""
    host = request.META.get("HTTP_HOST", "")[:LONGEST] if isinstance(exception, DisallowedHost) else ""
    if request.path_info.startswith("/api/"):
        message = (
            f"This site does not answer as {host!r}: name it in {SETTING}." if host else "This request cannot be read."
        )
        return JsonResponse({"error": {"code": "bad_request", "message": message}}, status=400)
    name = host.rpartition(":")[0] or host if host.rpartition(":")[2].isdigit() else host
    return HttpResponse(render_to_string("400.html", {"host": host, "name": name}), status=400)


class OwnName(logging.Filter):
    """Django's line about an unknown Host names its own setting: this site's is read from the environment."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = str(record.msg).replace("ALLOWED_HOSTS", SETTING)
        record.exc_info = None  # where in Django that was found out says nothing, and the other name again
        return True
