"""Messages of a session: once-only History, windows of it, the live context, raw rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import compaction
from compaction import protocol

from . import history as histories
from .codec import BOOKKEEPING_ROLES, StoredMessage, decode_calls, decode_content, decode_row, number, state_of
from .columns import selection
from .errors import NotFound
from .history import Boundary, Entry, History, LightRow
from .sessions import chain
from .stores import Reader

START_OCTETS = 600  # of a row's content, enough to tell messages apart and to see whether a handoff may be in it
TEXT_CHARACTERS = 300
CHUNK = 500  # SQLite's limit of bound values is 999 in old builds


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message as History shows it: `row` is the one with the fullest text, `content` its live part, state and times of the entry."""

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
    """A stretch of History: `items` in order; `earlier` and `later` count the entries on either side that are not in it."""

    items: tuple[Entry | Boundary, ...]
    earlier: int
    later: int

    @property
    def first(self) -> int | None:
        return next((item.id for item in self.items if isinstance(item, Entry)), None)

    @property
    def last(self) -> int | None:
        return next((item.id for item in reversed(self.items) if isinstance(item, Entry)), None)


# -- history ---------------------------------------------------------------------------------------------------------------


def read_history(reader: Reader, session_id: str) -> History:
    """The once-only History of a session and of the parts before it in its chain. Reads the start of every row's content."""
    return histories.build(light_rows(reader, session_id))


def light_rows(reader: Reader, session_id: str) -> list[LightRow]:
    """What History needs of every row of the session and of the parts it continues, in id order. Rows of ended parts are under."""
    sessions = chain(reader, session_id)
    wanted = {
        "id": "NULL", "session_id": "NULL", "role": "''", "timestamp": "0", "tool_call_id": "NULL", "tool_calls": "NULL",
        "active": "1", "compacted": "0", "_compressed_summary": "0", "display_kind": "NULL",
    }  # fmt: skip
    rows = reader.con.execute(
        f"SELECT {selection(reader.columns.messages, wanted)}, substr(CAST(content AS BLOB), 1, {START_OCTETS}), "
        "length(CAST(trim(content, char(9, 10, 13, 32)) AS BLOB)), instr(content, ?) "
        f"FROM messages WHERE session_id IN ({_marks(sessions)}) ORDER BY id",
        [protocol.MERGE_DELIMITER, *sessions],
    ).fetchall()
    suspects = [row[0] for row in rows if row[8] or row[12] or _may_hold_handoff(row[10])]
    contents = _contents(reader, suspects)
    return [_light_row(row, contents, session_id) for row in rows]


def _may_hold_handoff(start: bytes | None) -> bool:
    return start is not None and any(hint in start for hint in _HINTS)


# Every handoff begins with one of these; the dash behind them is escaped in stored JSON.
_HINTS = tuple({marker.split("—")[0].strip().encode() for marker in (*protocol.HEADERS, protocol.PRIOR_HEADER)})
_CALL_ID = re.compile(r'"(?:call_id|id)":\s*"([^"]*)"')


def _light_row(row: tuple[Any, ...], contents: dict[int, Any], session_id: str) -> LightRow:
    row_id, part, role, time, tool_call_id, calls, active, compacted, flagged, display_kind, start, size, _ = row
    state = state_of(active, compacted) if part == session_id else state_of(False, active)
    text, handoff, key = _folded(start), "", ""
    calls_text = calls if isinstance(calls, str) else ""
    if row_id in contents:
        parts = compaction.split(contents[row_id], flagged=bool(flagged))
        summaries = [piece for piece in parts if piece.kind == "summary"]
        live = [piece for piece in parts if piece.kind != "summary"]
        if summaries:
            merged = bool(live) or decode_calls(calls)
            handoff = "merged" if merged else "standalone"
            key = hashlib.blake2b("\n".join(piece.text for piece in summaries).encode("utf-8", "replace")).hexdigest()
            live_text = "\n".join(piece.text for piece in live)
            text, size = " ".join(live_text.split())[:TEXT_CHARACTERS], len(live_text.strip().encode("utf-8", "replace"))
    return LightRow(
        id=row_id,
        role=str(role or ""),
        state=state,
        time=number(time),
        tool_call_id=str(tool_call_id or ""),
        calls=" ".join(_CALL_ID.findall(calls_text)),
        text=text,
        size=(size or 0) + len(calls_text),
        handoff=handoff,  # type: ignore[arg-type]  # one of the three words
        handoff_key=key,
        scaffold=role == "user" and (display_kind == "hidden" or text.startswith(protocol.SYNTHETIC_USER_STARTS)),
    )


