"""A cache of the messages of the latest sessions."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from cachetools import LRUCache

from .entries import TreeEntry
from .messages import EntryMessages, grown
from .pi_versions import migrated
from .tree import tree_of

HELD = 60_000  # messages in this process; always enough for two sessions

_held: LRUCache[str, EntryMessages] = LRUCache(HELD, getsizeof=lambda each: min(len(each.entries) + 1, HELD // 2))
_lock = Lock()


def messages_of(key: str, entries: Sequence[TreeEntry], text: str, *, is_strict: bool) -> EntryMessages:
    """The messages of the session with this cache key, whose current entries are these. `text` differs whenever they
    do.
    """
    with _lock:
        cached = _held.get(key)
    if cached is not None and cached.text == text:
        return cached
    if not is_strict:
        entries = migrated(entries)
    result = grown(cached, entries, text) if cached is not None else None
    if result is None:
        result = EntryMessages(entries, tree_of(entries, is_strict=is_strict), text)
    with _lock:
        _held[key] = result
    return result
