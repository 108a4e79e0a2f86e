"""A compaction of a session in a database, written inside one transaction.

What was written is read back before the transaction ends, by the same rules as on the pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from viewer.stores.changes import Commit, Edit, Json
from viewer.stores.errors import CompactionConflict
from viewer.stores.trees import commit as tree_commit
from viewer.stores.trees import plan
from viewer.stores.trees.messages import EntryMessages, grown
from viewer.stores.trees.paths import SessionLocation

from . import database, encode, records
from .encode import SettledSession


def looked_at(location: SessionLocation, token: Json) -> EntryMessages:
    """The messages of a session, after a check that the planned ones are unchanged. Raises CompactionConflict and
    StoreUnavailable.

    It reads all texts of these messages, so it runs before the database is locked.
    """
    with database.connected(location.path) as con:
        messages = records.messages_of(location, con)
        plan.planned_ids(records.RowSource(con, location.row_id), messages, token)
        return messages


def commit(
    con: sqlite3.Connection,
    location: SessionLocation,
    home: Path,
    earlier: EntryMessages,
    token: Json,
    edits: Sequence[Edit],
    *,
    now: float,
) -> Commit:
    """Write a compaction of the session at `location` in the state directory `home`, whose messages were `earlier` in
    `looked_at`. Raises what `encode.settled` does, and CompactionConflict.
    """
    session, messages, source = current(con, location, home, now)
    source_to_compare = None if messages.goes_on_from(earlier) else source
    entry = tree_commit.compaction_of(
        source_to_compare,
        messages,
        token,
        edits,
        entry_id=str(uuid4()),
        recorded_tokens=location.fields.tokens,
        now=now,
    )
    encode.append(con, session, entry.value)
    encode.count(con, session, tokens=entry.value["tokensAfter"], compactions=1)
    later = records.behind(con, session.id, messages.entries)
    read = grown(messages, [*messages.entries, *later], "")
    if read is None:
        raise CompactionConflict(tree_commit.NOT_AS_MEANT)
    return tree_commit.read_back(source, read, entry)


def current(
    con: sqlite3.Connection, location: SessionLocation, home: Path, now: float
) -> tuple[SettledSession, EntryMessages, records.RowSource]:
    """The session, its current messages, and the source they are read from."""
    session = encode.settled(con, location, home, now)
    messages = records.messages_of(location, con)
    encode.require_leaf(session, messages)
    return session, messages, records.RowSource(con, session.id)
