"""Two lists of messages side by side: what was sent before and after, each once and in its order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class AlignedRow(Generic[T]):
    """One row of two columns. `matched` says that both sides hold the same message.

    `band` numbers the matched rows and the stretches between them; the rows of a stretch share one: what stands left
    and right in it has no partner.
    """

    before: T | None
    after: T | None
    band: int
    matched: bool


def align(before: Sequence[T], after: Sequence[T], source_of: Mapping[T, T]) -> list[AlignedRow[T]]:
    """The rows that hold all of `before` left and all of `after` right, each in order.

    `source_of` names for an item of `after` the one of `before` that it carries on. As many of these pairs as can be
    stand on one row; of two that cross each other, one stands apart.
    """
    rows: list[AlignedRow[T]] = []
    band, left, right = 0, 0, 0
    for at, to in [*_increasing(_matches(before, after, source_of)), (len(before), len(after))]:
        stretch = list(zip_longest(before[left:at], after[right:to]))
        rows += [AlignedRow(one, other, band, matched=False) for one, other in stretch]
        band += bool(stretch)
        if at < len(before) and to < len(after):
            rows.append(AlignedRow(before[at], after[to], band, matched=True))
            band += 1
        left, right = at + 1, to + 1
    return rows


def _matches(before: Sequence[T], after: Sequence[T], source_of: Mapping[T, T]) -> Iterator[tuple[int, int]]:
    """(place before, place after) of each pair, in the order of `after`."""
    place = {item: at for at, item in enumerate(before)}
    for to, item in enumerate(after):
        source = source_of.get(item)
        if source is not None and source in place:
            yield place[source], to


def _increasing(matches: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most of these pairs that ascend on both sides: patience sorting, in n log n."""
    ends: list[int] = []  # the lowest place before with which a series of that length ends
    last: list[int] = []  # where in `found` that series ends
    found: list[tuple[int, int, int]] = []  # a pair, and where in `found` the pair before it stands
    for at, to in matches:
        length = bisect_left(ends, at)
        ends[length : length + 1] = [at]
        found.append((at, to, last[length - 1] if length else -1))
        last[length : length + 1] = [len(found) - 1]
    series, link = [], last[-1] if last else -1
    while link >= 0:
        at, to, link = found[link]
        series.append((at, to))
    return series[::-1]
