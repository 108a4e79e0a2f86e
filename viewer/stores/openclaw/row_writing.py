"""Compactions of sessions in a database: one is written, taken back, and applied again, inside one transaction.

What was written is read back before the transaction ends, by the rules that show sessions.
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


def looked_at(place: SessionPlace, token: Json) -> EntryMessages:
    """The messages of a session, once what was planned on is found in them as it was. Raises CompactionConflict and
    StoreUnavailable.

    This reads all that they say, so it is done before the database is locked.
    """
    with database.connected(place.path) as con:
        found = sources.messages_of(place, con, is_strict=True)
        planned.planned_ids(rows.RowSource(con, place.row_id), found, token)
        return found


def commit(
    con: sqlite3.Connection,
    place: SessionPlace,
    home: Path,
    seen: EntryMessages,
    token: Json,
    edits: Sequence[Edit],
    *,
    now: float,
) -> Commit:
    """Write a compaction of the session at a place in the state directory `home`, whose messages were `seen` by
    `looked_at`. Raises what `row_changes.settled` does, and CompactionConflict.
    """
    session, found, source = _begun(con, place, home, now)
    anew = None if found.goes_on_from(seen) else source
    entry = commits.compaction_of(anew, found, token, edits, entry_id=str(uuid4()), noted=place.noted.tokens, now=now)
    row_changes.append(con, session, entry.value)
    row_changes.count(con, session, tokens=entry.value["tokensAfter"], compactions=1)
    later = rows.behind(con, session.id, found.entries)
    read = grown(found, [*found.entries, *later], "")
    if read is None:
        raise CompactionConflict(commits.NOT_AS_MEANT)
    return commits.read_back(source, read, entry)


def undo(con: sqlite3.Connection, place: SessionPlace, home: Path, what: InertEntry, *, now: float) -> Json:
    """Make a compaction inert; the receipt. Raises what `row_changes.settled` does, and CompactionConflict."""
    session, found, source = _begun(con, place, home, now)
    made = undoing.taken(found, {"entry": what.entry})
    if made is None or made is not found.compactions[-1]:
        raise CompactionConflict(undoing.WRITTEN_TO)
    value = source.value(made.entry) or {}
    after = undoing.without(found, made)
    row_changes.rewrite(con, session, made.entry.offset, new_entries.undone(value))
    most = max(planned.tokens_of(after, after.live), new_entries.tokens_before(value))
    row_changes.count(con, session, tokens=most, compactions=-1)
    if _read_again(source, found, made.entry.offset).live != after.live:
        raise CompactionConflict(commits.NOT_AS_MEANT)
    return {"entry": what.entry}


def redo(con: sqlite3.Connection, place: SessionPlace, home: Path, receipt: Json, *, now: float) -> None:
    """Make a compaction that `undo` made inert count again. Raises what `row_changes.settled` does, and NotRedoable."""
    session, found, source = _begun(con, place, home, now)
    entry = redoing.planned(place, found, receipt).tree_entry
    row_changes.rewrite(con, session, entry.offset, new_entries.redone(source.value(entry) or {}))
    read = _read_again(source, found, entry.offset)
    if not read.compactions or read.compactions[-1].entry.id != entry.id:
        raise NotRedoable(redoing.NOT_AS_MEANT)
    row_changes.count(con, session, tokens=planned.tokens_of(read, read.live), compactions=1)


def _begun(
    con: sqlite3.Connection, place: SessionPlace, home: Path, now: float
) -> tuple[SettledSession, EntryMessages, rows.RowSource]:
    """The session, its messages as they are now, and where they are read."""
    session = row_changes.settled(con, place, home, now)
    found = sources.messages_of(place, con, is_strict=True)
    row_changes.require_leaf(session, found)
    return session, found, rows.RowSource(con, session.id)


def _read_again(source: rows.RowSource, found: EntryMessages, number: int) -> EntryMessages:
    """The messages with the entry of this number as it stands in its row now."""
    old = found.numbered(number)
    return undoing.with_entries(found, {old: entry_of(source.value(old), old.place, number, old.length)})
