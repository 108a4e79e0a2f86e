"""Rendered HTML kept in this process, so that text is rendered once however often it is looked at.

A key names everything the HTML depends on, texts by their digest. What was used longest ago goes first.
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
ENTRY = 300  # bytes that an entry takes beside its HTML
# Only so much of a text can change what is shown of it, beside its length: `blocks` and `json_value` look no further.
LOOKED_AT = 200_000

T = TypeVar("T")


class SizedCache(Generic[T]):
    """Values by key, together at most `limit` bytes. Safe between threads; two may make the same value at once."""

    def __init__(self, size_of: Callable[[T], int], limit: int = LIMIT) -> None:
        self._values: LRUCache[Hashable, T] = LRUCache(limit, getsizeof=lambda value: size_of(value) + ENTRY)
        self._lock = Lock()

    @property
    def size(self) -> int:
        """Bytes of all that is kept."""
        return int(self._values.currsize)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value kept under the key, made now if it is missing; one of more than an eighth of all is not kept."""
        with self._lock:
            found = self._values.get(key)
        if found is not None:
            return found
        made = make()
        if self._values.getsizeof(made) <= self._values.maxsize // 8:
            with self._lock:
                self._values[key] = made
        return made

    def clear(self) -> None:
        with self._lock:
            self._values.clear()


def digest(value: Any, *, in_full: bool = False) -> bytes:
    """A short name for any value of a row: what is shown of two values with the same name is the same.

    A text counts with its start and its length, which is all that is shown of it; `in_full` with every character.
    """
    if isinstance(value, str):
        text, looked_at = value, value if in_full else value[:LOOKED_AT]
    else:
        try:
            text = looked_at = json.dumps(value, ensure_ascii=False, default=repr)
        except (ValueError, RecursionError):  # nested too deep to write: named anew each time, and never found again
            return token_bytes(16)
    kind, length = type(value).__name__[:16].encode(), len(text).to_bytes(8, "big")
    return blake2b(looked_at.encode("utf-8", "surrogatepass"), digest_size=16, salt=length, person=kind).digest()
