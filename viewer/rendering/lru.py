"""Rendered HTML kept in this process, so that text is rendered once however often it is looked at.

A key names everything the HTML depends on, texts by their digest. What was used longest ago goes first.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from hashlib import blake2b
from secrets import token_bytes
from threading import Lock
from typing import Any, Generic, TypeVar

LIMIT = 64_000_000  # bytes, about
ENTRY = 300  # bytes that an entry takes beside its HTML
# Only so much of a text can change what is shown of it, beside its length: `blocks` and `json_value` look no further.
LOOKED_AT = 200_000

T = TypeVar("T")


@dataclass(slots=True)
class Shelf(Generic[T]):
    """Values by key, together at most `limit` bytes. Safe between threads; two may make the same value at once."""

    size_of: Callable[[T], int]
    limit: int = LIMIT
    held: int = 0
    _values: OrderedDict[Hashable, T] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value kept under the key, made now if there is none."""
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                return found
        made = make()
        size = self.size_of(made) + ENTRY
        if size > self.limit // 8:
            return made
        with self._lock:
            if key not in self._values:
                self._values[key] = made
                self.held += size
            while self.held > self.limit:
                self.held -= self.size_of(self._values.popitem(last=False)[1]) + ENTRY
        return made

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.held = 0


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
