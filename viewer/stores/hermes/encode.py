"""The rows that a compaction writes.

`docs/how-it-works.md` describes them: clones of the head, the handoff, clones of the tail, clones of the rows that
arrived meanwhile, so that a generation is one id range as in the agent's own compactions. A clone has every column of
the table, known here or not. Only the owner's triggers update full-text tables.
"""

from __future__ import annotations

import json
import uuid
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import compaction
from viewer.stores.changes import (
    Edit,
    InsertMessage,
    Json,
    KeepMessage,
    Why,
)
from viewer.stores.clean_text import sanitized
from viewer.stores.errors import (
    WriteDisturbed,
)

from .codec import decode_calls, encode_content
from .columns import Columns, quoted
from .dialect import Rows, StoreConnection


@dataclass(frozen=True, slots=True)
class Clone:
    """Keep this row: a clone of it follows in the new generation, the original is superseded."""

    id: int


@dataclass(frozen=True, slots=True)
class CloneChanged:
    """Keep this row with other values (column -> decoded value; None is NULL).

    `original` is the state of the row itself afterwards: "under" when it has text that the clone lacks, else "out"
    (superseded). `is_handoff` marks the clone that the handoff was merged into.
    """

    id: int
    changes: Mapping[str, Any]
    original: Literal["under", "out"]
    is_handoff: bool = False


@dataclass(frozen=True, slots=True)
class New:
    """Insert this message: the handoff."""

    message: compaction.Message


Step = Clone | CloneChanged | New


# If a row stays with other values, the original is superseded; where the clone lacks some of its text, it stays
# readable under the boundary.
ORIGINALS: dict[Why, Literal["under", "out"]] = {
    "merged": "out",
    "noted": "out",
    "shortened": "under",
    "unwrapped": "under",
}


# -- edits -------------------------------------------------------------------------------------------------------------


def steps_of(token: Json, edits: Sequence[Edit]) -> list[Step]:
    """What a commit writes, in order: the edits, and the agent's own rows outside the summarised stretch."""
    named = {edit.id for edit in edits if not isinstance(edit, InsertMessage)}
    rows, records = [row[0] for row in token["rows"]], set(token["records"]) - named
    staying = _staying_records(rows, records, named)
    first = next((row_id for row_id in rows if row_id not in named and row_id not in records), None)
    steps: list[Step] = []
    for edit in edits:
        before = first if isinstance(edit, InsertMessage) else edit.id
        while staying and before is not None and staying[0] < before:
            steps.append(Clone(staying.popleft()))
        steps.append(_step(edit))
    return [*steps, *map(Clone, staying)]


def _staying_records(rows: Sequence[int], records: Collection[int], named: Collection[int]) -> deque[int]:
    """The agent's own rows that stay: all except those between two rows that leave the context."""
    ids: deque[int] = deque()
    waiting: list[int] = []
    leaving = False
    for row_id in rows:
        if row_id in records:
            waiting.append(row_id)
            continue
        if not leaving or row_id in named:
            ids += waiting
        waiting, leaving = [], row_id not in named
    return ids + deque(waiting)


def _step(edit: Edit) -> Step:
    if isinstance(edit, InsertMessage):
        return New(edit.message)
    if isinstance(edit, KeepMessage):
        return Clone(edit.id)
    return CloneChanged(edit.id, edit.changes, ORIGINALS[edit.why], is_handoff=edit.why == "merged")


def handoff_place(steps: Sequence[Step]) -> tuple[int, Any]:
    """The handoff's position among the steps, and its exact content."""
    for position, step in enumerate(steps):
        if isinstance(step, New):
            return position, step.message["content"]
        if isinstance(step, CloneChanged) and step.is_handoff:
            return position, step.changes["content"]
    raise ValueError("These steps hold no handoff.")


_NOT_CLONED = {"id", "session_id", "active", "compacted", "display_order"}


_DERIVED = (
    "api_content",
    "display_identity",
)  # the agent makes them from the content: outdated once the content changes


APART = 1e-3  # seconds between the handoff and a row that is appended while waiting for the write lock


LONGEST_WAIT = 60.0  # seconds of such waiting: a later row has a wrong time


REARM_KEY = (
    "_proactive_prune_rearm_tokens"  # every in-place compaction of the agent removes it from sessions.model_config
)


def insert_block(
    con: StoreConnection, columns: Columns, session_id: str, steps: Sequence[Step], late: Sequence[int], now: float
) -> tuple[int, tuple[int, ...], dict[int, int]]:
    """Write a new generation into this session, with its counters; returns its handoff, its rows, and the clone of each
    kept row.
    """
    highest = con.execute("SELECT MAX(id) FROM messages").fetchone()[0]
    handoff_id, copies = _insert(con, columns, session_id, [*steps, *map(Clone, late)], _apart(con, late, now))
    written = _BLOCK.format(columns.dialect.unsought.format("session_id"))
    block = tuple(row[0] for row in con.execute(written, [session_id, highest]).fetchall())
    if not len(block) == len(steps) + len(late) == recount(con, columns, session_id):
        raise WriteDisturbed
    return handoff_id, block, copies


def _apart(con: StoreConnection, late: Sequence[int], now: float) -> float:
    """`now`, or a moment after the last row that was appended while waiting for the write lock: where rows have no
    names, those of one write are recognised by their times (`naming`).
    """
    row = con.execute("SELECT timestamp FROM messages WHERE id = ?", [late[-1]]).fetchone() if late else None
    appended: Any = row[0] if row else None
    is_near = isinstance(appended, int | float) and now - APART < appended < now + LONGEST_WAIT
    return appended + APART if is_near else now


# A plus sign keeps SQLite from an index by which it would read all rows the session ever had: the lock must only be
# held for the live rows, however many are under earlier boundaries.
_BLOCK = "SELECT id FROM messages WHERE {} = ? AND id > ? ORDER BY id"


