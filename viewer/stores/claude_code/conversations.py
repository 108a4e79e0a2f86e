"""A cache of the messages of the latest sessions."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache

from . import sidechains
from .growing import grown
from .places import SessionFile
from .records import RECORDS, Record, SessionRecords
from .thread import first_read
from .transcript import SessionMessages, conversation_of

HELD = 60_000  # messages in this process, about 30 MB; always enough for two sessions

_held: LRUCache[str, tuple[SessionRecords, SessionMessages]] = LRUCache(
    HELD, getsizeof=lambda each: min(len(each[1].units) + 1, HELD // 2)
)
_lock = Lock()


def of(file: SessionFile) -> SessionMessages:
    """The current messages of a session's file. Raises StoreUnavailable."""
    read = RECORDS.read(file.path)
    key = f"{file.path}/{file.sidechain}"
    with _lock:
        cached = _held.get(key)
    if cached is not None and cached[0].state == read.state:
        return cached[1]
    new = _appended(cached[0], read) if cached and not file.sidechain else None
    conversation = None if cached is None or new is None else grown(cached[1], new, sidechain=bool(file.parent))
    conversation = conversation or conversation_of(_part(file, read.records), sidechain=bool(file.parent))
    with _lock:
        _held[key] = read, conversation
    return conversation


def records_of(file: SessionFile) -> list[Record]:
    """The lines of a session, which may be a part of its file. Raises StoreUnavailable."""
    return _part(file, RECORDS.read(file.path).records)


def _part(file: SessionFile, records: list[Record]) -> list[Record]:
    return sidechains.of(records, file.sidechain) if file.sidechain else records


def _appended(cached: SessionRecords, now: SessionRecords) -> list[Record] | None:
    """The records that were read after the cached ones; None where the cached ones have changed."""
    count = len(cached.records)
    same = 0 < count <= len(now.records) and now.records[count - 1] is cached.records[-1]
    return now.records[count:] if same and first_read(cached.records) == first_read(now.records) else None
