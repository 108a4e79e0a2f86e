"""A compaction as it is written, found again, and read back, in a file or a database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from viewer.stores.changes import Commit, Edit, Json
from viewer.stores.errors import CompactionConflict

from . import new_entries, planned, shortening
from .codec import EntrySource
from .entries import TreeEntry
from .messages import CompactedEntries, EntryMessages

NOT_AS_MEANT = "What was written did not read back as it was meant, and was taken back. Please report this session."


@dataclass(frozen=True, slots=True)
class NewCompaction:
    """An entry to be written, with the edits behind it, and the messages that it keeps."""

    value: Json
    kept: tuple[int, ...]
    edits: tuple[Json, ...] = ()

    @property
    def values(self) -> tuple[Json, ...]:
        """All entries, in order."""
        return (self.value, *self.edits)

    def live(self, found: EntryMessages, made: CompactedEntries) -> list[int]:
        """What is to be in context once it is written: behind the summary what is kept, or before the note, edited."""
        if not made.entry.is_note:
            return [made.handoff, *self.kept]
        edited = {each["targetId"]: found.tree.nodes[each["id"]].offset for each in self.edits if each["replacement"]}
        return [*(edited.get(planned.entry_id(found, each), each) for each in self.kept), made.handoff]


def compaction_of(
    source: EntrySource | None,
    found: EntryMessages,
    token: Json,
    edits: Sequence[Edit],
    *,
    entry_id: str,
    noted: int | None,
    now: float,
) -> NewCompaction:
    """The compaction that these edits ask for; `noted` are the tokens that the client takes to be in context, and
    `source` as for `planned.planned_ids`. Raises CompactionConflict.
    """
    end = planned.planned_end(found, planned.planned_ids(source, found, token), edits)
    value = new_entries.compaction(
        end,
        entry_id,
        found.tree.append_parent or None,
        planned.mark_of(token, edits),
        before=max(planned.tokens_of(found, found.live), noted or 0),
        after=planned.tokens_of(found, end.kept) + len(end.summary) // planned.CHARACTERS,
        now=now,
    )
    return NewCompaction(value, end.kept)


def shortening_of(
    source: EntrySource,
    found: EntryMessages,
    token: Json,
    edits: Sequence[Edit],
    *,
    ids: Iterator[str],
    now: float,
) -> NewCompaction:
    """The note and the edits that these edits ask for. Raises CompactionConflict."""
    asked = shortening.planned_shortening(source, found, planned.planned_ids(source, found, token), edits)
    parent = found.tree.append_parent or None
    note, *others = asked.entries(found, ids, parent, planned.mark_of(token, edits), now)
    left_out = {each for each, content in asked.contents.items() if content is None}
    return NewCompaction(note, tuple(each for each in found.live if each not in left_out), tuple(others))


def read_back(source: EntrySource, found: EntryMessages, entry: NewCompaction) -> Commit:
    """The commit, once the session reads as it was meant. Raises CompactionConflict."""
    newest = found.compactions[-1] if found.compactions else None
    if newest is None or newest.entry.id != entry.value["id"]:
        raise CompactionConflict(NOT_AS_MEANT)
    read = tuple(source.value(each) for each in (newest.entry, *newest.edits))
    if read != entry.values or found.live != entry.live(found, newest):
        raise CompactionConflict(NOT_AS_MEANT)
    return commit_of(newest)


def commit_of(made: CompactedEntries, at: float | None = None) -> Commit:
    """A commit as it is in the session."""
    receipt = {"handoff": made.handoff, "entry": made.entry.id, "before": list(made.before)}
    return Commit(made.handoff, made.handoff, made.handoff, receipt, at=at)


def newest_of(source: EntrySource, found: EntryMessages, mark: str) -> CompactedEntries | None:
    """The compaction with this mark that is in effect."""
    return next((each for each in reversed(found.compactions) if _mark(source, each) == mark), None)


def _mark(source: EntrySource, made: CompactedEntries) -> str:
    return new_entries.mark_in(source.value(made.entry)) if made.entry.is_compaction else ""


def entry_of(found: EntryMessages, receipt: Json) -> TreeEntry | None:
    """The entry of a commit, wherever it stands in the tree; None where it is a compaction no more."""
    entry = found.tree.nodes.get(receipt["entry"])
    return entry if entry is not None and entry.is_compaction else None


def is_in_effect(found: EntryMessages, receipt: Json) -> bool:
    """Whether the entry of a commit is on the path that the client goes on from."""
    return any(each.entry.id == receipt["entry"] for each in found.compactions)
