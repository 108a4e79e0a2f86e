"""The messages of the sessions that were looked at last."""

from __future__ import annotations

from threading import Lock

from cachetools import LRUCache

from .places import SessionFile
from .records import RECORDS
from .transcript import Conversation, conversation_of

HELD = 300_000  # messages in this process, about 150 MB

_held: LRUCache[str, tuple[str, Conversation]] = LRUCache(
    HELD, getsizeof=lambda each: min(len(each[1].units) + 1, HELD)
)
_lock = Lock()


def of(file: SessionFile) -> Conversation:
    """The messages of a session's file as it is now. Raises StoreUnavailable."""
    read = RECORDS.read(file.path)
    with _lock:
        known = _held.get(str(file.path))
    if known is not None and known[0] == read.state.text:
        return known[1]
    found = conversation_of(read.records, sidechain=bool(file.parent))
    with _lock:
        _held[str(file.path)] = read.state.text, found
    return found
