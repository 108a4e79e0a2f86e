"""Export: a page that asks for the content and format, and the file."""

from __future__ import annotations

from typing import cast

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer import exports
from viewer.exports import CONTENT_TYPES, Format, View, download
from viewer.pages.http import page, shows_refusals
from viewer.pages.redaction import session_for
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls

# (value, name, explained)
FORMATS: tuple[tuple[Format, str, str], ...] = (
    ("md", "Markdown", "to read and to edit"),
    ("html", "HTML", "one page that needs nothing else, to read and to print"),
    ("json", "JSON", "one document for programs"),
    ("jsonl", "JSON lines", "one message a line, for programs"),
)
VIEWS: tuple[tuple[View, str, str], ...] = (
    ("history", "History", "each message once, with its compactions"),
    ("live", "What the model sees", "the context as it is now"),
    ("raw", "Raw rows", "every row as it is stored"),
)


@require_safe
@shows_refusals
def export(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    file_format = request.GET.get("format", "")
    if file_format not in CONTENT_TYPES:
        with open_store(get_store(store)) as reader:
            session = session_for(request, reader.session(session_id))
        data = {"session": session, "place": SessionUrls(store, session_id), "formats": FORMATS, "views": VIEWS}
        return page(request, "session/export.html", data)
    view = request.GET.get("view", "")
    view = view if view in [value for value, _, _ in VIEWS] else "history"
    result = exports.export(
        store, session_id, file_format, view, redact="0" not in (request.GET.get("redact"), request.GET.get("mask"))
    )
    return cast(HttpResponse, download(result))  # pages' wrappers know of one kind of answer
