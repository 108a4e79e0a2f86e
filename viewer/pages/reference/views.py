"""The calls of the API and the shapes of their input and output, from its OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.pages.http import page
from viewer.rendering import markdown
from viewer.web.auth import is_signed_in

Json = Mapping[str, Any]
_WRAPPED = re.compile(r"(?<!\n)\n(?!\n)")


@dataclass(frozen=True, slots=True)
class ApiField:
    """A parameter of a call, or a field of a shape. `location` says where a parameter is sent;
    `default` is JSON or "".
    """

    name: str
    location: str
    kind: SafeString
    required: bool
    default: str
    description: SafeString


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call. `takes` and `answers` are the shapes of its JSON, "" for none."""

    id: str
    method: str
    path: str
    title: str
    description: SafeString
    parameters: tuple[ApiField, ...]
    takes: SafeString | str
    answers: tuple[tuple[str, SafeString], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A JSON object that calls take or answer."""

    name: str
    description: SafeString
    fields: tuple[ApiField, ...]


@require_safe
def reference(request: HttpRequest, document: Callable[[], Json]) -> HttpResponse:
    """The page; `document` makes the OpenAPI document. Anybody may read it, as the document itself."""
    openapi = document()
    groups: dict[str, list[ApiCall]] = {}
    for path, calls in openapi["paths"].items():
        for method, call in calls.items():
            groups.setdefault(call["tags"][0], []).append(_call(method, path, call))
    shapes = openapi["components"]["schemas"]
    data = {
        "signed_in": is_signed_in(request),
        "description": _description(openapi["info"]),
        "groups": groups,
        "errors": _link("ErrorOut"),
        "shapes": [_shape(name, shapes[name]) for name in sorted(shapes)],
    }
    return page(request, "reference/reference.html", data)


def _call(method: str, path: str, call: Json) -> ApiCall:
    request_schema, responses = _content(call.get("requestBody", {})), call["responses"]
    return ApiCall(
        id=call["operationId"],
        method=method.upper(),
        path=path,
        title=call["summary"],
        description=_description(call),
        parameters=tuple(_parameter(each) for each in call.get("parameters", ())),
        takes=_kind(request_schema) if request_schema else "",
        answers=tuple(
            (str(status), _kind(_content(answer)))
            for status, answer in sorted(responses.items(), key=lambda item: str(item[0]))
            if str(status).startswith("2") and _content(answer)
        ),
    )


def _content(body: Json) -> Json:
    """The schema of a body's JSON, {} if it has none."""
    schema: Json = body.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _parameter(parameter: Json) -> ApiField:
    return _field(
        parameter["name"],
        {"description": parameter.get("description", ""), **parameter["schema"]},
        bool(parameter["required"]),
        parameter["in"],
    )


def _shape(name: str, schema: Json) -> Shape:
    required = schema.get("required", ())
    fields = tuple(_field(each, kind, each in required) for each, kind in schema.get("properties", {}).items())
    return Shape(name, _description(schema), fields)


def _field(name: str, schema: Json, required: bool, location: str = "") -> ApiField:
    default = schema.get("default")
    shown = "" if default in (None, "") else str(default).lower() if isinstance(default, bool) else str(default)
    return ApiField(name, location, _kind(schema), required, shown, _description(schema))


def _kind(schema: Json) -> SafeString:
    """The type of a JSON value: "list of", the names of shapes as links, the words of a choice."""
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return format_html_join(" or ", "{}", ((_kind(each),) for each in schema["anyOf"]))
    if "enum" in schema:
        return format_html_join(" or ", "<code>{}</code>", ((each or '""',) for each in schema["enum"]))
    if schema.get("type") == "array":
        return format_html("list of {}", _kind(schema.get("items", {})))
    return format_html("{}", {"date-time": "time (ISO 8601)"}.get(schema.get("format", ""), schema.get("type", "any")))


def _description(schema: Json) -> SafeString:
    """A docstring as HTML, without its line breaks, which the Markdown of messages would keep."""
    return markdown.markdown(_WRAPPED.sub(" ", schema.get("description", "")))


def _link(name: str) -> SafeString:
    return format_html('<a href="#{}">{}</a>', name, name)
