"""What runs keep about a store of Hermes Agent, as JSON: the token of a basis, and the receipts of a commit and an
undo.

A basis: {"file": [device, inode], "rows": [[id, bytes of content, bytes of calls], ...], "records": [ids of the agent's
own rows]}. A commit's receipt: {"handoff": id, "content": its content as JSON text, "block": [ids], "copies": {original
id as text: id of its clone}, "before": [ids that were in context], "split": whether the block is in another session}.
An undo's receipt: {"block": [ids], "taken_back": [ids]}.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from viewer.stores.changes import (
    IS_SPLIT,
    Commit,
    Edit,
    InsertMessage,
    Json,
    KeepMessage,
    LiveContext,
    UndoPlan,
    Why,
)
from viewer.stores.errors import CompactionConflict, NotBranchable, SessionBusy
from viewer.stores.history_types import Boundary
from viewer.stores.message import BOOKKEEPING_ROLES
from viewer.stores.recorded import Recorded
from viewer.stores.transcript import IndexedBoundary

from . import row_digests
from .known import KnownBlock, KnownUndone
from .opening import OpenStore
from .reading import live_context, read_history, read_rows
from .repeats import written_again
from .sessions import tip
from .undoing import Outlook, Undoing, check_undo, undoing_of_boundary
from .writing import BlockCommit, Clone, CloneChanged, New, Snapshot, Step, snapshot

READINGS = 5  # attempts to read a session consistently while it is being written to
# If a row stays with other values, the original is superseded; where the clone lacks some of its text, it stays
# readable under the boundary.
ORIGINALS: dict[Why, Literal["under", "out"]] = {
    "merged": "out",
    "noted": "out",
    "shortened": "under",
    "unwrapped": "under",
}


def token_of(planned: Snapshot, records: Iterable[int]) -> Json:
    """The token of a basis."""
    return {"file": list(planned.file), "rows": [list(row) for row in planned.rows], "records": list(records)}


def snapshot_of(session_id: str, token: Json) -> Snapshot:
    """The basis of a plan."""
    device, inode = token["file"]
    return Snapshot(session_id, tuple((row[0], row[1], row[2]) for row in token["rows"]), (device, inode))


def basis(reader: OpenStore, session_id: str, planned: Json | None = None) -> LiveContext:
    """The live context now, or without the messages added since a basis with the token `planned`.

    Raises SessionBusy, or what `check_basis` raises.
    """
    for _ in range(READINGS):
        # The snapshot first: then a row that changes between the two readings differs from it at the commit.
        live_snapshot = _unchanged(reader, session_id, planned) if planned else snapshot(reader, session_id)
        rows = [row for row in live_context(reader, session_id) if row.id <= live_snapshot.watermark]
        if [row.id for row in rows] == [row[0] for row in live_snapshot.rows]:
            records = (row.id for row in rows if row.role in BOOKKEEPING_ROLES)
            again = written_again(row_digests.rows_of(reader, session_id, [row.id for row in rows]).values())
            once = [row for row in rows if row.id not in again]
            repeats = [row for row in rows if row.id in again]
            return LiveContext(once, live_snapshot.sizes, token_of(live_snapshot, records), repeats)
    raise SessionBusy("The session is being rewritten just now. Try again in a moment.")


def check_basis(reader: OpenStore, session_id: str, token: Json) -> None:
    """Raise CompactionConflict when a planned row was changed or taken back since; later rows do not count."""
    _unchanged(reader, session_id, token)


def _unchanged(reader: OpenStore, session_id: str, token: Json) -> Snapshot:
    planned, now = snapshot_of(session_id, token), snapshot(reader, session_id)
    if now.file != planned.file:
        raise CompactionConflict("The store's file was replaced since this summary was made. Plan again.")
    if tuple(row for row in now.rows if row[0] <= planned.watermark) != planned.rows:
        raise CompactionConflict(
            "Messages this summary was made from were changed or taken back since. Nothing was written and the summary "
            "is kept. Plan again."
        )
    return planned


# -- edits -------------------------------------------------------------------------------------------------------------


def steps_of(token: Json, edits: Sequence[Edit]) -> list[Step]:
    """What a commit writes, in order: the edits, and the agent's own rows outside the summarised stretch."""
    named = {edit.id for edit in edits if not isinstance(edit, InsertMessage)}
    rows, records = [row[0] for row in token["rows"]], set(token["records"]) - named
    beside = _staying_records(rows, records, named)
    first = next((row_id for row_id in rows if row_id not in named and row_id not in records), None)
    steps: list[Step] = []
    for edit in edits:
        before = first if isinstance(edit, InsertMessage) else edit.id
        while beside and before is not None and beside[0] < before:
            steps.append(Clone(beside.popleft()))
        steps.append(_step(edit))
    return [*steps, *map(Clone, beside)]


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


