"""The messages of the sessions that were looked at last."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache

from . import sidechains
from .growing import grown
from .places import SessionFile
from .records import RECORDS, Record, SessionRecords
from .thread import first_read
from .transcript import SessionMessages, conversation_of

HELD = 60_000  # messages in this process, about 30 MB; of two sessions in any case

_held: LRUCache[str, tuple[SessionRecords, SessionMessages]] = LRUCache(
    HELD, getsizeof=lambda each: min(len(each[1].units) + 1, HELD // 2)
)
_lock = Lock()


def of(file: SessionFile) -> SessionMessages:
    """The messages of a session's file as it is now. Raises StoreUnavailable."""
    read = RECORDS.read(file.path)
    key = f"{file.path}/{file.sidechain}"
    with _lock:
        known = _held.get(key)
    if known is not None and known[0].state == read.state:
        return known[1]
    new = _appended(known[0], read) if known and not file.sidechain else None
    found = None if known is None or new is None else grown(known[1], new, sidechain=bool(file.parent))
    found = found or conversation_of(_part(file, read.records), sidechain=bool(file.parent))
    with _lock:
        _held[key] = read, found
    return found


def records_of(file: SessionFile) -> list[Record]:
    """The lines of a session, which may be a part of its file. Raises StoreUnavailable."""
    return _part(file, RECORDS.read(file.path).records)


def _part(file: SessionFile, records: list[Record]) -> list[Record]:
    return sidechains.of(records, file.sidechain) if file.sidechain else records


def _appended(known: SessionRecords, now: SessionRecords) -> list[Record] | None:
    """The records that were read behind those known; None where those are others by now."""
    count = len(known.records)
    same = 0 < count <= len(now.records) and now.records[count - 1] is known.records[-1]
    return now.records[count:] if same and first_read(known.records) == first_read(now.records) else None
