"""Compactions of sessions in a database: written, taken back, and applied again, inside one transaction.

What was written is read back before the transaction ends, by the same rules as on the pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from viewer.stores.changes import Commit, Edit, Json
from viewer.stores.errors import CompactionConflict, NotRedoable

from . import commits, database, new_entries, planned, redoing, row_changes, rows, sources, undoing
from .entries import entry_of
from .messages import EntryMessages, grown
from .places import SessionPlace
from .row_changes import SettledSession
from .undoing import InertEntry


def looked_at(location: SessionPlace, token: Json) -> EntryMessages:
    """The messages of a session, after a check that the planned ones are unchanged. Raises CompactionConflict and
    StoreUnavailable.

    It reads all texts of these messages, so it runs before the database is locked.
    """
    with database.connected(location.path) as con:
        messages = sources.messages_of(location, con, is_strict=True)
        planned.planned_ids(rows.RowSource(con, location.row_id), messages, token)
        return messages


def commit(
    con: sqlite3.Connection,
    location: SessionPlace,
    home: Path,
    earlier: EntryMessages,
    token: Json,
    edits: Sequence[Edit],
    *,
    now: float,
) -> Commit:
    """Write a compaction of the session at `location` in the state directory `home`, whose messages were `earlier` in
    `looked_at`. Raises what `row_changes.settled` does, and CompactionConflict.
    """
    session, messages, source = _current(con, location, home, now)
    source_to_compare = None if messages.goes_on_from(earlier) else source
    entry = commits.compaction_of(
        source_to_compare, messages, token, edits, entry_id=str(uuid4()), recorded_tokens=location.noted.tokens, now=now
    )
    row_changes.append(con, session, entry.value)
    row_changes.count(con, session, tokens=entry.value["tokensAfter"], compactions=1)
    later = rows.behind(con, session.id, messages.entries)
    read = grown(messages, [*messages.entries, *later], "")
    if read is None:
        raise CompactionConflict(commits.NOT_AS_MEANT)
    return commits.read_back(source, read, entry)


def undo(con: sqlite3.Connection, location: SessionPlace, home: Path, what: InertEntry, *, now: float) -> Json:
    """Make a compaction inert; returns the receipt. Raises what `row_changes.settled` does, and CompactionConflict."""
    session, messages, source = _current(con, location, home, now)
    compaction = undoing.taken(messages, {"entry": what.entry})
    if compaction is None or compaction is not messages.compactions[-1]:
        raise CompactionConflict(undoing.WRITTEN_TO)
    value = source.value(compaction.entry) or {}
    after = undoing.without(messages, compaction)
    row_changes.rewrite(con, session, compaction.entry.offset, new_entries.undone(value))
    most = max(planned.tokens_of(after, after.live), new_entries.tokens_before(value))
    row_changes.count(con, session, tokens=most, compactions=-1)
    if _read_again(source, messages, compaction.entry.offset).live != after.live:
        raise CompactionConflict(commits.NOT_AS_MEANT)
    return {"entry": what.entry}


def redo(con: sqlite3.Connection, location: SessionPlace, home: Path, receipt: Json, *, now: float) -> None:
    """Make a compaction that `undo` made inert count again. Raises what `row_changes.settled` does, and NotRedoable."""
    session, messages, source = _current(con, location, home, now)
    entry = redoing.planned(location, messages, receipt).tree_entry
    row_changes.rewrite(con, session, entry.offset, new_entries.redone(source.value(entry) or {}))
    read = _read_again(source, messages, entry.offset)
    if not read.compactions or read.compactions[-1].entry.id != entry.id:
        raise NotRedoable(redoing.NOT_AS_MEANT)
    row_changes.count(con, session, tokens=planned.tokens_of(read, read.live), compactions=1)


def _current(
    con: sqlite3.Connection, location: SessionPlace, home: Path, now: float
) -> tuple[SettledSession, EntryMessages, rows.RowSource]:
    """The session, its current messages, and the source they are read from."""
    session = row_changes.settled(con, location, home, now)
    messages = sources.messages_of(location, con, is_strict=True)
    row_changes.require_leaf(session, messages)
    return session, messages, rows.RowSource(con, session.id)


def _read_again(source: rows.RowSource, messages: EntryMessages, number: int) -> EntryMessages:
    """The messages with the entry of this number as its row has it now."""
    old = messages.numbered(number)
    return undoing.with_entries(messages, {old: entry_of(source.value(old), old.place, number, old.length)})