def _handoff_place(steps: Sequence[Step]) -> tuple[int, Any]:
    """The handoff's position among the steps, and its exact content."""
    for position, step in enumerate(steps):
        if isinstance(step, New):
            return position, step.message["content"]
        if isinstance(step, CloneChanged) and step.is_handoff:
            return position, step.changes["content"]
    raise ValueError("These steps hold no handoff.")


# -- receipts ----------------------------------------------------------------------------------------------------------


def commit_of(planned: Snapshot, steps: Sequence[Step], done: BlockCommit, at: float | None = None) -> Commit:
    """The commit with its receipt."""
    receipt = {
        "handoff": done.handoff_id,
        "content": json.dumps(_handoff_place(steps)[1]),
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
            handoff_key=row_digests.handoff_key(json.loads(each.receipt["content"])),
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


def undo_receipt(undoing: Undoing, outlook: Outlook) -> Json:
    """The receipt of an undo with this outlook."""
    taken_back = {*undoing.originals, *outlook.taken_back} - set(outlook.restored)
    return {"block": list(undoing.block_ids), "taken_back": sorted(taken_back)}


def undoing_of(session_id: str, compaction: Json | IndexedBoundary) -> Undoing:
    """The data for taking back a compaction: the receipt's map original -> clone, or the one that History found."""
    if isinstance(compaction, IndexedBoundary):
        return undoing_of_boundary(session_id, compaction)
    copies = {int(original): copy for original, copy in compaction["copies"].items()}
    originals = {row_id: copies.get(row_id) for row_id in compaction["before"]} | copies
    return Undoing(session_id, compaction["handoff"], tuple(compaction["block"]), originals)


def undo_plan(reader: OpenStore, session_id: str, compaction: Json | IndexedBoundary) -> UndoPlan:
    """What taking back a compaction would do now, or why it cannot be done."""
    if isinstance(compaction, dict) and compaction["split"]:
        return UndoPlan((), (), (), IS_SPLIT)
    undoing = undoing_of(session_id, compaction)
    outlook = check_undo(reader, undoing)
    return UndoPlan(outlook.restored, outlook.hidden, outlook.later, outlook.refusal, what=undoing)


def context_before(session_id: str, compaction: Json | IndexedBoundary) -> list[int]:
    """Ids of the rows that were in context before it, in order. Raises NotBranchable if that is unknown."""
    undoing = undoing_of(session_id, compaction)
    if undoing.unmapped or not undoing.originals:
        raise NotBranchable("It is not known which messages were in context before this compaction.")
    return sorted(undoing.originals)


def wrote(reader: OpenStore, receipt: Json) -> bool:
    """Whether the row of the handoff has the content in this receipt: in a restored file another row may
    have its id.
    """
    row = read_rows(reader, [receipt["handoff"]]).get(receipt["handoff"])
    return row is not None and row.content == json.loads(receipt["content"])


def find_commit(
    reader: OpenStore, session_id: str, token: Json, edits: Sequence[Edit], recorded: Recorded, mode: str
) -> Commit | None:
    """A commit that was made and not recorded, found by the handoff's content above the planned rows."""
    planned, steps = snapshot_of(session_id, token), steps_of(token, edits)
    position, content = _handoff_place(steps)
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


def find_undo(reader: OpenStore, receipt: Json) -> Json | None:
    """The receipt of an undo whose process died before it was recorded: the block has left the context, and the earlier
    messages are there again. None where it was not undone.
    """
    rows = read_rows(reader, [*receipt["before"], receipt["handoff"]])
    handoff = rows.pop(receipt["handoff"], None)
    if handoff is None or handoff.state != "out" or all(row.state != "live" for row in rows.values()):
        return None
    return {"block": receipt["block"], "taken_back": []}
