"""Undoing a compaction: its entry becomes one that no model is sent. Its id and position stay, and so do its children.

In a file the type is overwritten in place, `"compaction"` by `"custom"` and blanks: no byte moves. A compaction that
shortened tool output consists of several entries, and the note is changed last: as long as it counts, the rest can be
taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from viewer.stores.changes import COVERED, IN_EFFECT, Json, UndoPlan
from viewer.stores.errors import CompactionConflict, NotRedoable
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState, line_at, plainly
from viewer.stores.transcript import Boundary

from .messages import CompactedEntries, EntryMessages
from .paths import SessionLocation
from .records import CUSTOM, RESET, TreeEntry
from .replay import tree_of
from .strict_schema import KNOWN

GONE = "This compaction is no longer in the session."
LEFT = "The session went on from before this compaction: it is not in effect."
RESET_HERE = "The session was reset here, which is no compaction and cannot be taken back here."
CHANGED = "The line of this compaction is not as clients write it: somebody changed the file."
WRITTEN_TO = "The session was written to meanwhile. Look at it, then undo again."
BEGINNING = 100  # bytes at the beginning of a line that contain its type
_TYPE = re.compile(
    rb'\s{0,8}\{\s{0,8}"type"\s{0,8}:\s{0,8}("compaction"|"context_edit"|"custom_message"|"custom"( {4}| {6}| {8})),'
)
INERT = b'"custom"'
ACTIVE = {len(each): each for each in (b'"compaction"', b'"context_edit"', b'"custom_message"')}  # by length


@dataclass(frozen=True, slots=True)
class InertEntry:
    """What an undo writes: the entry of the session that it makes inert. `live` are the messages in context after that,
    `seen` is the state of the file when this was planned, and `types` what is overwritten in it, by offset; for a
    database `seen` is None.
    """

    session_id: str
    entry: str
    live: tuple[int, ...]
    seen: FileState | None
    types: Mapping[int, bytes]

    @property
    def inert(self) -> dict[int, bytes]:
        """The bytes that take it back."""
        return inert(self.types)

    @property
    def active(self) -> dict[int, bytes]:
        """The bytes that put it back, the note of shortened output first: as long as it counts, the rest can be taken
        back.
        """
        return dict(reversed([*self.types.items()]))


def refused(reason: str) -> UndoPlan:
    return UndoPlan((), (), (), reason)


def taken(messages: EntryMessages, compaction: Json | Boundary) -> CompactedEntries | None:
    """A compaction that is in effect, found by its entry or by its handoff."""
    if isinstance(compaction, Boundary):
        return next((each for each in messages.compactions if each.handoff == compaction.handoff_id), None)
    return next((each for each in messages.compactions if each.entry.id == compaction["entry"]), None)


def plan(location: SessionLocation, messages: EntryMessages, compaction: Json | Boundary) -> UndoPlan:
    """What taking a compaction back would do now, or why it cannot be done. Raises OSError for a missing file."""
    in_effect = taken(messages, compaction)
    if in_effect is None:
        entry = messages.tree.nodes.get(compaction["entry"]) if isinstance(compaction, dict) else None
        return refused(LEFT if entry is not None and entry.is_compaction else GONE)
    if in_effect.entry.type == RESET:
        return refused(RESET_HERE)
    if in_effect is not messages.compactions[-1]:
        return refused(COVERED)
    types = {} if location.row_id else active_types(location, (*in_effect.edits, in_effect.entry))
    if types is None:
        return refused(CHANGED)
    after = without(messages, in_effect)
    before, now = set(messages.live), set(after.live)
    file_state = None if location.row_id else location.state
    what = InertEntry(location.id, in_effect.entry.id, tuple(after.live), file_state, types)
    return UndoPlan(
        restored=tuple(each for each in after.live if each not in before),
        hidden=tuple(each for each in messages.live if each not in now),
        later=tuple(each for each in after.live if each > in_effect.handoff and each in before),
        refusal="",
        what=what,
    )


def type_in(line: bytes) -> tuple[int, bytes] | None:
    """The position of an entry's type in its line, and the type with the blanks after it; None where the line does not
    begin as clients write it.
    """
    match = _TYPE.match(line)
    return None if match is None else (match.start(1), match[1])


def types_of(lines: Iterable[bytes], start: int) -> dict[int, bytes]:
    """The types of entries of ours by offset, in lines that begin at `start`."""
    types = {}
    for line in lines:
        if (at := type_in(line)) is not None:
            types[start + at[0]] = at[1]
        start += len(line)
    return types


def types_in(location: SessionLocation, entries: Iterable[TreeEntry]) -> Iterator[tuple[int, bytes] | None]:
    """The result of `type_in` for these entries, with offsets in their file. Raises OSError."""
    with plainly(location.path) as file:
        for entry in entries:
            type_at = type_in(line_at(file, entry.offset, min(BEGINNING, entry.length)))
            yield None if type_at is None else (entry.offset + type_at[0], type_at[1])


def inert(types: Mapping[int, bytes]) -> dict[int, bytes]:
    """What is written over these types, by offset: no byte moves."""
    return {at: INERT.ljust(len(each)) for at, each in types.items()}


def active_types(location: SessionLocation, entries: Iterable[TreeEntry]) -> dict[int, bytes] | None:
    """The types of these entries, by offset in their file; None where one is not written as clients do."""
    types = {}
    for at in types_in(location, entries):
        if at is None or at[1] not in ACTIVE.values():
            return None
        types[at[0]] = at[1]
    return types


def without(messages: EntryMessages, in_effect: CompactedEntries) -> EntryMessages:
    """The messages without the effect of this compaction."""
    inert: dict[str, Any] = {"type": CUSTOM, "role": "", "first_kept": "", "form": KNOWN, "is_undone": True}
    return with_entries(messages, {each: replace(each, **inert) for each in (in_effect.entry, *in_effect.edits)})


def with_entries(messages: EntryMessages, changed: Mapping[TreeEntry, TreeEntry]) -> EntryMessages:
    """The messages with some entries replaced."""
    new = {old.offset: each for old, each in changed.items()}
    entries = [new.get(each.offset, each) for each in messages.entries]
    return EntryMessages(entries, tree_of(entries, is_strict=messages.tree.is_strict), messages.text)


def overwrite(messages: EntryMessages, location: SessionLocation, opened: Appending, what: InertEntry) -> Json:
    """Write it into the file; returns the receipt. Raises CompactionConflict where the file changed since it was
    planned.
    """
    if what.seen is None or opened.state != what.seen or location.state != what.seen:
        raise CompactionConflict(WRITTEN_TO)
    if taken(messages, {"entry": what.entry}) is None:
        raise CompactionConflict(WRITTEN_TO)
    opened.overwrite(what.inert, what.seen)
    return {"entry": what.entry}


# -- applying it again: its entry is still there, and becomes a compaction again ---------------------------------------

REWRITTEN = "The line of this compaction was written anew since, by its client or somebody else: compact again."
WENT_ON = "The session went on from before this compaction: compact again."
NOT_REDONE = "The compaction did not read back as it was meant, and was undone again. Please report this session."


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
        return inert(self.types)


def redo_planned(location: SessionLocation, messages: EntryMessages, receipt: Json) -> RedoneEntry:
    """What applying the commit with this receipt again would write. Raises NotRedoable."""
    entry = messages.tree.nodes.get(receipt["entry"])
    if entry is None:
        raise NotRedoable(GONE)
    if entry.is_compaction:
        raise NotRedoable(IN_EFFECT)
    if not entry.is_undone:
        raise NotRedoable(CHANGED)
    context = messages.context
    at = next((at for at, each in enumerate(context.path) if each is entry), None)
    if at is None:
        raise NotRedoable(WENT_ON)
    if any(each > at for each in (*context.boundaries, *context.notes)):
        raise NotRedoable(COVERED)
    if location.row_id:
        return RedoneEntry(entry.id, entry, None, {})
    types = _types_again(location, context.path[at : context.behind_note(at)])
    if types is None:
        raise NotRedoable(REWRITTEN)
    return RedoneEntry(entry.id, entry, location.state, types)


def _types_again(location: SessionLocation, entries: Iterable[TreeEntry]) -> dict[int, bytes] | None:
    """The bytes that make these entries count again, by offset in their file; None where one of them was rewritten
    since.
    """
    types = {}
    for at in types_in(location, entries):
        if at is None or not at[1].startswith(INERT):
            return None
        types[at[0]] = ACTIVE[len(at[1])]
    return types


def overwrite_again(opened: Appending, what: RedoneEntry) -> None:
    """Write it into the file. Raises CompactionConflict where the file changed since it was planned."""
    if what.seen is None or opened.state != what.seen:
        raise CompactionConflict(WRITTEN_TO)
    opened.overwrite(what.types, what.seen)


def take_off(opened: Appending, what: RedoneEntry) -> None:
    """Make it inert again, where it did not read back as intended."""
    opened.replace(what.types, what.inert)
