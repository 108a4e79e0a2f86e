"""Messages of a session in three views, in pages, oldest first."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, Literal

from viewer.history import index_cache
from viewer.stores.base import Session
from viewer.stores.errors import NotFound
from viewer.stores.message import Handoff, HistoryMessage, StoredMessage, message_of, own_words, parted
from viewer.stores.registry import Reader
from viewer.stores.transcript import TranscriptIndex
from viewer.web import cursors

from .schemas import MessageOut, MessagesOut, moment

View = Literal["history", "live", "raw"]
OPENAI_KEYS = ("role", "content", "tool_calls", "tool_call_id")


def page(reader: Reader, session: Session, view: View, around: int | None, limit: int, cursor: str) -> MessagesOut:
    """One page of a view. Raises BadCursor, and NotFound for an `around` that the view does not show."""
    after: int | None = cursors.read(cursor, f"messages of {view}", int)[0] if cursor else None
    index = index_cache.index_of(reader, session)
    if view == "history":
        items, last = _history_page(reader, session.id, index, around, after, limit)
    else:
        items, last = _row_page(reader, session.id, index, view, around, after, limit)
    suspected = reader.suspected_handoff(session.id, index.live_ids)
    items = [each.model_copy(update={"suspected": True}) if suspected in each.rows else each for each in items]
    return MessagesOut(items=items, next=None if last is None else cursors.written(f"messages of {view}", last))


def openai(row: StoredMessage) -> dict[str, Any]:
    """The message in OpenAI's chat shape, without keys that only its agent understands."""
    message = message_of(row)
    return {key: message[key] for key in OPENAI_KEYS if key in message}


# -- history -----------------------------------------------------------------------------------------------------------


def _history_page(
    reader: Reader, session_id: str, index: TranscriptIndex, around: int | None, after: int | None, limit: int
) -> tuple[list[MessageOut], int | None]:
    window = index.window(limit=limit, **_edge(index, around, after))
    shown = reader.shown(session_id, window.items)
    return [_of_history(item) for item in shown], window.last if window.later else None


def _edge(index: TranscriptIndex, around: int | None, after: int | None) -> dict[str, int]:
    """The start of a window: after the cursor, around a message, else at the first one."""
    if after is not None:
        return {"after": after}
    first = index.entry(0).id if index.messages else None
    edge = first if around is None else around
    return {} if edge is None else {"around": edge}


def _of_history(item: HistoryMessage | Handoff) -> MessageOut:
    if isinstance(item, Handoff):
        return _handoff(item.row, item.summary, [item.boundary.handoff_id])
    entry = item.entry
    message = _message(item.row, item.content, list(entry.rows))
    return message.model_copy(update={"id": entry.id, "state": entry.state, "shortened": entry.shortened})


# -- rows --------------------------------------------------------------------------------------------------------------


def _row_page(
    reader: Reader,
    session_id: str,
    index: TranscriptIndex,
    view: View,
    around: int | None,
    after: int | None,
    limit: int,
) -> tuple[list[MessageOut], int | None]:
    ids = index.live_ids if view == "live" else index.ids
    start = _start(ids, around, after, limit)
    row_ids = ids[start : start + limit]
    rows = reader.messages(session_id, row_ids)
    shown = [rows[row_id] for row_id in row_ids if row_id in rows]
    items = [item for row in shown for item in (_of_live(row) if view == "live" else [_raw(row)])]
    return items, row_ids[-1] if start + limit < len(ids) else None


def _start(ids: array[int], around: int | None, after: int | None, limit: int) -> int:
    if after is not None:
        return bisect_right(ids, after)
    if around is None:
        return 0
    position = bisect_left(ids, around)
    if ids[position : position + 1] != array("q", [around]):
        raise NotFound(f"Message {around} is not in this view of the session.")
    return max(0, min(position - limit // 2, len(ids) - limit))


def _of_live(row: StoredMessage) -> Iterator[MessageOut]:
    """A live row: its message, its handoff, or both for a merged row."""
    parts = parted(row)
    if parts.has_handoff:
        yield _handoff(row, parts.summary, [row.id])
    if parts.message is not None:
        yield _message(row, parts.message.content, [row.id])


def _raw(row: StoredMessage) -> MessageOut:
    """The row as it is stored."""
    parts, stored = parted(row), _message(row, row.content, [row.id])
    return stored.model_copy(update={"kind": "handoff", "summary": parts.summary}) if parts.has_handoff else stored


def _handoff(row: StoredMessage, summary: str, rows: list[int]) -> MessageOut:
    handoff = _message(row, row.content, rows)
    return handoff.model_copy(update={"kind": "handoff", "summary": summary, "tool_calls": [], "reasoning": None})


def _message(row: StoredMessage, content: Any, rows: list[int]) -> MessageOut:
    whose = own_words(row)
    return MessageOut(
        id=row.id,
        kind="message",
        role=row.role,
        content=content,
        tool_calls=row.tool_calls,
        tool_call_id=row.tool_call_id or None,
        tool_name=row.tool_name or None,
        reasoning=row.reasoning or None,
        timestamp=moment(row.timestamp),
        state=row.state,
        shortened=False,
        rows=rows,
        typed=whose.words if whose.added else None,
    )
