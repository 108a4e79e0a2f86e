"""Taking a compaction back: its records are written again as notes, so that the thread is as before, with everything
added since.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.stores.base import Store
from viewer.stores.changes import COVERED, Json, UndoPlan
from viewer.stores.errors import CompactionConflict
from viewer.stores.jsonl.append import Appending, blank
from viewer.stores.jsonl.files import FileState
from viewer.stores.transcript import Boundary

from . import codec, encode, paths, presence
from .messages import SessionMessages, conversation_of, messages_of, summary_of
from .paths import SessionFile
from .records import Record
from .replay import SKIPPED_ABOVE
from .tree import Tree

ALONE = "This summary has no boundary of a compaction that an undo could take back."
TOO_LARGE = (
    "The session's file is larger than 5 MB, of which the client no longer reads what comes before this compaction."
)


@dataclass(frozen=True, slots=True)
class AppendedUndo:
    """What an undo writes: `records` are those of the compaction, its boundary first, and `parent` is their new parent;
    `leaf` is the end of the thread, `live` are the messages in context after that, `seen` is the state of the file that
    this was planned on.
    """

    session_id: str
    boundary: str
    records: tuple[str, ...]
    parent: str
    leaf: str
    live: tuple[int, ...]
    seen: FileState


def _refused(reason: str) -> UndoPlan:
    return UndoPlan((), (), (), reason)


def plan_undo(
    file: SessionFile, records: Sequence[Record], conversation: SessionMessages, compaction: Json | Boundary
) -> UndoPlan:
    """What taking a compaction back would do now, or why it cannot be done."""
    handoff = compaction.handoff_id if isinstance(compaction, Boundary) else compaction["handoff"]
    compacted = next((each for each in conversation.compactions if each.handoff == handoff), None)
    if compacted is None:
        return _refused("This compaction is no longer in the session's file.")
    if compacted is not conversation.compactions[-1]:
        return _refused(COVERED)
    boundary = compacted.record.boundary
    if boundary is None:
        return _refused(ALONE)
    with file.path.open("rb") as reading:
        value = codec.read_value(reading, compacted.record) or {}
    summary = summary_of(conversation.tree, compacted.record.uuid)
    own = tuple(filter(None, (compacted.record.uuid, summary, *encode.copies_of(value))))
    uuids = (record.uuid for record in reversed(conversation.thread) if record.uuid not in own)
    leaf = next(uuids, boundary.logical_parent)
    # Records without children stay outside of the thread, and the boundary's note is all that an undo needs.
    is_passed = any(record.parent in own for record in conversation.tree.nodes.values() if record.uuid not in own)
    parent = boundary.logical_parent if is_passed else ""
    added = len(encode.encoded(encode.undone(value, own, parent, leaf, time.time())))
    if boundary.keeps_nothing and file.state.size + added > SKIPPED_ABOVE:
        return _refused(TOO_LARGE)
    after = conversation_of(_after_undo(records, own, parent, leaf))
    if reason := presence.unknown_form_refusal(after):
        return _refused(reason)
    before, now = set(conversation.live), set(after.live)
    undoing = AppendedUndo(file.id, compacted.record.uuid, own, parent, leaf, tuple(after.live), file.state)
    end = conversation.tree.offset(compacted.record.uuid)
    return UndoPlan(
        restored=tuple(each for each in after.live if each not in before),
        hidden=tuple(each for each in conversation.live if each not in now),
        later=tuple(each for each in after.live if each > end and each in before),
        refusal="",
        what=undoing,
    )


def _after_undo(records: Sequence[Record], own: Sequence[str], parent: str, leaf: str) -> list[Record]:
    """The records as they would be after the undo."""
    end, position = records[-1].offset + records[-1].length, len(records)
    notes = [
        Record(position + at, end, 0, "system", "informational", uuid, each)
        for at, (uuid, each) in enumerate(zip(own, (parent, *own), strict=False), start=1)
    ]
    return [*records, Record(position, end, 0, "last-prompt", leaf=leaf), *notes]


def undo(store: Store, file: SessionFile, opened: Appending, undoing: AppendedUndo) -> Json:
    """Write it and read it back; returns the receipt. Raises CompactionConflict: then nothing that was
    written counts.
    """
    state = opened.state
    if state != undoing.seen:
        raise CompactionConflict("The session was written to meanwhile. Look at it, then undo again.")
    data = _lines(file, undoing)
    start = opened.append(data, state)
    with opened.taken_back({start: data}, {start: blank(data)}):
        opened.read_back(lambda: messages_of(paths.find(store, file.id)).live, undoing.live)
    return {"boundary": undoing.boundary}


def _lines(file: SessionFile, undoing: AppendedUndo) -> bytes:
    conversation = messages_of(file)
    with file.path.open("rb") as reading:
        boundary = codec.read_value(reading, conversation.tree.nodes[undoing.boundary])
    if boundary is None:
        raise CompactionConflict("The boundary of this compaction cannot be read any more.")
    return encode.encoded(encode.undone(boundary, undoing.records, undoing.parent, undoing.leaf, time.time()))


def is_undone(tree: Tree, boundary: str) -> bool:
    """Whether this boundary is gone or no longer counts."""
    record = tree.nodes.get(boundary)
    return record is None or not record.is_boundary
