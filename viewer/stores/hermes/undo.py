"""Take back a compaction: what that would do, why it cannot be done, and the write, which is one transaction.

Its receipt is JSON: {"block": [ids], "taken_back": [ids]}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from compaction import messages as engine
from compaction import tool_groups
from compaction.handoff import is_handoff, restated
from viewer.stores.base import Store
from viewer.stores.changes import (
    COVERED,
    IS_SPLIT,
    Json,
    UndoPlan,
)
from viewer.stores.errors import (
    NotBranchable,
    NotUndoable,
)
from viewer.stores.transcript import Boundary

from . import envelopes
from .codec import decode_content, number
from .columns import Columns, selection
from .database import OpenStore, columns_of
from .dialect import Dialect, StoreConnection
from .encode import recount
from .presence import check_flags, check_guards
from .records import STEP
from .tally import Tally
from .transaction import write


@dataclass(frozen=True, slots=True)
class Undoing:
    """A compaction to take back: its block, and each row that was live before it with its copy in the block (None:
    summarised). `unmapped` says that the map is History's and contains no copy in the block at all; `more` are further
    copies of a row, which is in context while one of them is; `found` says that History found the block and nobody
    recorded it, and `unsure` that the rows do not show what was in context before it.
    """

    session_id: str
    handoff_id: int
    block_ids: tuple[int, ...]
    originals: dict[int, int | None]
    unmapped: bool = False
    more: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    found: bool = False
    unsure: bool = False

    def copies_of(self, row_id: int) -> tuple[int, ...]:
        """The copies of a row that was live before, none where it was summarised."""
        copy = self.originals[row_id]
        return (*self.more.get(row_id, ()), *(() if copy is None else (copy,)))


@dataclass(frozen=True, slots=True)
class Outlook:
    """What an undo would do, in row ids: `restored` come back, `hidden` leave, `later` were written since and stay;
    `taken_back` were written since, too, and have left the context.

    `refusal` says in a sentence why it cannot be done, "" when it can.
    """

    restored: tuple[int, ...]
    hidden: tuple[int, ...]
    later: tuple[int, ...]
    taken_back: tuple[int, ...]
    refusal: str = ""


UNTOLD = "It is not known which messages this compaction kept: undoing might show some twice."


UNSURE = (
    "It is not known what was in context before this compaction: an earlier one was undone elsewhere, or taken back."
)


_BEHIND = 200  # rows after a block that are checked


INHERITED = (
    "This session began with the summary: the messages that it replaces are not in it, and nothing can be brought back."
)


def undoing_of_boundary(session_id: str, boundary: Boundary) -> Undoing:
    """The map of a compaction without a record, such as the agent's own, from its boundary."""
    sources: dict[int, int | None] = {source: copy for copy, source in boundary.copies}
    originals = {row_id: sources.get(row_id) for row_id in boundary.before_ids}
    more: dict[int, tuple[int, ...]] = {}
    for copy, source in boundary.copies:
        if sources[source] != copy:
            more[source] = (*more.get(source, ()), copy)
    is_unrecorded = boundary.run is None
    return Undoing(
        session_id, boundary.handoff_id, boundary.block_ids, originals, not boundary.copies, more, is_unrecorded,
        boundary.unsure,
    )  # fmt: skip


def check_undo(reader: OpenStore, undoing: Undoing) -> Outlook:
    """What taking back this compaction would do now, or why it cannot be done."""
    return outlook_of(reader.con, reader.columns, undoing)


def outlook_of(con: StoreConnection, columns: Columns, undoing: Undoing) -> Outlook:
    """`check_undo` on an open connection, so that the write can check again inside its transaction."""
    block = _states(con, columns.dialect, undoing.session_id, undoing.block_ids)
    originals = _states(con, columns.dialect, undoing.session_id, list(undoing.originals))
    hidden = tuple(row_id for row_id in undoing.block_ids if block.get(row_id) == (1, 0))
    restored = tuple(
        row_id
        for row_id, copy in sorted(undoing.originals.items())
        if row_id in originals and (copy is None or any(block.get(at) == (1, 0) for at in undoing.copies_of(row_id)))
    )
    later = _rows_after(con, undoing, "session_id = ? AND active = 1")
    by_id = columns.dialect.unsought.format("session_id")  # an index by session would read all superseded rows
    taken_back = _rows_after(con, undoing, f"{by_id} = ? AND active = 0 AND compacted = 0")
    outlook = Outlook(restored, hidden, later, taken_back)
    refusal = _refusal(con, columns.dialect, undoing, block, originals) or _inexact(con, columns, undoing, outlook)
    return replace(outlook, refusal=refusal)