def _insert(
    con: StoreConnection, columns: Columns, session_id: str, steps: Sequence[Step], now: float
) -> tuple[int, dict[int, int]]:
    handoff_id = 0
    copies: dict[int, int] = {}
    for kind, group in groupby(steps, key=type):
        if kind is Clone:
            ids = [step.id for step in group if isinstance(step, Clone)]
            clones = clone(con, columns, session_id, ids)
            if len(clones) != len(ids):
                raise WriteDisturbed  # all of them existed: `check_planned`
            copies.update(zip(ids, clones, strict=True))
            continue
        for step in group:
            if isinstance(step, New):
                handoff_id = insert_message(con, columns, session_id, step.message, now)
            elif isinstance(step, CloneChanged):
                copies[step.id] = _clone_changed(con, columns, session_id, step)
                handoff_id = copies[step.id] if step.is_handoff else handoff_id
    return handoff_id, copies


def clone(con: StoreConnection, columns: Columns, session_id: str, ids: Sequence[int]) -> list[int]:
    """Live clones of these rows (ascending ids) in this session, in order; returns the ids of the new rows.

    With SQL only, so that no value passes through this program. Raises WriteDisturbed.
    """
    highest = con.execute("SELECT MAX(id) FROM messages").fetchone()[0]
    names = ", ".join(quoted(name) for name in columns.messages if name not in _NOT_CLONED)
    inserted = con.execute(
        f"INSERT INTO messages ({names}, session_id{_flags(columns)[0]}) SELECT {names}, ?{_flags(columns)[1]} "
        f"FROM messages WHERE id IN {columns.dialect.ids} ORDER BY id",
        [session_id, json.dumps(list(ids))],
    ).rowcount
    clones = [row[0] for row in con.execute("SELECT id FROM messages WHERE id > ? ORDER BY id", [highest]).fetchall()]
    if len(clones) != inserted:
        raise WriteDisturbed
    return clones


def _flags(columns: Columns) -> tuple[str, str]:
    """Names and values of the flags of a live row, as the ends of their lists; the oldest schemas lack `compacted`."""
    flags = {name: value for name, value in (("active", "1"), ("compacted", "0")) if name in columns.messages}
    return "".join(f", {name}" for name in flags), "".join(f", {value}" for value in flags.values())


def _clone_changed(con: StoreConnection, columns: Columns, session_id: str, step: CloneChanged) -> int:
    changes = {name: _stored(name, value) for name, value in step.changes.items()}
    if "content" in changes:
        changes = dict.fromkeys(_DERIVED) | changes
    changes = {name: value for name, value in changes.items() if name in columns.messages}
    unchanged = [quoted(name) for name in columns.messages if name not in _NOT_CLONED and name not in changes]
    names = ", ".join([*unchanged, *map(quoted, changes)])
    cursor = con.execute(
        f"INSERT INTO messages ({names}, session_id{_flags(columns)[0]}) "
        f"SELECT {', '.join([*unchanged, *'?' * len(changes)])}, ?{_flags(columns)[1]} FROM messages WHERE id = ?",
        [*changes.values(), session_id, step.id],
    )
    return _new_id(cursor)


def insert_message(
    con: StoreConnection, columns: Columns, session_id: str, message: compaction.Message, at: float
) -> int:
    """Insert one live row with this time; returns its id. Keys that are no column of the store are left out."""
    values = {name: _stored(name, value) for name, value in message.items()}
    values |= {"session_id": session_id, "timestamp": at, "active": 1, "compacted": 0, "message_uid": uuid.uuid4().hex}
    values = {name: value for name, value in values.items() if name in columns.messages}
    names = ", ".join(map(quoted, values))
    return _new_id(
        con.execute(f"INSERT INTO messages ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values()))
    )


def _new_id(cursor: Rows) -> int:
    if cursor.rowcount != 1 or cursor.lastrowid is None:
        raise WriteDisturbed
    return cursor.lastrowid


def _stored(name: str, value: Any) -> Any:
    if name == "content":
        return encode_content(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value) if value else None
    if isinstance(value, str):
        return sanitized(value)
    return int(value) if isinstance(value, bool) else value


def recount(con: StoreConnection, columns: Columns, session_id: str) -> int:
    """Update the session's counters after a compaction; returns its live rows."""
    live = count_live(con, columns, session_id)
    _rearm_pruning(con, columns, session_id)
    return live


def count_live(con: StoreConnection, columns: Columns, session_id: str) -> int:
    """Set the session's counters to its live rows, and return how many these are: an agent with a cache notices a
    changed context by `message_count`.
    """
    rows = con.execute("SELECT tool_calls FROM messages WHERE session_id = ? AND active = 1", [session_id]).fetchall()
    counters = {"message_count": len(rows), "tool_call_count": sum(len(decode_calls(row[0])) for row in rows)}
    present = {name: value for name, value in counters.items() if name in columns.sessions}
    assignments = ", ".join(f"{name} = ?" for name in present)
    con.execute(f"UPDATE sessions SET {assignments} WHERE id = ?", [*present.values(), session_id])
    return len(rows)


def _rearm_pruning(con: StoreConnection, columns: Columns, session_id: str) -> None:
    if "model_config" not in columns.sessions:
        return
    stored = con.execute("SELECT model_config FROM sessions WHERE id = ?", [session_id]).fetchone()[0]
    try:
        config = json.loads(stored or "")
    except (ValueError, TypeError, RecursionError):
        return
    if isinstance(config, dict) and REARM_KEY in config:
        del config[REARM_KEY]
        con.execute("UPDATE sessions SET model_config = ? WHERE id = ?", [json.dumps(config), session_id])
