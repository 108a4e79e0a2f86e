"""A compaction as it is written, found again, and read back, in a file or a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.errors import CompactionConflict
from viewer.stores.changes import Commit, Edit, Json

from . import new_entries, planned
from .codec import EntrySource
from .entries import COMPACTION, TreeEntry
from .messages import CompactedEntries, EntryMessages

NOT_AS_MEANT = (
    "What was written did not read back as it was meant, and was taken off again. Please report this session."
)


@dataclass(frozen=True, slots=True)
class NewCompaction:
    """An entry to be written, and the messages that it keeps."""

    value: Json
    kept: tuple[int, ...]


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


def read_back(source: EntrySource, found: EntryMessages, entry: NewCompaction) -> Commit:
    """The commit, once the session reads as it was meant. Raises CompactionConflict."""
    newest = found.compactions[-1] if found.compactions else None
    if (
        newest is None
        or newest.entry.id != entry.value["id"]
        or source.value(newest.entry) != entry.value
        or found.live != [newest.handoff, *entry.kept]
    ):
        raise CompactionConflict(NOT_AS_MEANT)
    return commit_of(newest)


def commit_of(made: CompactedEntries, at: float | None = None) -> Commit:
    """A commit as it stands in the session."""
    receipt = {"handoff": made.handoff, "entry": made.entry.id, "before": list(made.before)}
    return Commit(made.handoff, made.handoff, made.handoff, receipt, at=at)


def newest_of(source: EntrySource, found: EntryMessages, mark: str) -> CompactedEntries | None:
    """The compaction with this mark that is in effect."""
    return next((each for each in reversed(found.compactions) if _mark(source, each) == mark), None)


def _mark(source: EntrySource, made: CompactedEntries) -> str:
    return new_entries.mark_in(source.value(made.entry)) if made.entry.type == COMPACTION else ""


def entry_of(found: EntryMessages, receipt: Json) -> TreeEntry | None:
    """The entry of a commit, wherever it stands in the tree; None where it is a compaction no more."""
    entry = found.tree.nodes.get(receipt["entry"])
    return entry if entry is not None and entry.type == COMPACTION else None


def is_in_effect(found: EntryMessages, receipt: Json) -> bool:
    """Whether the entry of a commit is on the path that the client goes on from."""
    return any(each.entry.id == receipt["entry"] for each in found.compactions)
