"""A compaction of a session in a database, taken back and applied again, inside one transaction.

What was written is read back before the transaction ends, by the same rules as on the pages.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from viewer.stores.changes import Json
from viewer.stores.errors import CompactionConflict, NotRedoable
from viewer.stores.trees import commit as tree_commit
from viewer.stores.trees import encode as tree_encode
from viewer.stores.trees import plan
from viewer.stores.trees import undo as tree_undo
from viewer.stores.trees.messages import EntryMessages
from viewer.stores.trees.paths import SessionLocation
from viewer.stores.trees.records import entry_of
from viewer.stores.trees.undo import InertEntry

from . import encode, records
from .commit import current


def undo(con: sqlite3.Connection, location: SessionLocation, home: Path, what: InertEntry, *, now: float) -> Json:
    """Make a compaction inert; returns the receipt. Raises what `encode.settled` does, and CompactionConflict."""
    session, messages, source = current(con, location, home, now)
    compaction = tree_undo.taken(messages, {"entry": what.entry})
    if compaction is None or compaction is not messages.compactions[-1]:
        raise CompactionConflict(tree_undo.WRITTEN_TO)
    value = source.value(compaction.entry) or {}
    after = tree_undo.without(messages, compaction)
    encode.rewrite(con, session, compaction.entry.offset, tree_encode.undone(value))
    most = max(plan.tokens_of(after, after.live), tree_encode.tokens_before(value))
    encode.count(con, session, tokens=most, compactions=-1)
    if _read_again(source, messages, compaction.entry.offset).live != after.live:
        raise CompactionConflict(tree_commit.NOT_AS_MEANT)
    return {"entry": what.entry}


def redo(con: sqlite3.Connection, location: SessionLocation, home: Path, receipt: Json, *, now: float) -> None:
    """Make a compaction that `undo` made inert count again. Raises what `encode.settled` does, and NotRedoable."""
    session, messages, source = current(con, location, home, now)
    entry = tree_undo.redo_planned(location, messages, receipt).tree_entry
    encode.rewrite(con, session, entry.offset, tree_encode.redone(source.value(entry) or {}))
    read = _read_again(source, messages, entry.offset)
    if not read.compactions or read.compactions[-1].entry.id != entry.id:
        raise NotRedoable(tree_undo.NOT_REDONE)
    encode.count(con, session, tokens=plan.tokens_of(read, read.live), compactions=1)


def _read_again(source: records.RowSource, messages: EntryMessages, number: int) -> EntryMessages:
    """The messages with the entry of this number as its row has it now."""
    old = messages.numbered(number)
    return tree_undo.with_entries(messages, {old: entry_of(source.value(old), old.place, number, old.length)})
