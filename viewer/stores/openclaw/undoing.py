"""Taking a compaction back: its entry becomes one that no model is told of. Its id and place stay, and with them what
hangs on it.

In pi's file the type is overwritten where it stands, `"compaction"` by `"custom"` and blanks: no byte moves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from viewer.errors import CompactionConflict
from viewer.stores.changes import Json, UndoPlan
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState, line_at, plainly
from viewer.stores.transcript import IndexedBoundary

from .entries import COMPACTION, CUSTOM, TreeEntry
from .forms import KNOWN
from .messages import CompactedEntries, EntryMessages
from .places import SessionPlace
from .tree import tree_of

GONE = "This compaction is no longer in the session."
LEFT = "The session went on from before this compaction: it is not in effect."
COVERED = "A later compaction stands on top of this one: undo that one first."
RESET = "The session was reset here, which is no compaction and cannot be taken back here."
CHANGED = "The line of this compaction is not as clients write it: somebody changed the file."
WRITTEN_TO = "The session was written to meanwhile. Look at it, then undo again."
BEGINNING = 100  # bytes of a line in which its type stands
WAS, BECOMES = b'"compaction"', b'"custom"    '
_TYPE = re.compile(rb'\s{0,8}\{\s{0,8}"type"\s{0,8}:\s{0,8}("compaction"|"custom"    )\s{0,8},')


@dataclass(frozen=True, slots=True)
class InertEntry:
    """What an undo writes: the entry of the session that it makes inert. `seen` is how the file was when this was
    planned, and `place` where the type of the entry stands in it; both None in a database.
    """

    session_id: str
    entry: str
    seen: FileState | None
    place: int | None


def refused(reason: str) -> UndoPlan:
    return UndoPlan((), (), (), reason)


def taken(found: EntryMessages, compaction: Json | IndexedBoundary) -> CompactedEntries | None:
    """A compaction that is in effect: by its entry, or by its handoff."""
    if isinstance(compaction, IndexedBoundary):
        return next((each for each in found.compactions if each.handoff == compaction.handoff_id), None)
    return next((each for each in found.compactions if each.entry.id == compaction["entry"]), None)


def plan(place: SessionPlace, found: EntryMessages, compaction: Json | IndexedBoundary) -> UndoPlan:
    """What taking a compaction back would do now, or why it cannot be done. Raises OSError for a file that is away."""
    standing = taken(found, compaction)
    if standing is None:
        is_there = isinstance(compaction, dict) and _type_of(found, compaction["entry"]) == COMPACTION
        return refused(LEFT if is_there else GONE)
    if standing.entry.type != COMPACTION:
        return refused(RESET)
    if standing is not found.compactions[-1]:
        return refused(COVERED)
    at = None if place.row_id else place_of_type(place, standing.entry, WAS)
    if at is None and not place.row_id:
        return refused(CHANGED)
    after = without(found, standing)
    before, now = set(found.live), set(after.live)
    what = InertEntry(place.id, standing.entry.id, None if place.row_id else place.state, at)
    return UndoPlan(
        restored=tuple(each for each in after.live if each not in before),
        hidden=tuple(each for each in found.live if each not in now),
        later=tuple(each for each in after.live if each > standing.handoff and each in before),
        refusal="",
        what=what,
    )


def _type_of(found: EntryMessages, entry_id: str) -> str:
    entry = found.tree.nodes.get(entry_id)
    return entry.type if entry is not None else ""


def place_of_type(place: SessionPlace, entry: TreeEntry, kind: bytes) -> int | None:
    """Where the type of an entry stands in its file; None where its line begins otherwise. Raises OSError."""
    with plainly(place.path) as file:
        match = _TYPE.match(line_at(file, entry.offset, min(BEGINNING, entry.length)))
    return None if match is None or match[1] != kind else entry.offset + match.start(1)


def without(found: EntryMessages, standing: CompactedEntries) -> EntryMessages:
    """The messages as if this compaction were none."""
    inert: dict[str, Any] = {"type": CUSTOM, "role": "", "first_kept": "", "form": KNOWN, "is_undone": True}
    return with_entry(found, standing.entry, replace(standing.entry, **inert))


def with_entry(found: EntryMessages, old: TreeEntry, new: TreeEntry) -> EntryMessages:
    """The messages with another entry in place of one."""
    entries = [new if each is old else each for each in found.entries]
    return EntryMessages(entries, tree_of(entries, is_strict=found.tree.is_strict), found.text)


def overwrite(found: EntryMessages, place: SessionPlace, opened: Appending, what: InertEntry) -> Json:
    """Write it into pi's file; the receipt. Raises CompactionConflict where the file is another than was planned on."""
    if what.place is None or what.seen is None or opened.state != what.seen or place.state != what.seen:
        raise CompactionConflict(WRITTEN_TO)
    if taken(found, {"entry": what.entry}) is None:
        raise CompactionConflict(WRITTEN_TO)
    opened.overwrite({what.place: BECOMES}, opened.state)
    return {"entry": what.entry}