def _folded(start: bytes | None) -> str:
    return " ".join((start or b"").decode("utf-8", "ignore").split())[:TEXT_CHARACTERS]


def _contents(reader: Reader, ids: Sequence[int]) -> dict[int, Any]:
    return {
        row[0]: decode_content(row[1])
        for chunk in _chunks(ids)
        for row in reader.con.execute(f"SELECT id, content FROM messages WHERE id IN ({_marks(chunk)})", chunk).fetchall()
    }


def window(
    history: History, *, around: int | None = None, before: int | None = None, after: int | None = None, limit: int = 60
) -> Window:
    """At most `limit` entries of History with the boundaries directly before them.

    `around` is any row id: its message stands in the middle. `before` and `after` are message ids at the edge of another window.
    With none of them, the newest entries. Raises NotFound for an id that History does not show.
    """
    places = [index for index, item in enumerate(history.items) if isinstance(item, Entry)]
    position = {history.items[index].id: number for number, index in enumerate(places)}  # type: ignore[union-attr]
    wanted = next((row_id for row_id in (around, before, after) if row_id is not None), None)
    if wanted is not None:
        found = position.get(history.message_of.get(wanted, -1))
        if found is None:
            raise NotFound(f"Message {wanted} is not part of this session's History.")
    if around is not None:
        start = max(0, min(found - limit // 2, len(places) - limit))
    elif after is not None:
        start = found + 1
    else:
        stop = len(places) if before is None else found
        start, limit = max(0, stop - limit), min(limit, stop)
    stop = min(start + limit, len(places))
    first = places[start - 1] + 1 if start else 0
    last = places[stop - 1] + 1 if stop < len(places) and stop else len(history.items) if stop == len(places) else 0
    return Window(history.items[first:last], earlier=start, later=len(places) - stop)


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
    return Handoff(
        boundary, row, "\n\n".join(part.text for part in parts), "\n\n".join(part.directive for part in parts if part.directive)
    )


# -- rows ------------------------------------------------------------------------------------------------------------------


def read_rows(reader: Reader, ids: Sequence[int]) -> dict[int, StoredMessage]:
    """The rows of these ids, whole and decoded; ids that do not exist are absent."""
    found: dict[int, StoredMessage] = {}
    for chunk in _chunks(ids):
        for row in _decoded(reader, f"id IN ({_marks(chunk)})", chunk):
            found[row.id] = row
    return found


def live_context(reader: Reader, session_id: str) -> list[StoredMessage]:
    """The rows the agent reloads, in id order: what the model would be sent, bookkeeping rows included."""
    active = " AND active = 1" if "active" in reader.columns.messages else ""
    return _decoded(reader, f"session_id = ?{active} ORDER BY id", [session_id])


def raw_rows(reader: Reader, session_id: str, *, before: int | None, limit: int, live_only: bool = False) -> list[StoredMessage]:
    """At most `limit` rows of the session as stored, the newest or those below `before`, in id order."""
    narrowed = " AND active = 1" if live_only and "active" in reader.columns.messages else ""
    rows = _decoded(
        reader, f"session_id = ? AND id < ?{narrowed} ORDER BY id DESC LIMIT ?", [session_id, before or 2**63 - 1, limit]
    )
    return rows[::-1]


def for_model(rows: Iterable[StoredMessage]) -> list[StoredMessage]:
    """Live rows without those an agent keeps for itself."""
    return [row for row in rows if row.role not in BOOKKEEPING_ROLES]


def _decoded(reader: Reader, where: str, values: Sequence[Any]) -> list[StoredMessage]:
    cursor = reader.con.execute(f"SELECT * FROM messages WHERE {where}", values)
    names = [column[0] for column in cursor.description]
    return [decode_row(dict(zip(names, row, strict=True))) for row in cursor.fetchall()]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _chunks(ids: Sequence[int]) -> Iterable[Sequence[int]]:
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