def _rows_after(con: StoreConnection, undoing: Undoing, where: str) -> tuple[int, ...]:
    """The rows after the block for which this condition on the session holds."""
    sql = f"SELECT id FROM messages WHERE {where} AND id > ? ORDER BY id"
    return tuple(row[0] for row in con.execute(sql, [undoing.session_id, max(undoing.block_ids)]).fetchall())


def _inexact(con: StoreConnection, columns: Columns, undoing: Undoing, outlook: Outlook) -> str:
    """Why the restored context would not be the earlier one plus the messages since; "" when it is."""
    copies = {copy for row_id in undoing.originals for copy in undoing.copies_of(row_id)}
    loose = [row_id for row_id in outlook.hidden if row_id not in copies and row_id != undoing.handoff_id]
    messages_lost = [
        row for row in _messages(con, columns, undoing.session_id, loose, "content") if not _is_the_agents(row)
    ]
    if messages_lost:
        return f"It would take {_counted(len(messages_lost))} out of context that came with or after the summary."
    down = sorted(set(undoing.originals) - set(outlook.restored))
    if undoing.found and any(map(is_handoff, _messages(con, columns, undoing.session_id, down, "content"))):
        return UNTOLD  # nobody recorded whether a summary was taken back together with the rows after it
    after = _messages(con, columns, undoing.session_id, [*outlook.restored, *outlook.later], "message_uid")
    if undoing.found and _are_named_twice(after, set(outlook.restored)):
        return UNTOLD
    ends = tool_groups.loose_ends(after)
    if not (ends.calls or ends.results):
        return ""
    # A session may always have had calls without results; but none may lack one that is stored.
    first, last = min(undoing.originals), max(undoing.block_ids)
    where = f"{columns.dialect.unsought.format('session_id')} = ? AND id BETWEEN ? AND ?"
    rows = con.execute(f"SELECT id FROM messages WHERE {where}", [undoing.session_id, first, last]).fetchall()
    remaining = {row[0] for row in rows} - {row["id"] for row in after} - set(undoing.block_ids)
    others = _messages(con, columns, undoing.session_id, sorted(remaining))
    called = {id_ for row in others for call in engine.calls(row) for id_ in call.ids}
    answered = {id_ for row in others for id_ in engine.answers(row)}
    missing = sum(not called.isdisjoint(engine.answers(after[at])) for at in ends.results)
    missing += sum(
        not answered.isdisjoint(engine.calls(after[at])[position].ids)
        for at, positions in ends.calls.items()
        for position in positions
    )
    return f"{_counted(missing)} would come back without the call or the result it belongs to." if missing else ""


def _are_named_twice(after: Sequence[engine.Message], restored: set[int]) -> bool:
    """Whether a message would be in context twice, by its name: restored, and already there."""
    named = [(row["message_uid"], row["id"] in restored) for row in after if row["message_uid"]]
    return not {name for name, back in named if back}.isdisjoint(name for name, back in named if not back)


