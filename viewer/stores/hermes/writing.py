"""The writes: commit a compaction, undo one. Each is one transaction. Apart from this module only `guards`,
`branching`, `appending`, `creating`, `editing` and `deleting` write.

`docs/how-it-works.md` describes a commit: flag the originals, then insert clones of the head, the handoff, clones of
the tail, clones of the rows that arrived meanwhile, so that a generation is one id range as in the agent's own
compactions. A clone has every column of the table, known here or not. Only the owner's triggers update full-text
tables.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import compaction
from viewer.stores.base import Store
from viewer.stores.clean_text import sanitized
from viewer.stores.errors import CompactionConflict, NotFound, NotUndoable, StoreReadOnly, WriteDisturbed

from . import guards
from .codec import decode_calls, encode_content
from .columns import Columns, quoted
from .dialect import Rows, StoreConnection
from .opening import OpenStore, columns_of, identity
from .sessions import CONTINUED, lease_key
from .tally import Tally
from .transaction import write
from .undoing import Outlook, Undoing, outlook_of

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


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The basis of a plan: live rows as (id, bytes of content, bytes of calls; -1 for NULL), and the file."""

    session_id: str
    rows: tuple[tuple[int, int, int], ...]
    file: tuple[int, int]

    @property
    def watermark(self) -> int:
        """The highest planned id: rows above it arrived later, and stay live."""
        return self.rows[-1][0] if self.rows else 0

    @property
    def sizes(self) -> dict[int, int]:
        """Row id -> bytes of its content and calls."""
        return {row_id: max(content, 0) + max(calls, 0) for row_id, content, calls in self.rows}


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


@dataclass(frozen=True, slots=True)
class BlockCommit:
    """The result of a commit. `copies` maps kept originals to their clones; `seconds` is how long the lock was held;
    `new_session_id` is the session of the block if that is a new one.
    """

    handoff_id: int
    block_ids: tuple[int, ...]
    copies: dict[int, int]
    live: int
    seconds: float
    new_session_id: str = ""


# -- commit ----------------------------------------------------------------------------------------------------------


def snapshot(reader: OpenStore, session_id: str) -> Snapshot:
    """The live rows of the session as a commit will expect them."""
    return Snapshot(session_id, _live_rows(reader.con, reader.columns, session_id), identity(reader.store))


def commit(
    store: Store, planned: Snapshot, steps: Sequence[Step], *, lock_holder: str, lease_holder: str, now: float
) -> BlockCommit:
    """Replace the live context as `steps` say, in one transaction; rows above the watermark stay live after it, in
    order.

    `lock_holder` must have the compression lock and, where the store has turn leases, `lease_holder` the lease. `now`
    (epoch seconds) becomes the handoff's time. Raises CompactionConflict, SessionBusy, StoreReadOnly or
    StoreUnavailable: then nothing is written.
    """
    with write(store, planned.file) as con:
        started = time.monotonic()
        columns = columns_of(store, con)
        _check_flags(store, columns)
        tally = Tally(con, columns)
        late = check_planned(con, store, columns, planned, lock_holder, lease_holder)
        _archive(con, columns, planned.session_id, steps, late)
        handoff_id, block, copies = insert_block(con, columns, planned.session_id, steps, late, now)
        tally.check(messages=len(block))
    return BlockCommit(handoff_id, block, copies, len(block), time.monotonic() - started)


def check_planned(
    con: StoreConnection, store: Store, columns: Columns, planned: Snapshot, lock_holder: str, lease_holder: str
) -> list[int]:
    """Inside a transaction: check that the plan can be written; returns ids of live rows that arrived since, in order.

    Raises NotFound, CompactionConflict or SessionBusy.
    """
    _check_guards(con, store, columns, planned.session_id, lock_holder, lease_holder)
    return _check_unchanged(con, columns, planned)


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


def _live_rows(con: StoreConnection, columns: Columns, session_id: str) -> tuple[tuple[int, int, int], ...]:
    length = columns.dialect.byte_length
    return tuple(
        con.execute(
            f"SELECT id, COALESCE({length.format('content')}, -1), COALESCE({length.format('tool_calls')}, -1) "
            "FROM messages WHERE session_id = ? AND active = 1 ORDER BY +id",
            [session_id],
        ).fetchall()
    )


