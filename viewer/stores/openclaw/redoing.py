"""Applying an undone compaction of ours again: its entry is still there, and becomes a compaction again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from viewer.stores.changes import COVERED, Json
from viewer.stores.errors import CompactionConflict, NotRedoable
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState

from . import undoing
from .entries import TreeEntry
from .messages import EntryMessages
from .places import SessionPlace

IN_EFFECT = "This compaction is in effect."
REWRITTEN = "The line of this compaction was written anew since, by its client or somebody else: compact again."
LEFT = "The session went on from before this compaction: compact again."
NOT_AS_MEANT = "The compaction did not read back as it was meant, and was undone again. Please report this session."


@dataclass(frozen=True, slots=True)
class RedoneEntry:
    """What a redo writes: the entry that becomes a compaction again. `seen` is the state of the file when this was
    planned, None for a database, and `types` what is written into it, by offset.
    """

    entry: str
    tree_entry: TreeEntry
    seen: FileState | None
    types: Mapping[int, bytes]

    @property
    def inert(self) -> dict[int, bytes]:
        """The bytes that take it back."""
        return undoing.inert(self.types)


def planned(location: SessionPlace, messages: EntryMessages, receipt: Json) -> RedoneEntry:
    """What applying the commit with this receipt again would write. Raises NotRedoable."""
    entry = messages.tree.nodes.get(receipt["entry"])
    if entry is None:
        raise NotRedoable(undoing.GONE)
    if entry.is_compaction:
        raise NotRedoable(IN_EFFECT)
    if not entry.is_undone:
        raise NotRedoable(undoing.CHANGED)
    context = messages.context
    at = next((at for at, each in enumerate(context.path) if each is entry), None)
    if at is None:
        raise NotRedoable(LEFT)
    if any(each > at for each in (*context.boundaries, *context.notes)):
        raise NotRedoable(COVERED)
    if location.row_id:
        return RedoneEntry(entry.id, entry, None, {})
    types = _active_types(location, context.path[at : context.behind_note(at)])
    if types is None:
        raise NotRedoable(REWRITTEN)
    return RedoneEntry(entry.id, entry, location.state, types)


def _active_types(location: SessionPlace, entries: Iterable[TreeEntry]) -> dict[int, bytes] | None:
    """The bytes that make these entries count again, by offset in their file; None where one of them was rewritten
    since.
    """
    types = {}
    for at in undoing.types_in(location, entries):
        if at is None or not at[1].startswith(undoing.INERT):
            return None
        types[at[0]] = undoing.ACTIVE[len(at[1])]
    return types


def overwrite(opened: Appending, what: RedoneEntry) -> None:
    """Write it into the file. Raises CompactionConflict where the file changed since it was planned."""
    if what.seen is None or opened.state != what.seen:
        raise CompactionConflict(undoing.WRITTEN_TO)
    opened.overwrite(what.types, what.seen)


def take_off(opened: Appending, what: RedoneEntry) -> None:
    """Make it inert again, where it did not read back as intended."""
    opened.replace(what.types, what.inert)
