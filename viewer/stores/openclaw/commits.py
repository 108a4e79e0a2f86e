"""Writing a compaction behind the end of pi's file, and finding one again that was written, in a file or a database."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from viewer.errors import CompactionConflict
from viewer.stores.base import Store
from viewer.stores.changes import Commit, Edit, Json
from viewer.stores.jsonl.append import Appending

from . import new_entries, places, planned, sources
from .codec import EntrySource
from .entries import COMPACTION, TreeEntry
from .messages import CompactedEntries, EntryMessages
from .places import SessionPlace

WRITTEN_TO = "The session's file was written to just now. Nothing was changed. Try again."
NOT_AS_MEANT = (
    "What was written did not read back as it was meant, and was taken off again. Please report this session."
)


@dataclass(frozen=True, slots=True)
class NewCompaction:
    """An entry to be written, and the messages that it keeps."""

    value: Json
    kept: tuple[int, ...]


def messages_now(store: Store, session_id: str) -> tuple[SessionPlace, EntryMessages]:
    """Where a session of pi is, and its messages, as they are now."""
    place = places.find(places.pi_sessions(store), store, session_id)
    return place, sources.messages_of(place, None, is_strict=False)


def append(
    store: Store, session_id: str, opened: Appending, token: Json, edits: Sequence[Edit], *, now: float
) -> Commit:
    """Append the line of a compaction; read it back. Raises CompactionConflict: nothing was written then, or it was
    taken off again.
    """
    seen = opened.state
    place, found = messages_now(store, session_id)
    if place.path != opened.path or place.state != seen:
        raise CompactionConflict(WRITTEN_TO)
    with sources.opened(place, None) as source:
        entry = made(source, found, token, edits, entry_id=_new_id(found), noted=None, now=now)
    opened.append_blank_first(new_entries.encoded(entry.value) + b"\n", seen)
    try:
        place, read = messages_now(store, session_id)
        with sources.opened(place, None) as source:
            return read_back(source, read, entry)
    except Exception:
        opened.truncate(seen.size, opened.state)
        raise


def _new_id(found: EntryMessages) -> str:
    """An id that no entry of the session has, as pi makes it."""
    while (made := secrets.token_hex(4)) in found.tree.nodes:
        pass
    return made


def made(
    source: EntrySource,
    found: EntryMessages,
    token: Json,
    edits: Sequence[Edit],
    *,
    entry_id: str,
    noted: int | None,
    now: float,
) -> NewCompaction:
    """The compaction that these edits ask for; `noted` are the tokens that the client takes to be in context. Raises
    CompactionConflict.
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
