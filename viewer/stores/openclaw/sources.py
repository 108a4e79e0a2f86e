"""Reading a session's entries by their position: from its file, or from the database of its agent."""

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
    """A `codec.EntrySource` of an open file."""

    file: BinaryIO

    def value(self, entry: TreeEntry) -> dict[str, Any] | None:
        return object_at(self.file, entry.offset, entry.length)

    def start(self, entry: TreeEntry, length: int) -> str:
        return line_at(self.file, entry.offset, min(entry.length, length)).decode("utf-8", "replace")


@contextmanager
def opened(location: SessionPlace, con: sqlite3.Connection | None) -> Iterator[EntrySource]:
    """The entries of a session, to be read by their position; `con` is to its database. Raises StoreUnavailable."""
    if con is not None:
        yield rows.RowSource(con, location.row_id)
        return
    with readable(location.path), plainly(location.path) as file:
        yield LineSource(file)


def entries_of(location: SessionPlace, con: sqlite3.Connection | None) -> tuple[Sequence[TreeEntry], str]:
    """The current entries of a session, and a text that differs when any of them does. Raises StoreUnavailable and
    sqlite3.Error.
    """
    if con is None:
        file = RECORDS.read(location.path)
        return file.records, file.state.text
    read = rows.read(con, f"{location.path} {location.state.inode}", location.row_id)
    return read.entries, read.text


def messages_of(location: SessionPlace, con: sqlite3.Connection | None, *, is_strict: bool) -> EntryMessages:
    """The current messages of a session. Raises StoreUnavailable and sqlite3.Error."""
    entries, text = entries_of(location, con)
    return transcripts.messages_of(location.cache_key, entries, text, is_strict=is_strict)