def _check_flags(store: Store, columns: Columns) -> None:
    if "compacted" not in columns.messages or "active" not in columns.messages:
        raise StoreReadOnly(f"Store {store.name} has no “compacted” column; nothing was written.")


def _check_guards(
    con: StoreConnection, store: Store, columns: Columns, session_id: str, lock_holder: str, lease_holder: str
) -> None:
    ended = con.execute("SELECT end_reason FROM sessions WHERE id = ?", [session_id]).fetchone()
    if ended is None:
        raise NotFound(f"Session {session_id} is gone; nothing was written.")
    if ended[0] == CONTINUED:
        raise CompactionConflict("The agent has gone on in another session since; nothing was written.")
    guards.check_held(con, session_id, lock_holder)
    if "session_turn_leases" in columns.tables:
        guards.check_leased(con, lease_key(OpenStore(store, con, columns), session_id), lease_holder)


def _check_unchanged(con: StoreConnection, columns: Columns, planned: Snapshot) -> list[int]:
    """Ids of live rows that arrived since the plan. Raises CompactionConflict when planned ones have changed."""
    live = _live_rows(con, columns, planned.session_id)
    planned_now = tuple(row for row in live if row[0] <= planned.watermark)
    if planned_now != planned.rows:
        changed = len(set(planned.rows) - set(planned_now)) or len(planned_now) - len(planned.rows)
        raise CompactionConflict(
            f"{changed} of the {len(planned.rows)} planned messages were changed or taken back since the plan was "
            "made. Nothing was written; plan again."
        )
    return [row[0] for row in live if row[0] > planned.watermark]


def _archive(
    con: StoreConnection, columns: Columns, session_id: str, steps: Sequence[Step], late: Sequence[int]
) -> None:
    """Every live row leaves the context: kept ones are superseded, all others are summarised away."""
    superseded = [
        step.id
        for step in steps
        if isinstance(step, Clone) or (isinstance(step, CloneChanged) and step.original == "out")
    ]
    con.execute(
        f"UPDATE messages SET active = 0, compacted = CASE WHEN id IN {columns.dialect.ids} THEN 0 ELSE 1 END "
        "WHERE session_id = ? AND active = 1",
        [json.dumps([*superseded, *late]), session_id],
    )


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
    """Update the session's counters: an agent with a cache notices a changed context by `message_count`."""
    rows = con.execute("SELECT tool_calls FROM messages WHERE session_id = ? AND active = 1", [session_id]).fetchall()
    counters = {"message_count": len(rows), "tool_call_count": sum(len(decode_calls(row[0])) for row in rows)}
    present = {name: value for name, value in counters.items() if name in columns.sessions}
    assignments = ", ".join(f"{name} = ?" for name in present)
    con.execute(f"UPDATE sessions SET {assignments} WHERE id = ?", [*present.values(), session_id])
    _rearm_pruning(con, columns, session_id)
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


# -- undo ------------------------------------------------------------------------------------------------------------


def undo(store: Store, undoing: Undoing, *, lock_holder: str, lease_holder: str) -> Outlook:
    """Take a compaction back in one transaction: its block leaves the context, the rows before it return through their
    copies.

    A row whose copy the agent has taken back does not return; rows written since stay live after the restored ones.
    Raises NotUndoable with the reason, SessionBusy, StoreReadOnly or StoreUnavailable: then nothing is written.
    """
    with write(store) as con:
        columns = columns_of(store, con)
        _check_flags(store, columns)
        tally = Tally(con, columns)
        _check_guards(con, store, columns, undoing.session_id, lock_holder, lease_holder)
        outlook = outlook_of(con, columns, undoing)
        if outlook.refusal:
            raise NotUndoable(outlook.refusal)
        taken_back = set(undoing.originals) - set(outlook.restored)
        _set_active(con, columns, undoing.session_id, [*outlook.hidden, *taken_back], 0)
        _set_active(con, columns, undoing.session_id, outlook.restored, 1)
        recount(con, columns, undoing.session_id)
        tally.check()
    return outlook


def _set_active(con: StoreConnection, columns: Columns, session_id: str, ids: Sequence[int], active: int) -> None:
    session = columns.dialect.unsought.format("session_id")
    con.execute(
        f"UPDATE messages SET active = ?, compacted = 0 WHERE {session} = ? AND id IN {columns.dialect.ids}",
        [active, session_id, json.dumps(list(ids))],
    )
