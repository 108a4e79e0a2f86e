"""Applying a compaction of ours again that was taken back: its entry is still there, and becomes a compaction again."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.errors import CompactionConflict, NotRedoable
from viewer.stores.changes import Json
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState

from . import undoing
from .entries import COMPACTION, TreeEntry
from .messages import EntryMessages
from .places import SessionPlace

IN_EFFECT = "This compaction is in effect."
COVERED = "A later compaction was made since: this one would stand below it. Undo that one first."
REWRITTEN = "The line of this compaction was written anew since, by its client or somebody else: compact again."
LEFT = "The session went on from before this compaction: compact again."
NOT_AS_MEANT = "The compaction did not read back as it was meant, and was undone again. Please report this session."


@dataclass(frozen=True, slots=True)
class RedoneEntry:
    """What a redo writes: the entry that becomes a compaction again. `seen` is how the file was when this was planned,
    and `type_at` where the type of the entry stands in it; both None in a database.
    """

    entry: str
    tree_entry: TreeEntry
    seen: FileState | None
    type_at: int | None


def planned(place: SessionPlace, found: EntryMessages, receipt: Json) -> RedoneEntry:
    """What applying the commit with this receipt again would write. Raises NotRedoable."""
    entry = found.tree.nodes.get(receipt["entry"])
    if entry is None:
        raise NotRedoable(undoing.GONE)
    if entry.type == COMPACTION:
        raise NotRedoable(IN_EFFECT)
    if not entry.is_undone:
        raise NotRedoable(undoing.CHANGED)
    path = found.context.path
    at = next((at for at, each in enumerate(path) if each is entry), None)
    if at is None:
        raise NotRedoable(LEFT)
    if any(boundary > at for boundary in found.context.boundaries):
        raise NotRedoable(COVERED)
    if place.row_id:
        return RedoneEntry(entry.id, entry, None, None)
    type_at = undoing.place_of_type(place, entry, undoing.BECOMES)
    if type_at is None:
        raise NotRedoable(REWRITTEN)
    return RedoneEntry(entry.id, entry, place.state, type_at)


def overwrite(opened: Appending, what: RedoneEntry) -> None:
    """Write it into pi's file. Raises CompactionConflict where the file is another than was planned on."""
    if what.type_at is None or what.seen is None or opened.state != what.seen:
        raise CompactionConflict(undoing.WRITTEN_TO)
    opened.overwrite({what.type_at: undoing.WAS}, opened.state)


def take_off(opened: Appending, what: RedoneEntry) -> None:
    """Make it inert again, where it did not read back as it was meant."""
    if what.type_at is not None:
        opened.overwrite({what.type_at: undoing.BECOMES}, opened.state)
