"""Long lists of values, split into pieces that fit into one query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")

CHUNK = 500  # bound values a query; old builds of SQLite take 999


def chunks(ids: Sequence[T]) -> Iterable[Sequence[T]]:
    """`ids` in pieces short enough for one query."""
    return (ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK))
