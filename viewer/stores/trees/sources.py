"""Reading a session's entries by their position from its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from viewer.stores.jsonl.files import RecordCache, line_at, plainly, readable
from viewer.stores.jsonl.lines import object_at

from .codec import EntrySource
from .messages import EntryMessages, cached_messages
from .paths import SessionLocation
from .records import COMPACTION, TreeEntry, record_of

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
def opened(location: SessionLocation) -> Iterator[EntrySource]:
    """The entries of a session, to be read by their position. Raises StoreUnavailable."""
    with readable(location.path), plainly(location.path) as file:
        yield LineSource(file)


def entries_of(location: SessionLocation) -> tuple[Sequence[TreeEntry], str]:
    """The current entries of a session, and a text that differs when any of them does. Raises StoreUnavailable."""
    file = RECORDS.read(location.path)
    return file.records, file.state.text


def messages_of(location: SessionLocation, *, is_strict: bool) -> EntryMessages:
    """The current messages of a session. Raises StoreUnavailable."""
    entries, text = entries_of(location)
    return cached_messages(location.cache_key, entries, text, is_strict=is_strict)
