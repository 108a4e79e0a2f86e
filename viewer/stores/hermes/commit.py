"""Commit a compaction in one transaction, and find one again.

Its receipt is JSON: {"handoff": id, "content": its content as JSON text, "block": [ids], "copies": {original id as
text: id of its clone}, "before": [ids that were in context], "split": whether the block is in another session}.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.stores.base import Store
from viewer.stores.changes import (
    Commit,
    CommitState,
    Edit,
    Json,
)
from viewer.stores.errors import (
    CompactionConflict,
)
from viewer.stores.recorded import Recorded
from viewer.stores.transcript import Boundary

from . import messages
from .columns import Columns
from .database import OpenStore, columns_of
from .dialect import StoreConnection
from .encode import Clone, CloneChanged, New, Step, handoff_place, insert_block, steps_of
from .known import KnownBlock, KnownUndone
from .messages import read_history, read_rows
from .paths import tip
from .plan import Snapshot, live_rows, snapshot_of
from .presence import check_flags, check_guards
from .tally import Tally
from .transaction import write
from .undo import undoing_of


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
        check_flags(store, columns)
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
    check_guards(con, store, columns, planned.session_id, lock_holder, lease_holder)
    return _check_unchanged(con, columns, planned)


def _check_unchanged(con: StoreConnection, columns: Columns, planned: Snapshot) -> list[int]:
    """Ids of live rows that arrived since the plan. Raises CompactionConflict when planned ones have changed."""
    live = live_rows(con, columns, planned.session_id)
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


# -- receipts ----------------------------------------------------------------------------------------------------------


def commit_of(planned: Snapshot, steps: Sequence[Step], done: BlockCommit, at: float | None = None) -> Commit:
    """The commit with its receipt."""
    receipt = {
        "handoff": done.handoff_id,
        "content": json.dumps(handoff_place(steps)[1]),
        "block": list(done.block_ids),
        "copies": {str(original): copy for original, copy in done.copies.items()},
        "before": [row[0] for row in planned.rows],
        "split": bool(done.new_session_id),
    }
    first, last = min(done.block_ids), max(done.block_ids)
    return Commit(done.handoff_id, first, last, receipt, done.new_session_id, at)


def blocks_of(recorded: Recorded) -> list[KnownBlock]:
    """The blocks that runs of ours wrote, oldest first."""
    return [
        KnownBlock(
            run=each.run,
            handoff_id=each.receipt["handoff"],
            handoff_key=messages.handoff_key(json.loads(each.receipt["content"])),
            copies={copy: int(original) for original, copy in each.receipt["copies"].items()},
            undone=each.undone,
            before=tuple(undoing_of("", each.receipt).originals),
        )
        for each in recorded.written
    ]


def undone_of(recorded: Recorded) -> dict[int, KnownUndone]:
    """The compactions that were undone here, by handoff."""
    return {
        handoff_id: KnownUndone(receipt["block"], receipt["taken_back"])
        for handoff_id, receipt in recorded.undone.items()
    }


def commit_state(reader: OpenStore, receipt: Json) -> CommitState:
    """In a restored file another row may have the handoff's id: its content is compared. After an undo the block has
    left the context, and earlier messages are there again.
    """
    handoff = read_rows(reader, [receipt["handoff"]]).get(receipt["handoff"])
    if handoff is None or handoff.content != json.loads(receipt["content"]):
        return CommitState("gone")
    is_out = handoff.state == "out"
    if is_out and any(row.state == "live" for row in read_rows(reader, receipt["before"]).values()):
        return CommitState("undone", {"block": receipt["block"], "taken_back": []})
    return CommitState("in effect")


def find_commit(
    reader: OpenStore, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str
) -> Commit | None:
    """A commit that was made and not recorded, found by the handoff's content above the planned rows."""
    planned, steps = snapshot_of(session_id, token), steps_of(token, edits)
    position, content = handoff_place(steps)
    newest = tip(reader, session_id) if mode == "split" else session_id
    history = read_history(reader, newest, blocks_of(recorded), undone_of(recorded))
    newer = [boundary for boundary in history.boundaries if boundary.handoff_id > planned.watermark]
    rows = read_rows(reader, [boundary.handoff_id for boundary in newer])
    for boundary in newer:
        row = rows.get(boundary.handoff_id)
        if row is not None and row.content == content:
            part = row.session_id if row.session_id != session_id else ""
            done = _commit_at(boundary, boundary.handoff_id - position, steps, part)
            return commit_of(planned, steps, done, boundary.time)
    return None


def _commit_at(boundary: Boundary, start: int, steps: Sequence[Step], part: str) -> BlockCommit:
    """A block is one id range in the order of its steps; clones of late rows follow it (`writing.commit`)."""
    end = start + len(steps)
    late = {source: copy for copy, source in boundary.copies if copy >= end}
    copies = {step.id: start + number for number, step in enumerate(steps) if not isinstance(step, New)}
    block = (*range(start, end), *sorted(late.values()))
    return BlockCommit(boundary.handoff_id, block, copies | late, live=len(block), seconds=0.0, new_session_id=part)
