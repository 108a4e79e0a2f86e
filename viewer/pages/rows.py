"""Raw rows: every column as stored, and one row's text uncut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.store import reading
from viewer.store.codec import StoredMessage
from viewer.store.errors import NotFound
from viewer.store.sessions import chain, get_session, system_prompt
from viewer.store.stores import Reader, get_store, open_store

from . import blocks, formats
from .addresses import Place
from .answers import is_fragment, page, shows_refusals
from .header import Header, header
from .texts import as_text, clean, json_value, line, pretty

WINDOW = 50
SLICE = 200_000  # characters of a text shown uncut at once
# May hold memory that the agent injected on the way to the provider (`docs/hermes.md` section 1): never rendered.
NOT_SHOWN = frozenset({"api_content"})
STATES = {"live": "in context", "under": "summarised away", "out": "superseded or taken back"}


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a row: short values in the line, long ones folded."""

    name: str
    value: str
    block: blocks.Block | None


@dataclass(frozen=True, slots=True)
class Row:
    id: int
    role: str
    state: str
    handoff: bool
    time: SafeString
    size: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class RowsPage:
    """The newest rows, or those below `before`. `earlier` is the address of the rows before them."""

    header: Header
    rows: tuple[Row, ...]
    earlier: str


@require_safe
@shows_refusals
def rows(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    text = request.GET.get("before", "")
    before = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
    with open_store(get_store(store)) as reader:
        session = get_session(reader, session_id)
        found = reading.raw_rows(reader, session_id, before=before, limit=WINDOW + 1)
        top = header(reader, session, "rows")
    kept = found[-WINDOW:]
    data = RowsPage(
        header=top,
        rows=tuple(_row(row, top.place) for row in kept),
        earlier=top.place.view("rows", before=kept[0].id) if len(found) > WINDOW else "",
    )
    return page(request, "session/_rows.html" if is_fragment(request) and before else "session/rows.html", data)


def _row(row: StoredMessage, place: Place) -> Row:
    text = as_text(row.content) if row.content is not None else ""
    return Row(
        id=row.id,
        role=line(row.role, 40),
        state=STATES[row.state],
        handoff=row.flagged,
        time=formats.moment(row.timestamp),
        size=formats.counted(len(text), "character") + _called(row),
        columns=tuple(_columns(row, place)),
    )


def _called(row: StoredMessage) -> str:
    return f", {formats.counted(len(row.tool_calls), 'call')}" if row.tool_calls else ""


def _columns(row: StoredMessage, place: Place) -> Iterator[Column]:
    yield _column("content", row.content, place.whole(row.id, "content"))
    if row.tool_calls:
        yield _column("tool_calls", row.tool_calls, place.whole(row.id, "calls"))
    for name in ("tool_call_id", "tool_name", "finish_reason"):
        if getattr(row, name):
            yield _column(name, getattr(row, name), "")
    yield Column("timestamp", repr(row.timestamp), None)
    for name, value in row.extra.items():
        if name in NOT_SHOWN:
            size = formats.counted(len(as_text(value)), "character")
            yield Column(name, f"{size}, not shown: may hold memory meant for the model's provider alone", None)
        else:
            yield _column(name, value, place.whole(row.id, "reasoning") if name.startswith("reasoning") else "")


def _column(name: str, value: Any, whole: str) -> Column:
    if value is None:
        return Column(line(name, 60), "NULL", None)
    if isinstance(value, bytes) and len(value) <= 64:
        return Column(line(name, 60), value.hex(), None)
    laid_out = json_value(value) if isinstance(value, str) else value if isinstance(value, (list, dict)) else None
    text = as_text(value)
    if laid_out is not None:
        return Column(line(name, 60), "", blocks.code(pretty(laid_out), "json", whole))
    if len(text) <= 100 and "\n" not in text:
        return Column(line(name, 60), clean(text), None)
    return Column(line(name, 60), "", blocks.plain(text, whole))


# -- one text, uncut -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WholePage:
    """A stretch of one text. `next` is the address of the stretch after it."""

    name: str
    title: str
    back: str
    text: str
    size: str
    next: str
    left: str


@require_safe
@shows_refusals
def whole(request: HttpRequest, store: str, session_id: str, row_id: int) -> HttpResponse:
    part = request.GET.get("part", "content")
    place = Place(store, session_id)
    with open_store(get_store(store)) as reader:
        session = get_session(reader, session_id)
        row = _row_of(reader, session_id, row_id)
    text = {"calls": lambda: pretty(row.tool_calls), "reasoning": lambda: row.reasoning}.get(
        part, lambda: _content(row)
    )()
    return _whole(
        request, session.name, f"Message {row_id}, {part}", place.message(row_id), f"{place.whole(row_id, part)}&", text
    )


@require_safe
@shows_refusals
def prompt(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    """The session's system prompt, uncut."""
    place = Place(store, session_id)
    with open_store(get_store(store)) as reader:
        name, text = get_session(reader, session_id).name, system_prompt(reader, session_id)
    return _whole(request, name, "System prompt", place.view("context"), f"{place.view('context/prompt')}?", text)


def _whole(request: HttpRequest, name: str, title: str, back: str, address: str, text: str) -> HttpResponse:
    asked = request.GET.get("from", "")
    start = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 12 else 0
    stop = start + SLICE
    data = WholePage(
        name=line(name, 120),
        title=title,
        back=back,
        text=clean(text[start:stop]),
        size=formats.counted(len(text), "character"),
        next=f"{address}from={stop}" if stop < len(text) else "",
        left=formats.counted(max(0, len(text) - stop), "character"),
    )
    return page(request, "session/_whole.html" if is_fragment(request) else "session/whole.html", data)


def _row_of(reader: Reader, session_id: str, row_id: int) -> StoredMessage:
    found = reading.read_rows(reader, [row_id]).get(row_id)
    if found is None or found.session_id not in chain(reader, session_id):
        raise NotFound(f"This session has no message {row_id}.")
    return found


def _content(row: StoredMessage) -> str:
    """A row's content; JSON laid out, as the cut form of it was."""
    text = as_text(row.content) if row.content is not None else ""
    value = json_value(text, limit=2_000_000)
    return text if value is None else pretty(value)
