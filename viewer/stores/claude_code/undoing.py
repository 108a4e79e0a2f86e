"""Taking a compaction back: our lines are taken off where nothing came behind them; else the two records of the
compaction are written again as notes, so that the thread is what it was with all that came since.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.errors import CompactionConflict
from viewer.stores.base import Store
from viewer.stores.changes import Json, UndoPlan
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState
from viewer.stores.transcript import IndexedBoundary

from . import codec, conversations, lines, places
from .places import SessionFile
from .records import BoundaryFacts, Record
from .thread import SKIPPED_ABOVE, Tree
from .transcript import SessionMessages, conversation_of, summary_of

TOO_LARGE = (
    "The session's file is larger than 5 MB, of which the client no longer reads what stands before this compaction."
)
UNDO_LEFT = (
    "The agent wrote to the session just as this compaction was undone, so that the undo could not be taken off again. "
    "Look at the session: undone here once more, it is noted."
)


@dataclass(frozen=True, slots=True)
class AppendedUndo:
    """What an undo writes: `records` are those of the compaction, its boundary first; `leaf` is where the thread ends.
    `size` is where the file ended before the compaction, None where something came since; `live` are the messages that
    are in context then, and `seen` the file that this was planned on.
    """

    session_id: str
    boundary: str
    records: tuple[str, ...]
    leaf: str
    size: int | None
    live: tuple[int, ...]
    seen: FileState


def refused(reason: str) -> UndoPlan:
    return UndoPlan((), (), (), reason)


def plan(
    file: SessionFile, records: Sequence[Record], found: SessionMessages, compaction: Json | IndexedBoundary
) -> UndoPlan:
    """What taking a compaction back would do now, or why it cannot be done."""
    handoff = compaction.handoff_id if isinstance(compaction, IndexedBoundary) else compaction["handoff"]
    taken = next((each for each in found.boundaries if each.handoff == handoff), None)
    if taken is None:
        return refused("This compaction is no longer in the session's file.")
    if taken is not found.boundaries[-1]:
        return refused("A later compaction stands on top of this one: undo that one first.")
    boundary = taken.record.boundary
    if boundary is None:
        return refused(TOO_LARGE)
    with file.path.open("rb") as reading:
        value = codec.read_value(reading, taken.record) or {}
    summary = summary_of(found.tree, taken.record.uuid)
    own = tuple(filter(None, (taken.record.uuid, summary, *lines.copies_of(value))))
    said = (record.uuid for record in reversed(found.thread) if record.uuid not in own)
    leaf = next(said, boundary.logical_parent)
    is_last = isinstance(compaction, dict) and compaction["end"] == file.state.size
    size = compaction["start"] if isinstance(compaction, dict) and is_last else None
    added = 0 if is_last else len(lines.encoded(lines.undone(value, own, leaf, time.time())))
    if boundary.keeps_nothing and file.state.size + added > SKIPPED_ABOVE:
        return refused(TOO_LARGE)
    after = conversation_of(_noted(records, boundary, own, leaf))
    before, now = set(found.live), set(after.live)
    undoing = AppendedUndo(file.id, taken.record.uuid, own, leaf, size, tuple(after.live), file.state)
    end = found.tree.offset(taken.record.uuid)
    return UndoPlan(
        restored=tuple(each for each in after.live if each not in before),
        hidden=tuple(each for each in found.live if each not in now),
        later=tuple(each for each in after.live if each > end and each in before),
        refusal="",
        erases=size is not None,
        what=undoing,
    )


def _noted(records: Sequence[Record], boundary: BoundaryFacts, own: Sequence[str], leaf: str) -> list[Record]:
    """The records as they would be."""
    end, place = records[-1].offset + records[-1].length, len(records)
    parents = (boundary.logical_parent, *own)
    notes = [
        Record(place + at, end, 0, "system", "informational", uuid, parent)
        for at, (uuid, parent) in enumerate(zip(own, parents, strict=False))
    ]
    return [*records, *notes, Record(place + len(own), end, 0, "last-prompt", leaf=leaf)]


def undo(store: Store, file: SessionFile, opened: Appending, undoing: AppendedUndo) -> Json:
    """Write it; the receipt. What is appended is read back. Raises CompactionConflict: nothing was written then, or it
    was taken off again, or it stays and the message says so.
    """
    seen = opened.state
    if seen != undoing.seen:
        raise CompactionConflict("The session was written to meanwhile. Look at it, then undo again.")
    if undoing.size is not None:
        opened.truncate(undoing.size, seen)
    else:
        _, end = opened.append(lines.encoded(_lines(file, undoing)), seen)
        try:
            opened.read_back(lambda: conversations.of(places.find(store, file.id)).live, undoing.live)
        except Exception:
            opened.take_off(seen, end, UNDO_LEFT)
            raise
    return {"boundary": undoing.boundary}


def _lines(file: SessionFile, undoing: AppendedUndo) -> list[dict[str, object]]:
    found = conversations.of(file)
    with file.path.open("rb") as reading:
        boundary = codec.read_value(reading, found.tree.nodes[undoing.boundary])
    if boundary is None:
        raise CompactionConflict("The boundary of this compaction cannot be read any more.")
    return lines.undone(boundary, undoing.records, undoing.leaf, time.time())


def is_undone(tree: Tree, boundary: str) -> bool:
    """Whether this boundary is none any more, or gone."""
    record = tree.nodes.get(boundary)
    return record is None or not record.is_boundary
