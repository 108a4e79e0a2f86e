"""A cache of rendered HTML in this process, so that a text is rendered once however often it is viewed.

A key contains everything that the HTML depends on, texts by their digest. The least recently used entry is removed
first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from hashlib import blake2b
from secrets import token_bytes
from threading import Lock
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

LIMIT = 64_000_000  # bytes, about
ENTRY = 300  # bytes of an entry besides its HTML
# Besides the length, only this much of a text affects what is shown of it: `blocks` and `json_value` read no further.
LOOKED_AT = 200_000

T = TypeVar("T")


class SizedCache(Generic[T]):
    """Values by key, together at most `limit` bytes. Thread-safe; two threads may make the same value at once."""

    def __init__(self, size_of: Callable[[T], int], limit: int = LIMIT) -> None:
        self._values: LRUCache[Hashable, T] = LRUCache(limit, getsizeof=lambda value: size_of(value) + ENTRY)
        self._lock = Lock()

    @property
    def size(self) -> int:
        """Bytes of all cached values."""
        return int(self._values.currsize)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value cached under the key, made now if it is missing; a value of more than an eighth of the limit is not
        cached.
        """
        with self._lock:
            cached = self._values.get(key)
        if cached is not None:
            return cached
        value = make()
        if self._values.getsizeof(value) <= self._values.maxsize // 8:
            with self._lock:
                self._values[key] = value
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()


def digest(value: Any, *, in_full: bool = False) -> bytes:
    """A short digest of any value of a row: values with the same digest are shown in the same way.

    A text counts with its start and its length, which is all that is shown of it; with `in_full`, every character
    counts.
    """
    if isinstance(value, str):
        text, looked_at = value, value if in_full else value[:LOOKED_AT]
    else:
        try:
            text = looked_at = json.dumps(value, ensure_ascii=False, default=repr)
        except (ValueError, RecursionError):  # nested too deeply to write: a new digest each time
            return token_bytes(16)
    kind, length = type(value).__name__[:16].encode(), len(text).to_bytes(8, "big")
    return blake2b(looked_at.encode("utf-8", "surrogatepass"), digest_size=16, salt=length, person=kind).digest()
