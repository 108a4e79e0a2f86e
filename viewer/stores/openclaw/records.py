"""The entries of a session in a database, compressed or not: read by `seq`, and read on where some were appended."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any

import zstandard
from cachetools import LRUCache

from viewer.stores.jsonl.lines import LONGEST, decoded
from viewer.stores.jsonl.newest import newest_time
from viewer.stores.trees import facts, sources
from viewer.stores.trees.codec import EntrySource
from viewer.stores.trees.facts import TreeFacts
from viewer.stores.trees.messages import EntryMessages, cached_messages
from viewer.stores.trees.paths import SessionLocation
from viewer.stores.trees.records import MESSAGE, TreeEntry, entry_of
from viewer.stores.trees.strict_schema import KNOWN

from .database import columns

FIRST, LAST = 200, 60  # entries that are read from either end of a session for its facts
HELD = 60_000  # entries in this process; always enough for two sessions
_CHEAP = ("user", "toolResult")  # roles for which the tree needs no more than the client's navigation columns


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The entries of a session in the state that `text` identifies."""

    text: str
    generation: str
    entries: list[TreeEntry]


_read: LRUCache[tuple[str, str], ReadRows] = LRUCache(
    HELD, getsizeof=lambda each: min(len(each.entries) + 1, HELD // 2)
)
_lock = Lock()


def forget() -> None:
    """Read every session anew."""
    with _lock:
        _read.clear()


def read(con: sqlite3.Connection, identity: str, session_id: str) -> ReadRows:
    """The current entries of a session; `identity` differs for another file. Raises sqlite3.Error."""
    generation, newest, text = _now(con, session_id)
    text = f"{identity} {text}"
    key = identity, session_id
    with _lock:
        cached = _read.get(key)
    if cached is not None and cached.text == text:
        return cached
    last = cached.entries[-1].offset if cached is not None and cached.entries else -1
    if cached is None or cached.generation != generation or last > newest:
        entries: list[TreeEntry] = []
        last = -(2**62)
    else:
        entries = list(cached.entries)
    entries += _entries(con, session_id, last, len(entries))
    result = ReadRows(text, generation, entries)
    with _lock:
        _read[key] = result
    return result


def _now(con: sqlite3.Connection, session_id: str) -> tuple[str, int, str]:
    """The generation of a session's entries, the newest `seq` (-1 for none), and a text of both and of its times."""
    generation = ""
    if columns(con, "transcript_rewrite_watermarks"):
        query = "SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?"
        generation = next((str(row[0]) for row in con.execute(query, (session_id,))), "")
    query = "SELECT max(seq) FROM transcript_events WHERE session_id = ?"
    newest = next((row[0] for row in con.execute(query, (session_id,)) if isinstance(row[0], int)), -1)
    changed: Any = None
    if "transcript_updated_at" in columns(con, "session_windows"):
        query = "SELECT transcript_updated_at FROM session_windows WHERE session_id = ?"
        changed = next((row[0] for row in con.execute(query, (session_id,))), None)
    return generation, newest, f"{generation} {newest} {changed}"


def behind(con: sqlite3.Connection, session_id: str, entries: Sequence[TreeEntry]) -> list[TreeEntry]:
    """The entries after these. Raises sqlite3.Error."""
    return list(_entries(con, session_id, entries[-1].offset if entries else -(2**62), len(entries)))


def _entries(con: sqlite3.Connection, session_id: str, above: int, position: int) -> Iterator[TreeEntry]:
    there = columns(con, "transcript_events")
    packed = ", event_zstd, navigation_json, event_utf8_bytes" if "event_zstd" in there else ", NULL, NULL, NULL"
    query = (
        f"SELECT seq, length(CAST(event_json AS BLOB)), substr(CAST(event_json AS BLOB), 1, {LONGEST + 1}){packed}"
        " FROM transcript_events WHERE session_id = ? AND seq > ? ORDER BY seq"
    )
    for number, length, data, blob, navigation, size in con.execute(query, (session_id, above)):
        if data is not None:
            yield entry_of(_value(data), position, number, length)
        else:
            size = size if isinstance(size, int) else len(blob or b"")
            yield _navigated(navigation, position, number, size) or entry_of(
                unpacked(blob, size), position, number, size
            )
        position += 1


def _navigated(navigation: Any, position: int, number: int, size: int) -> TreeEntry | None:
    """The entry of a compressed text or result, from the client's navigation column; None for any other."""
    navigation_object = decoded(navigation.encode("utf-8", "replace")) if isinstance(navigation, str) else None
    model_object = (navigation_object or {}).get("model")
    message = model_object.get("message") if isinstance(model_object, dict) else None
    if not isinstance(model_object, dict) or not isinstance(message, dict) or message.get("role") not in _CHEAP:
        return None
    sized_message = {"message": {**message, "content": [{"type": "text", "text": " " * size}]}}
    entry = entry_of({**model_object, **sized_message}, position, number, size)
    return entry if entry.form == KNOWN and entry.type == MESSAGE else None


def _value(data: Any) -> dict[str, Any] | None:
    return decoded(data) if isinstance(data, bytes) and len(data) <= LONGEST else None


def unpacked(blob: Any, size: int) -> dict[str, Any] | None:
    """The object of a compressed entry; None for one that is damaged, or larger than an entry may be."""
    if not isinstance(blob, bytes) or not 0 <= size <= LONGEST:
        return None
    try:
        if zstandard.frame_content_size(blob) > LONGEST:
            return None
        return decoded(zstandard.ZstdDecompressor().decompress(blob, max_output_size=size or LONGEST))
    except zstandard.ZstdError:
        return None


def values(con: sqlite3.Connection, session_id: str, *, newest_first: bool, limit: int) -> Iterator[dict[str, Any]]:
    """The objects of so many entries from one end of a session. Raises sqlite3.Error."""
    packed = ", event_zstd, event_utf8_bytes" if "event_zstd" in columns(con, "transcript_events") else ", NULL, NULL"
    query = (
        f"SELECT substr(CAST(event_json AS BLOB), 1, {LONGEST + 1}){packed} FROM transcript_events"
        f" WHERE session_id = ? ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT ?"
    )
    for data, blob, size in con.execute(query, (session_id, limit)):
        value = _value(data) if data is not None else unpacked(blob, size if isinstance(size, int) else LONGEST)
        if value is not None:
            yield value


@dataclass(frozen=True)
class RowSource:
    """A `trees.codec.EntrySource` of a session in a database. Its calls raise sqlite3.Error."""

    con: sqlite3.Connection
    session_id: str

    def value(self, entry: TreeEntry) -> dict[str, Any] | None:
        data, blob, size = self._row(entry, LONGEST + 1)
        return _value(data) if data is not None else unpacked(blob, size if isinstance(size, int) else LONGEST)

    def start(self, entry: TreeEntry, length: int) -> str:
        data, blob, _ = self._row(entry, length)
        if isinstance(data, bytes):
            return data.decode("utf-8", "replace")
        return f"[compressed, {len(blob or b''):,} bytes, and damaged]"

    @cached_property
    def _packed(self) -> str:
        has_packed = "event_zstd" in columns(self.con, "transcript_events")
        return ", event_zstd, event_utf8_bytes" if has_packed else ", NULL, NULL"

    def _row(self, entry: TreeEntry, length: int) -> tuple[Any, Any, Any]:
        query = (
            f"SELECT substr(CAST(event_json AS BLOB), 1, {length}){self._packed} FROM transcript_events"
            " WHERE session_id = ? AND seq = ?"
        )
        row = self.con.execute(query, (self.session_id, entry.offset)).fetchone()
        return (None, None, None) if row is None else (row[0], row[1], row[2])


@contextmanager
def opened(location: SessionLocation, con: sqlite3.Connection | None) -> Iterator[EntrySource]:
    """The entries of a session, to be read by their position; `con` is to its database, None for one in a file. Raises
    StoreUnavailable.
    """
    if con is not None:
        yield RowSource(con, location.row_id)
        return
    with sources.opened(location) as source:
        yield source


def messages_of(location: SessionLocation, con: sqlite3.Connection | None) -> EntryMessages:
    """The current messages of a session. Raises StoreUnavailable and sqlite3.Error."""
    if con is None:
        return sources.messages_of(location, is_strict=True)
    now = read(con, f"{location.path} {location.state.inode}", location.row_id)
    return cached_messages(location.cache_key, now.entries, now.text, is_strict=True)


def facts_of(location: SessionLocation, con: sqlite3.Connection | None) -> TreeFacts:
    """The facts of a session, which is in the database of `con` or, for None, in a file. Raises OSError and
    sqlite3.Error.
    """
    if con is None:
        return facts.facts_of(location)
    return facts.known_facts(location, lambda: _facts_in(con, location))


def _facts_in(con: sqlite3.Connection, location: SessionLocation) -> TreeFacts:
    head = facts.head_of(values(con, location.row_id, newest_first=False, limit=FIRST))
    last = list(values(con, location.row_id, newest_first=True, limit=LAST))
    return replace(head, model=facts.newest_model(last) or head.model, newest=newest_time(last, facts.is_compaction))
