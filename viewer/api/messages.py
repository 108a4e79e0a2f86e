"""Messages of a session in three views, in pages, oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import compaction
from viewer.runs.ours import history_of
from viewer.store import reading
from viewer.store.codec import StoredMessage, message_of
from viewer.store.errors import NotFound
from viewer.store.history import History
from viewer.store.light import light_rows
from viewer.store.reading import Handoff, HistoryMessage
from viewer.store.stores import Reader

from . import cursors
from .schemas import MessageOut, MessagesOut, moment

View = Literal["history", "live", "raw"]
OPENAI_KEYS = ("role", "content", "tool_calls", "tool_call_id")


def page(reader: Reader, session_id: str, view: View, around: int | None, limit: int, cursor: str) -> MessagesOut:
    """One page of a view. Raises BadCursor, and NotFound for an `around` that the view does not show."""
    after: int | None = cursors.read(cursor, f"messages of {view}", int)[0] if cursor else None
    if view == "history":
        items, last = _history_page(reader, session_id, around, after, limit)
    else:
        items, last = _row_page(reader, session_id, view, around, after, limit)
    return MessagesOut(items=items, next=None if last is None else cursors.written(f"messages of {view}", last))


def openai(row: StoredMessage) -> dict[str, Any]:
    """The message in OpenAI's chat shape, without what only the agent that owns it knows."""
    message = message_of(row)
    return {key: message[key] for key in OPENAI_KEYS if key in message}


# -- history -----------------------------------------------------------------------------------------------------------


def _history_page(
    reader: Reader, session_id: str, around: int | None, after: int | None, limit: int
) -> tuple[list[MessageOut], int | None]:
    history = history_of(reader, session_id)
    window = reading.window(history, limit=limit, **_edge(history, around, after))
    shown = reading.history_messages(reader, window.items)
    return [_of_history(item) for item in shown], window.last if window.later else None


def _edge(history: History, around: int | None, after: int | None) -> dict[str, int]:
    """Where a window begins: behind the cursor, around a message, else at the first one."""
    if after is not None:
        return {"after": after}
    first = next((entry.id for entry in history.entries), None)
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
    reader: Reader, session_id: str, view: View, around: int | None, after: int | None, limit: int
) -> tuple[list[MessageOut], int | None]:
    if view == "live":
        ids = [row.id for row in reading.for_model(reading.live_context(reader, session_id))]
    else:
        ids = [row.id for row in light_rows(reader, session_id)]
    start = _start(ids, around, after, limit)
    wanted = ids[start : start + limit]
    rows = reading.read_rows(reader, wanted)
    shown = [rows[row_id] for row_id in wanted if row_id in rows]
    items = [item for row in shown for item in (_of_live(row) if view == "live" else [_raw(row)])]
    return items, wanted[-1] if start + limit < len(ids) else None


def _start(ids: Sequence[int], around: int | None, after: int | None, limit: int) -> int:
    if after is not None:
        return next((place for place, row_id in enumerate(ids) if row_id > after), len(ids))
    if around is None:
        return 0
    if around not in ids:
        raise NotFound(f"Message {around} is not in this view of the session.")
    return max(0, min(ids.index(around) - limit // 2, len(ids) - limit))


def _of_live(row: StoredMessage) -> Iterator[MessageOut]:
    """A live row: its message, its handoff, or for a merged row both."""
    parts = compaction.split(row.content, flagged=row.flagged)
    summaries = [part.text for part in parts if part.kind == "summary"]
    if summaries:
        yield _handoff(row, "\n\n".join(summaries), [row.id])
    if not summaries or len(summaries) < len(parts) or row.tool_calls:
        yield _message(row, reading.live_content(row), [row.id])


def _raw(row: StoredMessage) -> MessageOut:
    """The row as it is stored."""
    summaries = [part.text for part in compaction.split(row.content, flagged=row.flagged) if part.kind == "summary"]
    stored = _message(row, row.content, [row.id])
    return stored.model_copy(update={"kind": "handoff", "summary": "\n\n".join(summaries)}) if summaries else stored


def _handoff(row: StoredMessage, summary: str, rows: list[int]) -> MessageOut:
    handoff = _message(row, row.content, rows)
    return handoff.model_copy(update={"kind": "handoff", "summary": summary, "tool_calls": [], "reasoning": None})


def _message(row: StoredMessage, content: Any, rows: list[int]) -> MessageOut:
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
    )
