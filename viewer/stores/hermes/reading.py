"""Messages of a session: once-only History, windows of it, the live context, raw rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import compaction
from compaction import protocol
from viewer.stores.history_types import Boundary, Entry, History
from viewer.stores.transcript import Cut, Item

from . import history as histories
from . import light
from .codec import BOOKKEEPING_ROLES, StoredMessage, decode_row
from .columns import chunks, marks
from .known import KnownBlock, Undone
from .opening import Reader


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message as History shows it: `row` has its fullest text, `content` is the live part of that."""

    entry: Entry
    row: StoredMessage
    content: Any


@dataclass(frozen=True, slots=True)
class Handoff:
    """A boundary with its handoff row: `summary` the body, `directive` the instructions to the model around it."""

    boundary: Boundary | Cut
    row: StoredMessage
    summary: str
    directive: str


# -- history ---------------------------------------------------------------------------------------------------------


def read_history(
    reader: Reader, session_id: str, known: Iterable[KnownBlock] = (), undone: Mapping[int, Undone] | None = None
) -> History:
    """The once-only History of a session and the parts it continues. Reads the start of every row's content."""
    return histories.build(light.light_rows(reader, session_id), known, undone)


def history_messages(reader: Reader, items: Iterable[Item]) -> list[HistoryMessage | Handoff]:
    """The rows behind a stretch of History, in its order. A row deleted since the History was read is left out."""
    listed = list(items)
    rows = read_rows(reader, [item.full_id if isinstance(item, Entry) else item.handoff_id for item in listed])
    shown: list[HistoryMessage | Handoff] = []
    for item in listed:
        row = rows.get(item.full_id if isinstance(item, Entry) else item.handoff_id)
        if row is None:
            continue
        shown.append(HistoryMessage(item, row, own_words(row)) if isinstance(item, Entry) else handoff_of(item, row))
    return shown


def live_content(row: StoredMessage) -> Any:
    """The row's content without any summary merged into it, in its own shape."""
    parts = compaction.split(row.content, flagged=row.flagged)
    if all(part.kind == "live" for part in parts):
        return row.content
    live = [part.content for part in parts if part.kind != "summary"]
    return live[0] if len(live) == 1 else "\n\n".join(part.text for part in parts if part.kind != "summary")


def own_words(row: StoredMessage) -> Any:
    """What was said in the row: its live content without what an agent's compaction added to it."""
    said = light.parted(row.content, row.flagged)[1]
    return protocol.without_marker(said) if isinstance(said, str) else said


def summary_of(row: StoredMessage) -> str:
    """The body of the compaction summary in a row, "" where there is none."""
    parts = compaction.split(row.content, flagged=row.flagged)
    return "\n\n".join(part.text for part in parts if part.kind == "summary")


def handoff_of(boundary: Boundary | Cut, row: StoredMessage) -> Handoff:
    parts = [part for part in compaction.split(row.content, flagged=row.flagged) if part.kind == "summary"]
    directive = "\n\n".join(part.directive for part in parts if part.directive)
    return Handoff(boundary, row, summary_of(row), directive)


# -- rows ------------------------------------------------------------------------------------------------------------


def read_rows(reader: Reader, ids: Sequence[int]) -> dict[int, StoredMessage]:
    """The rows of these ids, whole and decoded; ids that do not exist are absent."""
    found: dict[int, StoredMessage] = {}
    for chunk in chunks([row_id for row_id in ids if abs(row_id) < 2**63]):
        for row in _decoded(reader, f"id IN ({marks(chunk)})", chunk):
            found[row.id] = row
    return found


def live_context(reader: Reader, session_id: str) -> list[StoredMessage]:
    """The rows the agent reloads, in id order: what the model would be sent, bookkeeping rows included."""
    if "active" not in reader.columns.messages:
        return _decoded(reader, "session_id = ? ORDER BY id", [session_id])
    # Of a session that was compacted few rows are live: the index over sessions and ids would lead through all of them.
    live = "SELECT id FROM messages WHERE session_id = ? AND active = 1"
    return _decoded(reader, f"id IN ({live}) ORDER BY id", [session_id])


def raw_rows(
    reader: Reader, session_id: str, *, before: int | None, limit: int, live_only: bool = False
) -> list[StoredMessage]:
    """At most `limit` rows of the session as stored, the newest or those below `before`, in id order."""
    narrowed = " AND active = 1" if live_only and "active" in reader.columns.messages else ""
    below = before if before is not None else 2**63 - 1
    where = f"session_id = ? AND id < ?{narrowed} ORDER BY id DESC LIMIT ?"
    return _decoded(reader, where, [session_id, below, limit])[::-1]


def next_row(reader: Reader, session_id: str, after: int) -> StoredMessage | None:
    """The first row of the session above this id, None when there is none."""
    rows = _decoded(reader, "session_id = ? AND id > ? ORDER BY id LIMIT 1", [session_id, after])
    return rows[0] if rows else None


def for_model(rows: Iterable[StoredMessage]) -> list[StoredMessage]:
    """Live rows without those an agent keeps for itself."""
    return [row for row in rows if row.role not in BOOKKEEPING_ROLES]


def _decoded(reader: Reader, where: str, values: Sequence[Any]) -> list[StoredMessage]:
    cursor = reader.con.execute(f"SELECT * FROM messages WHERE {where}", values)
    names = [column[0] for column in cursor.description]
    return [decode_row(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]
