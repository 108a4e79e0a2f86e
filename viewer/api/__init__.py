"""The JSON API for other tools: the same calls as the pages, under /api/v1/."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.urls import URLPattern, URLResolver
from ninja import NinjaAPI, Router

from . import branches, context, errors, events, exports, lifetimes, runs, search, stores

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class Api(NinjaAPI):
    """django-ninja's API with JSON for every error."""

    @property
    def urls(self) -> tuple[list[URLResolver | URLPattern], str, str]:
        patterns, app_name, namespace = super().urls
        return errors.all_in_json(patterns), app_name, namespace


api = Api(
    title="Palimpsest",
    version="1",
    description=(
        "Sessions of AI agents, and their compaction in place. Tokens: `manage.py token create NAME --scopes "
        'read,write,compact`. Errors are `{"error": {"code", "message"}}`, lists `{"items", "next"}`: pass `next` back '
        "as `cursor`."
    ),
)
errors.install(api)
rest = Router()


@rest.api_operation(METHODS, "/{path:path}", auth=None, include_in_schema=False)
def unknown(request: HttpRequest, path: str) -> None:
    """Whatever no call answers."""
    raise Http404


# Tried in this order.
for part in (stores, search, lifetimes, context, events, exports, branches, runs):
    api.add_router("", part.router)
api.add_router("", rest)
