"""Undoing a compaction: its entry becomes one that no model is sent. Its id and place stay, and with them what hangs on
it.

In a file the type is overwritten where it stands, `"compaction"` by `"custom"` and blanks: no byte moves. Where tool
output was shortened it is several entries, of which the note is last: as long as it counts, the rest can be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from viewer.stores.changes import COVERED, Json, UndoPlan
from viewer.stores.errors import CompactionConflict
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState, line_at, plainly
from viewer.stores.transcript import IndexedBoundary

from .entries import CUSTOM, RESET, TreeEntry
from .forms import KNOWN
from .messages import CompactedEntries, EntryMessages
from .places import SessionPlace
from .tree import tree_of

GONE = "This compaction is no longer in the session."
LEFT = "The session went on from before this compaction: it is not in effect."
RESET_HERE = "The session was reset here, which is no compaction and cannot be taken back here."
CHANGED = "The line of this compaction is not as clients write it: somebody changed the file."
WRITTEN_TO = "The session was written to meanwhile. Look at it, then undo again."
BEGINNING = 100  # bytes of a line in which its type stands
_TYPE = re.compile(
    rb'\s{0,8}\{\s{0,8}"type"\s{0,8}:\s{0,8}("compaction"|"context_edit"|"custom_message"|"custom"( {4}| {6}| {8})),'
)
INERT = b'"custom"'
ACTIVE = {len(each): each for each in (b'"compaction"', b'"context_edit"', b'"custom_message"')}  # by length


@dataclass(frozen=True, slots=True)
class InertEntry:
    """What an undo writes: the entry of the session that it makes inert. `live` are the messages that are in context
    then, `seen` is how the file was when this was planned, and `types` what is overwritten in it, by offset; of a
    database `seen` is None.
    """

    session_id: str
    entry: str
    live: tuple[int, ...]
    seen: FileState | None
    types: Mapping[int, bytes]

    @property
    def inert(self) -> dict[int, bytes]:
        """What takes it back."""
        return inert(self.types)

    @property
    def active(self) -> dict[int, bytes]:
        """What puts it back, the note of shortened output first: as long as it counts, the rest can be taken back."""
        return dict(reversed([*self.types.items()]))


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
        entry = found.tree.nodes.get(compaction["entry"]) if isinstance(compaction, dict) else None
        return refused(LEFT if entry is not None and entry.is_compaction else GONE)
    if standing.entry.type == RESET:
        return refused(RESET_HERE)
    if standing is not found.compactions[-1]:
        return refused(COVERED)
    types = {} if place.row_id else active_types(place, (*standing.edits, standing.entry))
    if types is None:
        return refused(CHANGED)
    after = without(found, standing)
    before, now = set(found.live), set(after.live)
    seen = None if place.row_id else place.state
    what = InertEntry(place.id, standing.entry.id, tuple(after.live), seen, types)
    return UndoPlan(
        restored=tuple(each for each in after.live if each not in before),
        hidden=tuple(each for each in found.live if each not in now),
        later=tuple(each for each in after.live if each > standing.handoff and each in before),
        refusal="",
        what=what,
    )


def type_in(line: bytes) -> tuple[int, bytes] | None:
    """Where the type of an entry stands in its line, and the type with the blanks behind it; None where the line begins
    otherwise than clients write it.
    """
    match = _TYPE.match(line)
    return None if match is None else (match.start(1), match[1])


def types_of(lines: Iterable[bytes], start: int) -> dict[int, bytes]:
    """The types of entries of ours by offset, in lines that begin at `start`."""
    found = {}
    for line in lines:
        if (at := type_in(line)) is not None:
            found[start + at[0]] = at[1]
        start += len(line)
    return found


def types_in(place: SessionPlace, entries: Iterable[TreeEntry]) -> Iterator[tuple[int, bytes] | None]:
    """What `type_in` finds for these entries, by place in their file. Raises OSError."""
    with plainly(place.path) as file:
        for entry in entries:
            found = type_in(line_at(file, entry.offset, min(BEGINNING, entry.length)))
            yield None if found is None else (entry.offset + found[0], found[1])


def inert(types: Mapping[int, bytes]) -> dict[int, bytes]:
    """What is written over these types, by offset: no byte moves."""
    return {at: INERT.ljust(len(each)) for at, each in types.items()}


def active_types(place: SessionPlace, entries: Iterable[TreeEntry]) -> dict[int, bytes] | None:
    """The types of these entries, by offset in their file; None where one is written otherwise than by clients."""
    found = {}
    for at in types_in(place, entries):
        if at is None or at[1] not in ACTIVE.values():
            return None
        found[at[0]] = at[1]
    return found


def without(found: EntryMessages, standing: CompactedEntries) -> EntryMessages:
    """The messages as if this compaction were none."""
    inert: dict[str, Any] = {"type": CUSTOM, "role": "", "first_kept": "", "form": KNOWN, "is_undone": True}
    return with_entries(found, {each: replace(each, **inert) for each in (standing.entry, *standing.edits)})


def with_entries(found: EntryMessages, changed: Mapping[TreeEntry, TreeEntry]) -> EntryMessages:
    """The messages with other entries in place of some."""
    new = {old.offset: each for old, each in changed.items()}
    entries = [new.get(each.offset, each) for each in found.entries]
    return EntryMessages(entries, tree_of(entries, is_strict=found.tree.is_strict), found.text)


def overwrite(found: EntryMessages, place: SessionPlace, opened: Appending, what: InertEntry) -> Json:
    """Write it into the file; the receipt. Raises CompactionConflict where the file is another than was planned on."""
    if what.seen is None or opened.state != what.seen or place.state != what.seen:
        raise CompactionConflict(WRITTEN_TO)
    if taken(found, {"entry": what.entry}) is None:
        raise CompactionConflict(WRITTEN_TO)
    opened.overwrite(what.inert, what.seen)
    return {"entry": what.entry}
