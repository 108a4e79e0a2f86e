"""Raw rows: every column as stored, and the whole text of one row."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from compaction import messages as engine
from viewer.pages.http import is_fragment, page, shows_refusals, start_of, whole_number
from viewer.pages.parts.opened import open_session
from viewer.pages.redaction import redacted, redacts, session_for, text_for
from viewer.rendering import blocks, formats
from viewer.rendering.texts import as_text, clean, json_value, line, pretty
from viewer.stores.errors import NotFound
from viewer.stores.message import StoredMessage, Withheld, live_content
from viewer.stores.registry import Reader, get_store, open_store
from viewer.web.session_urls import SessionUrls

from .filters import thinking_of
from .header import header

WINDOW = 50
SLICE = 200_000  # characters of a text shown uncut at once


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a row: short values in the line, long ones folded."""

    name: str
    value: str
    block: blocks.Block | None


@require_safe
@shows_refusals
def rows(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    before = whole_number(request.GET.get("before", ""))
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        stored = reader.raw(session_id, before=before, limit=WINDOW + 1)
        top = header(opened, "rows")
    page_rows = [redacted(row) if opened.redacting else row for row in stored[-WINDOW:]]
    data = {
        "header": top,
        "rows": [_row(row, top.place) for row in page_rows],
        "earlier": top.place.view("rows", before=page_rows[0].id) if len(stored) > WINDOW else "",
    }
    return page(request, "session/_rows.html" if is_fragment(request) and before else "session/rows.html", data)


def _row(row: StoredMessage, urls: SessionUrls) -> dict[str, Any]:
    """A row with its columns as blocks, and the number of characters of its content."""
    length = 0 if row.content is None else len(as_text(row.content))
    return {"row": row, "length": length, "columns": list(_columns(row, urls))}


def _columns(row: StoredMessage, urls: SessionUrls) -> Iterator[Column]:
    yield _column("content", row.content, urls.whole(row.id, "content"))
    if row.tool_calls:
        yield _column("tool_calls", row.tool_calls, urls.whole(row.id, "calls"))
    for name in ("tool_call_id", "tool_name", "finish_reason"):
        if getattr(row, name):
            yield _column(name, getattr(row, name), "")
    if "timestamp" not in row.extra:
        yield Column("timestamp", repr(row.timestamp), None)
    for name, value in row.extra.items():
        if isinstance(value, Withheld):
            yield Column(name, f"{formats.counted(value.size, 'character')}, not shown. {value.why}", None)
        else:
            yield _column(name, value, urls.whole(row.id, "reasoning") if name.startswith("reasoning") else "")


def _column(name: str, value: Any, whole: str) -> Column:
    if value is None:
        return Column(line(name, 60), "NULL", None)
    if isinstance(value, bytes) and len(value) <= 64:
        return Column(line(name, 60), value.hex(), None)
    laid_out = json_value(value) if isinstance(value, str) else value if isinstance(value, (list, dict)) else None
    text = as_text(value)
    if laid_out is not None:
        return Column(line(name, 60), "", blocks.json_code(laid_out, whole, len(text)))
    if len(text) <= 100 and "\n" not in text:
        return Column(line(name, 60), clean(text), None)
    return Column(line(name, 60), "", blocks.plain(text, whole))


# -- one text, uncut -------------------------------------------------------------------------------------------------


@require_safe
@shows_refusals
def whole(request: HttpRequest, store: str, session_id: str, row_id: int) -> HttpResponse:
    """One part of a row uncut: a page, only the text to copy (`as=text`), or one of its images (`image=`)."""
    part = request.GET.get("part", "content")
    urls = SessionUrls(store, session_id)
    with open_store(get_store(store)) as reader:
        session = session_for(request, reader.session(session_id))
        row = row_of(reader, session_id, row_id)
    row = redacted(row) if redacts(request) else row
    if "image" in request.GET:
        return _image(row, request.GET["image"])
    text = _part(row, part)
    if request.GET.get("as") == "text":
        return _copied(text)
    return _whole(
        request, session.name, f"Message {row_id}, {part}", urls.message(row_id), f"{urls.whole(row_id, part)}&", text
    )


def _part(row: StoredMessage, part: str) -> str:
    """The text of a row's "calls", "reasoning", "said" (what a person reads) or "content" (as stored)."""
    if part == "calls":
        return _calls(row.tool_calls)
    if part == "reasoning":
        return engine.text(thinking_of(row).content)
    content = live_content(row) if part == "said" else row.content
    return engine.text(content) if part == "said" and not isinstance(content, dict) else _content(content)


def _calls(tool_calls: list[dict[str, Any]]) -> str:
    """Calls as JSON: indented, or if there are very many, each in one line."""
    return (
        pretty(tool_calls) if len(tool_calls) <= 1_000 else "[\n" + ",\n".join(map(engine.as_json, tool_calls)) + "\n]"
    )


def _copied(text: str) -> HttpResponse:
    response = HttpResponse(text.encode("utf-8", "replace"), content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "no-store"
    return response


def _image(row: StoredMessage, at: str) -> HttpResponse:
    """An image of the row by its position among the parts, "2" or within a result "2.0"; never anything else."""
    part: Any = {"content": row.content}
    for each in at[:20].split("."):
        listed = engine.blocks(part.get("content")) if isinstance(part, dict) else []
        number = whole_number(each)
        part = listed[number] if number is not None and number < len(listed) else None
    url = blocks.data_url(part) if engine.is_image(part) else ""
    if not url:
        raise NotFound("This message has no such image.")
    head, _, data = url.partition(",")
    kind = head.removeprefix("data:").removesuffix(";base64")
    response = HttpResponse(_decoded(data), content_type=kind)
    response["X-Content-Type-Options"] = "nosniff"
    # Styles are the browser's own, which lays an image out in its window.
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    response["Cache-Control"] = "private, max-age=600"
    return response


def _decoded(data: str) -> bytes:
    """The decoded base64; empty if it is invalid."""
    try:
        return b64decode(data)
    except ValueError:
        return b""


@require_safe
@shows_refusals
def prompt(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    """The session's system prompt, uncut."""
    urls = SessionUrls(store, session_id)
    with open_store(get_store(store)) as reader:
        name = session_for(request, reader.session(session_id)).name
        text = text_for(request, reader.system_prompt(session_id))
    return _whole(request, name, "System prompt", urls.view("context"), f"{urls.view('context/prompt')}?", text)


def _whole(request: HttpRequest, name: str, title: str, back: str, address: str, text: str) -> HttpResponse:
    start = start_of(request)
    stop = start + SLICE
    data = {
        "name": name,
        "title": title,
        "back": back,
        "text": clean(text[start:stop]),
        "length": len(text),
        "next": f"{address}from={stop}" if stop < len(text) else "",
        "left": max(0, len(text) - stop),
    }
    return page(request, "session/_whole.html" if is_fragment(request) else "session/whole.html", data)


def row_of(reader: Reader, session_id: str, row_id: int) -> StoredMessage:
    """A row of this session or of the parts that it continues. Raises NotFound."""
    row = reader.messages(session_id, [row_id]).get(row_id)
    if row is None or row.session_id not in reader.parts(session_id):
        raise NotFound(f"This session has no message {row_id}.")
    return row


def _content(content: Any) -> str:
    """A content as text; JSON is indented, as in its cut form."""
    text = as_text(content) if content is not None else ""
    value = json_value(text, limit=2_000_000)
    return text if value is None else pretty(value)