def _counted(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"


def _is_the_agents(row: engine.Message) -> bool:
    content = row.get("content")
    typed = envelopes.without_marker(content) if isinstance(content, str) else content
    return (
        is_handoff(row)
        or (row["role"] == "user" and not engine.is_typed({**row, "content": typed}))
        or (restated(engine.said(row.get("content"))) is not None)
    )


def _messages(
    con: StoreConnection, columns: Columns, session_id: str, ids: Sequence[int], *more: str
) -> list[engine.Message]:
    """These rows of the session in order of their ids: the columns for pairing calls and results, and
    `more` columns.
    """
    selected = {
        "id": "NULL", "role": "''", "tool_calls": "NULL", "tool_call_id": "NULL", "display_kind": "NULL",
        "_compressed_summary": "0", **dict.fromkeys(more, "NULL"),
    }  # fmt: skip
    sql = (
        f"SELECT {selection(columns.messages, selected)} FROM messages "
        f"WHERE {columns.dialect.unsought.format('session_id')} = ? AND id IN {columns.dialect.ids} ORDER BY id"
    )
    rows_found = con.execute(sql, [session_id, json.dumps(list(ids))]).fetchall() if ids else []
    rows = [dict(zip(selected, row, strict=True)) for row in rows_found]
    return [{**row, "content": decode_content(row["content"])} if "content" in row else row for row in rows]


def _refusal(
    con: StoreConnection,
    dialect: Dialect,
    undoing: Undoing,
    block: dict[int, tuple[int, int]],
    originals: dict[int, tuple[int, int]],
) -> str:
    if gone := len(undoing.originals) - len(originals):
        if _exist_elsewhere(con, dialect, undoing):
            return IS_SPLIT
        return f"{gone} of the messages from before this compaction no longer exist: the agent rewrote its transcript."
    if len(block) < len(undoing.block_ids):
        return "The agent rewrote its transcript after this compaction; what it inserted no longer exists."
    state = block[undoing.handoff_id]
    if state == (0, 1) or (state != (1, 0) and con.execute(_CARRIED, [undoing.handoff_id]).fetchone()):
        return COVERED
    if state != (1, 0):
        return "This compaction is not in effect any more."
    block_end = max(undoing.block_ids)
    if con.execute(
        _rewritten(dialect), [json.dumps(list(undoing.block_ids)), undoing.session_id, block_end]
    ).fetchone():
        return "The agent wrote its transcript anew after this compaction; undoing it would show messages twice."
    if not undoing.originals:
        return INHERITED
    if undoing.unmapped and con.execute(_OLDER, [undoing.handoff_id, undoing.session_id, block_end]).fetchone():
        return UNTOLD
    if undoing.unsure:
        return UNSURE
    if undoing.found and (_written_with_it(con, dialect, undoing) or _begins_inside_a_write(con, dialect, undoing)):
        return UNTOLD
    if undoing.found and (1, 0) in originals.values():  # a compaction removes all rows that it found from context
        return UNTOLD
    return ""


def _written_with_it(con: StoreConnection, dialect: Dialect, undoing: Undoing) -> bool:
    """Whether a live row outside of the block was written by the compaction, by its time.

    A copy keeps its time. The agent inserts a block in one loop, and a row without a time gets the moment of the write,
    each a microsecond after the one before (`_insert_message_rows` in hermes_state.py of 0.18 to 0.22).
    """
    before = con.execute(
        f"SELECT role, timestamp FROM messages WHERE id IN {dialect.ids}", [json.dumps(list(undoing.originals))]
    ).fetchall()
    behind = con.execute(
        "SELECT n.id, n.active, n.role, n.timestamp, h.timestamp FROM messages h JOIN messages n "
        "ON n.session_id = h.session_id AND n.id > h.id WHERE h.id = ? ORDER BY n.id LIMIT ?",
        [undoing.handoff_id, len(undoing.block_ids) + _BEHIND],
    ).fetchall()
    times = {(role, number(time)) for role, time in before}
    handoff = [number(row[4]) for row in behind[:1]]
    newest = max([0.0, *(time for _, time in times), *handoff])  # a merged handoff has the time of a message
    written = takewhile(lambda each: number(each[1][3]) - newest < STEP * (each[0] + 1), enumerate(behind, 1))
    return any(
        active and row_id not in undoing.block_ids and (number(time) >= newest or (role, number(time)) in times)
        for _, (row_id, active, role, time, _) in written
    )


def _begins_inside_a_write(con: StoreConnection, dialect: Dialect, undoing: Undoing) -> bool:
    """Whether the row before the block, or before the first original, was written with it, by its time: then it is a
    copy of an earlier start that is not in the map.
    """
    where = f"{dialect.unsought.format('session_id')} = ? AND id <= ?"
    for first in (min(undoing.block_ids), min(undoing.originals)):
        rows = con.execute(
            f"SELECT timestamp FROM messages WHERE {where} ORDER BY id DESC LIMIT 2", [undoing.session_id, first]
        ).fetchall()
        if len(rows) == 2 and 0 < number(rows[0][0]) - number(rows[1][0]) < STEP:
            return True
    return False


def _exist_elsewhere(con: StoreConnection, dialect: Dialect, undoing: Undoing) -> bool:
    return bool(
        con.execute(
            f"SELECT 1 FROM messages WHERE session_id <> ? AND id IN {dialect.ids} LIMIT 1",
            [undoing.session_id, json.dumps(list(undoing.originals))],
        ).fetchone()
    )


def _rewritten(dialect: Dialect) -> str:
    """A live row after the block with the content of a row of the block: the agent rewrote its transcript and did not
    continue it. SQLite must not read all rows of the session instead of the few that count.
    """
    alike = [dialect.same.format(f"n.{name}", f"b.{name}") for name in ("content", "tool_calls", "tool_call_id")]
    return (
        f"SELECT 1 FROM messages b {dialect.join} messages n ON n.role = b.role AND n.timestamp = b.timestamp "
        f"AND {' AND '.join(alike)} WHERE b.id IN {dialect.ids} AND {dialect.unsought.format('b.active')} = 0 "
        "AND n.session_id = ? AND n.id > ? AND n.active = 1 LIMIT 1"
    )


# A later row with the handoff's content: a compaction that kept the handoff unchanged.
_CARRIED = (
    "SELECT 1 FROM messages h JOIN messages n ON n.session_id = h.session_id AND n.id > h.id AND n.content = h.content "
    "WHERE h.id = ? LIMIT 1"
)


# A live row after the block that is older than the handoff: a copy that was not recognised.
_OLDER = (
    "SELECT 1 FROM messages h JOIN messages n ON n.session_id = h.session_id AND n.timestamp < h.timestamp "
    "WHERE h.id = ? AND n.session_id = ? AND n.id > ? AND n.active = 1 LIMIT 1"
)


def _states(con: StoreConnection, dialect: Dialect, session_id: str, ids: Sequence[int]) -> dict[int, tuple[int, int]]:
    return {
        row[0]: (row[1], row[2])
        for row in con.execute(
            "SELECT id, active, compacted FROM messages "
            f"WHERE {dialect.unsought.format('session_id')} = ? AND id IN {dialect.ids}",
            [session_id, json.dumps(list(ids))],
        ).fetchall()
    }


# -- undo ------------------------------------------------------------------------------------------------------------


def undo(store: Store, undoing: Undoing, *, lock_holder: str, lease_holder: str) -> Outlook:
    """Take a compaction back in one transaction: its block leaves the context, the rows before it return through their
    copies.

    A row whose copy the agent has taken back does not return; rows written since stay live after the restored ones.
    Raises NotUndoable with the reason, SessionBusy, StoreReadOnly or StoreUnavailable: then nothing is written.
    """
    with write(store) as con:
        columns = columns_of(store, con)
        check_flags(store, columns)
        tally = Tally(con, columns)
        check_guards(con, store, columns, undoing.session_id, lock_holder, lease_holder)
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


def undo_receipt(undoing: Undoing, outlook: Outlook) -> Json:
    """The receipt of an undo with this outlook."""
    taken_back = {*undoing.originals, *outlook.taken_back} - set(outlook.restored)
    return {"block": list(undoing.block_ids), "taken_back": sorted(taken_back)}


def undoing_of(session_id: str, compaction: Json | Boundary) -> Undoing:
    """The data for taking back a compaction: the receipt's map original -> clone, or the one that History found."""
    if isinstance(compaction, Boundary):
        return undoing_of_boundary(session_id, compaction)
    copies = {int(original): copy for original, copy in compaction["copies"].items()}
    originals = {row_id: copies.get(row_id) for row_id in compaction["before"]} | copies
    return Undoing(session_id, compaction["handoff"], tuple(compaction["block"]), originals)


def undo_plan(reader: OpenStore, session_id: str, compaction: Json | Boundary) -> UndoPlan:
    """What taking back a compaction would do now, or why it cannot be done."""
    if isinstance(compaction, dict) and compaction["split"]:
        return UndoPlan((), (), (), IS_SPLIT)
    undoing = undoing_of(session_id, compaction)
    outlook = check_undo(reader, undoing)
    return UndoPlan(outlook.restored, outlook.hidden, outlook.later, outlook.refusal, what=undoing)


def context_before(session_id: str, compaction: Json | Boundary) -> list[int]:
    """Ids of the rows that were in context before it, in order. Raises NotBranchable if that is unknown."""
    undoing = undoing_of(session_id, compaction)
    if undoing.unmapped or not undoing.originals:
        raise NotBranchable("It is not known which messages were in context before this compaction.")
    return sorted(undoing.originals)
