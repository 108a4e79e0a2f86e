"""Messages of a session: once-only History, windows of it, the live context, raw rows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import compaction

from . import history as histories
from .codec import BOOKKEEPING_ROLES, StoredMessage, decode_row
from .columns import chunks, marks
from .errors import NotFound
from .history import Boundary, Entry, History
from .known import KnownBlock
from .light import light_rows
from .stores import Reader


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message as History shows it: `row` has its fullest text, `content` is the live part of that."""

    entry: Entry
    row: StoredMessage
    content: Any


@dataclass(frozen=True, slots=True)
class Handoff:
    """A boundary with its handoff row: `summary` the body, `directive` the instructions to the model around it."""

    boundary: Boundary
    row: StoredMessage
    summary: str
    directive: str


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of History: `items` in order; `earlier` and `later` count the entries on either side of it."""

    items: tuple[Entry | Boundary, ...]
    earlier: int
    later: int

    @property
    def first(self) -> int | None:
        return next((item.id for item in self.items if isinstance(item, Entry)), None)

    @property
    def last(self) -> int | None:
        return next((item.id for item in reversed(self.items) if isinstance(item, Entry)), None)


# -- history ---------------------------------------------------------------------------------------------------------


def read_history(reader: Reader, session_id: str, known: Iterable[KnownBlock] = ()) -> History:
    """The once-only History of a session and the parts it continues. Reads the start of every row's content."""
    return histories.build(light_rows(reader, session_id), known)


def window(
    history: History, *, around: int | None = None, before: int | None = None, after: int | None = None, limit: int = 60
) -> Window:
    """At most `limit` entries of History with the boundaries directly before them.

    `around` is any row id: its message stands in the middle. `before` and `after` are message ids at the edge of
    another window. With none of them, the newest entries. Raises NotFound for an id that History does not show.
    """
    places = [index for index, item in enumerate(history.items) if isinstance(item, Entry)]
    total = len(places)

    def position(row_id: int) -> int:
        message = history.message_of.get(row_id)
        if message is None:
            raise NotFound(f"Message {row_id} is not part of this session's History.")
        return bisect_left(places, message, key=lambda index: history.items[index].id)  # type: ignore[union-attr]

    if around is not None:
        start = max(0, min(position(around) - limit // 2, total - limit))
        stop = min(start + limit, total)
    elif after is not None:
        start = position(after) + 1
        stop = min(start + limit, total)
    else:
        stop = total if before is None else position(before)
        start = max(0, stop - limit)
    first = places[start - 1] + 1 if start else 0  # boundaries stand directly before an entry and come with it
    last = len(history.items) if stop == total else places[stop - 1] + 1 if stop else 0
    return Window(history.items[first:last], earlier=start, later=total - stop)


def history_messages(reader: Reader, items: Iterable[Entry | Boundary]) -> list[HistoryMessage | Handoff]:
    """The rows behind a stretch of History, in its order. A row deleted since the History was read is left out."""
    listed = list(items)
    rows = read_rows(reader, [item.full_id if isinstance(item, Entry) else item.handoff_id for item in listed])
    shown: list[HistoryMessage | Handoff] = []
    for item in listed:
        row = rows.get(item.full_id if isinstance(item, Entry) else item.handoff_id)
        if row is None:
            continue
        shown.append(HistoryMessage(item, row, live_content(row)) if isinstance(item, Entry) else handoff_of(item, row))
    return shown


def live_content(row: StoredMessage) -> Any:
    """The row's content without any summary merged into it, in its own shape."""
    parts = compaction.split(row.content, flagged=row.flagged)
    if all(part.kind == "live" for part in parts):
        return row.content
    live = [part.content for part in parts if part.kind != "summary"]
    return live[0] if len(live) == 1 else "\n\n".join(part.text for part in parts if part.kind != "summary")


def handoff_of(boundary: Boundary, row: StoredMessage) -> Handoff:
    parts = [part for part in compaction.split(row.content, flagged=row.flagged) if part.kind == "summary"]
    directive = "\n\n".join(part.directive for part in parts if part.directive)
    return Handoff(boundary, row, "\n\n".join(part.text for part in parts), directive)


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
    active = " AND active = 1" if "active" in reader.columns.messages else ""
    return _decoded(reader, f"session_id = ?{active} ORDER BY id", [session_id])


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
