"""The calls of the API and the shapes of what they take and answer, from its OpenAPI document."""

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
    """A parameter of a call, or a field of a shape. `place` says where a parameter stands; `default` is JSON or ""."""

    name: str
    place: str
    kind: SafeString
    required: bool
    default: str
    told: SafeString


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call. `takes` and `answers` are the shapes of its JSON, "" for none."""

    id: str
    method: str
    path: str
    title: str
    told: SafeString
    parameters: tuple[ApiField, ...]
    takes: SafeString | str
    answers: tuple[tuple[str, SafeString], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A JSON object that calls take or answer."""

    name: str
    told: SafeString
    fields: tuple[ApiField, ...]


@require_safe
def reference(request: HttpRequest, document: Callable[[], Json]) -> HttpResponse:
    """The page; `document` makes the OpenAPI document. Anybody may read it, as the document itself."""
    made = document()
    groups: dict[str, list[ApiCall]] = {}
    for path, calls in made["paths"].items():
        for method, call in calls.items():
            groups.setdefault(call["tags"][0], []).append(_call(method, path, call))
    shapes = made["components"]["schemas"]
    data = {
        "signed_in": is_signed_in(request),
        "told": _told(made["info"]),
        "groups": groups,
        "errors": _link("ErrorOut"),
        "shapes": [_shape(name, shapes[name]) for name in sorted(shapes)],
    }
    return page(request, "reference/reference.html", data)


def _call(method: str, path: str, call: Json) -> ApiCall:
    taken, answered = _content(call.get("requestBody", {})), call["responses"]
    return ApiCall(
        id=call["operationId"],
        method=method.upper(),
        path=path,
        title=call["summary"],
        told=_told(call),
        parameters=tuple(_parameter(each) for each in call.get("parameters", ())),
        takes=_kind(taken) if taken else "",
        answers=tuple(
            (str(status), _kind(_content(answer)))
            for status, answer in sorted(answered.items(), key=lambda item: str(item[0]))
            if str(status).startswith("2") and _content(answer)
        ),
    )


def _content(body: Json) -> Json:
    """The schema of a body's JSON, {} for a body that is none."""
    found: Json = body.get("content", {}).get("application/json", {}).get("schema", {})
    return found


def _parameter(said: Json) -> ApiField:
    return _field(
        said["name"], {"description": said.get("description", ""), **said["schema"]}, bool(said["required"]), said["in"]
    )


def _shape(name: str, said: Json) -> Shape:
    required = said.get("required", ())
    fields = tuple(_field(each, kind, each in required) for each, kind in said.get("properties", {}).items())
    return Shape(name, _told(said), fields)


def _field(name: str, said: Json, required: bool, place: str = "") -> ApiField:
    default = said.get("default")
    shown = "" if default in (None, "") else str(default).lower() if isinstance(default, bool) else str(default)
    return ApiField(name, place, _kind(said), required, shown, _told(said))


def _kind(said: Json) -> SafeString:
    """What a JSON value may be: "list of", the names of shapes as links, the words of a choice."""
    if "$ref" in said:
        return _link(said["$ref"].rpartition("/")[2])
    if "anyOf" in said:
        return format_html_join(" or ", "{}", ((_kind(each),) for each in said["anyOf"]))
    if "enum" in said:
        return format_html_join(" or ", "<code>{}</code>", ((each or '""',) for each in said["enum"]))
    if said.get("type") == "array":
        return format_html("list of {}", _kind(said.get("items", {})))
    return format_html("{}", {"date-time": "time (ISO 8601)"}.get(said.get("format", ""), said.get("type", "any")))


def _told(said: Json) -> SafeString:
    """What a docstring says, without the ends of its lines, which the Markdown of messages keeps."""
    return markdown.markdown(_WRAPPED.sub(" ", said.get("description", "")))


def _link(name: str) -> SafeString:
    return format_html('<a href="#{}">{}</a>', name, name)
