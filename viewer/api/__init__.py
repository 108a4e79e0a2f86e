"""The JSON API for other tools: the same calls as the pages, under /api/v1/.

A request has a token with scopes; the response is a schema from `schemas`, made in `shapes`. Every refusal of lower
layers is an exception with a stable code (`viewer.stores.errors`) and becomes JSON in one place, `errors`. The package
knows no HTML and no kind of store: what a store cannot do is a sentence from the store.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest
from django.urls import URLPattern, URLResolver, register_converter
from ninja import NinjaAPI, Router
from ninja.openapi.schema import OpenAPISchema

from viewer.web import url_segments

from . import branches, context, errors, events, exports, inside, lifetimes, pins, putting_back, runs, search, stores

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class Api(NinjaAPI):
    """django-ninja's API with JSON for every error, and an OpenAPI document that is made once per process: anybody may
    request it, and making it takes a quarter of a second.
    """

    _document: OpenAPISchema | None = None

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        if self._document is None:
            document = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
            _explain_names(document)
            self._document = document
        return self._document

    @property
    def urls(self) -> tuple[list[URLResolver | URLPattern], str, str]:
        patterns, app_name, namespace = super().urls
        return errors.all_in_json(patterns), app_name, namespace


def _explain_names(document: OpenAPISchema) -> None:
    """Add to each path in the document how names are written in it."""
    for call in (call for path in document["paths"].values() for call in path.values()):
        for parameter in call["parameters"]:
            if parameter["in"] == "path" and parameter["name"] in ("store", "session_id"):
                parameter["description"] = url_segments.EXPLAINED


class Whatever:
    """Django's path converter for the rest of a path, including line breaks; Django's own `path` ends at one."""

    regex = "(?s:.+)"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(Whatever, "whatever")
api = Api(
    title="Palimpsest",
    version="1",
    docs_url=None,  # `viewer.pages.reference` is its page
    description=(
        "Sessions of AI agents, and their compaction in place. Tokens are made under Settings, or by "
        f"`{settings.COMMAND} token create NAME --scopes read,write,compact`. Errors are "
        '`{"error": {"code", "message"}}`, lists `{"items", "next"}`: pass `next` back '
        f"as `cursor`. {url_segments.EXPLAINED}"
    ),
)
errors.install(api)
rest = Router()


@rest.api_operation(METHODS, "/{whatever:path}", auth=None, include_in_schema=False)
def unknown(request: HttpRequest, path: str) -> None:
    """Any path that no call answers."""
    raise Http404


# Tried in this order.
for part in (stores, search, lifetimes, context, events, exports, branches, pins, putting_back, runs, inside):
    api.add_router("", part.router)
api.add_router("", rest)
