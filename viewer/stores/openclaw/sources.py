"""Reading a session's entries by their place: out of its file, or out of the database of its agent."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from viewer.stores.jsonl.files import RecordCache, line_at, plainly, readable
from viewer.stores.jsonl.lines import object_at

from . import rows, transcripts
from .codec import EntrySource
from .entries import COMPACTION, TreeEntry, record_of
from .messages import EntryMessages
from .places import SessionPlace

RECORDS: RecordCache[TreeEntry] = RecordCache(
    record_of, watched=lambda entry: entry.type == COMPACTION or entry.is_undone or entry.is_marked
)


@dataclass(frozen=True)
class LineSource:
    """A `codec.EntrySource` of a file that is open."""

    file: BinaryIO

    def value(self, entry: TreeEntry) -> dict[str, Any] | None:
        return object_at(self.file, entry.offset, entry.length)

    def start(self, entry: TreeEntry, length: int) -> str:
        return line_at(self.file, entry.offset, min(entry.length, length)).decode("utf-8", "replace")


@contextmanager
def opened(place: SessionPlace, con: sqlite3.Connection | None) -> Iterator[EntrySource]:
    """The entries of a session, to be read by their place; `con` is to its database. Raises StoreUnavailable."""
    if con is not None:
        yield rows.RowSource(con, place.row_id)
        return
    with readable(place.path), plainly(place.path) as file:
        yield LineSource(file)


def entries_of(place: SessionPlace, con: sqlite3.Connection | None) -> tuple[Sequence[TreeEntry], str]:
    """The entries of a session now, and a text that is another one when any of them is. Raises StoreUnavailable and
    sqlite3.Error.
    """
    if con is None:
        found = RECORDS.read(place.path)
        return found.records, found.state.text
    read = rows.read(con, f"{place.path} {place.state.inode}", place.row_id)
    return read.entries, read.text


def messages_of(place: SessionPlace, con: sqlite3.Connection | None, *, is_strict: bool) -> EntryMessages:
    """The messages of a session now. Raises StoreUnavailable and sqlite3.Error."""
    entries, text = entries_of(place, con)
    return transcripts.messages_of(place.cache_key, entries, text, is_strict=is_strict)
