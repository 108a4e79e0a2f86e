"""A compaction as written, found again, and read back, in a file or a database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from viewer.stores.changes import Commit, Edit, Json
from viewer.stores.errors import CompactionConflict

from . import encode, plan, shortening
from .codec import EntrySource
from .messages import CompactedEntries, EntryMessages
from .records import TreeEntry

NOT_AS_MEANT = "What was written did not read back as it was meant, and was taken back. Please report this session."


@dataclass(frozen=True, slots=True)
class NewCompaction:
    """An entry to be written, with the edits after it, and the messages that it keeps."""

    value: Json
    kept: tuple[int, ...]
    edits: tuple[Json, ...] = ()

    @property
    def values(self) -> tuple[Json, ...]:
        """All entries, in order."""
        return (self.value, *self.edits)

    def live(self, messages: EntryMessages, compaction: CompactedEntries) -> list[int]:
        """What should be in context once it is written: the kept messages after the summary, or, edited, before the
        note.
        """
        if not compaction.entry.is_note:
            return [compaction.handoff, *self.kept]
        edited = {
            each["targetId"]: messages.tree.nodes[each["id"]].offset for each in self.edits if each["replacement"]
        }
        return [*(edited.get(plan.entry_id(messages, each), each) for each in self.kept), compaction.handoff]


def compaction_of(
    source: EntrySource | None,
    messages: EntryMessages,
    token: Json,
    edits: Sequence[Edit],
    *,
    entry_id: str,
    recorded_tokens: int | None,
    now: float,
) -> NewCompaction:
    """The compaction of these edits; `recorded_tokens` is the client's own count of tokens in context, and `source` as
    for `plan.planned_ids`. Raises CompactionConflict.
    """
    end = plan.planned_end(messages, plan.planned_ids(source, messages, token), edits)
    value = encode.compaction(
        end,
        entry_id,
        messages.tree.append_parent or None,
        plan.mark_of(token, edits),
        before=max(plan.tokens_of(messages, messages.live), recorded_tokens or 0),
        after=plan.tokens_of(messages, end.kept) + len(end.summary) // plan.CHARACTERS,
        now=now,
    )
    return NewCompaction(value, end.kept)


def shortening_of(
    source: EntrySource,
    messages: EntryMessages,
    token: Json,
    edits: Sequence[Edit],
    *,
    ids: Iterator[str],
    now: float,
) -> NewCompaction:
    """The note and the edit entries for these edits. Raises CompactionConflict."""
    shortening_plan = shortening.planned_shortening(source, messages, plan.planned_ids(source, messages, token), edits)
    parent = messages.tree.append_parent or None
    note, *others = shortening_plan.entries(messages, ids, parent, plan.mark_of(token, edits), now)
    left_out = {each for each, content in shortening_plan.contents.items() if content is None}
    return NewCompaction(note, tuple(each for each in messages.live if each not in left_out), tuple(others))


def read_back(source: EntrySource, messages: EntryMessages, entry: NewCompaction) -> Commit:
    """The commit, once the session reads as intended. Raises CompactionConflict."""
    newest = messages.compactions[-1] if messages.compactions else None
    if newest is None or newest.entry.id != entry.value["id"]:
        raise CompactionConflict(NOT_AS_MEANT)
    read = tuple(source.value(each) for each in (newest.entry, *newest.edits))
    if read != entry.values or messages.live != entry.live(messages, newest):
        raise CompactionConflict(NOT_AS_MEANT)
    return commit_of(newest)


def commit_of(compaction: CompactedEntries, at: float | None = None) -> Commit:
    """A commit as it is in the session."""
    receipt = {"handoff": compaction.handoff, "entry": compaction.entry.id, "before": list(compaction.before)}
    return Commit(compaction.handoff, compaction.handoff, compaction.handoff, receipt, at=at)


def newest_of(source: EntrySource, messages: EntryMessages, mark: str) -> CompactedEntries | None:
    """The compaction with this mark, if it is in effect."""
    return next((each for each in reversed(messages.compactions) if _mark(source, each) == mark), None)


def _mark(source: EntrySource, compaction: CompactedEntries) -> str:
    return encode.mark_in(source.value(compaction.entry)) if compaction.entry.is_compaction else ""


def entry_of(messages: EntryMessages, receipt: Json) -> TreeEntry | None:
    """The entry of a commit, on any path of the tree; None where it is no longer a compaction."""
    entry = messages.tree.nodes.get(receipt["entry"])
    return entry if entry is not None and entry.is_compaction else None


def is_in_effect(messages: EntryMessages, receipt: Json) -> bool:
    """Whether the entry of a commit is on the path from which the client continues."""
    return any(each.entry.id == receipt["entry"] for each in messages.compactions)
