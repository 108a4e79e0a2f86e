"""Aligns two lists of messages, those sent before and those sent after: each message once and in order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class AlignedRow(Generic[T]):
    """One row of two columns. `matched`: both sides hold the same message.

    `band` numbers the matched rows and the stretches between them; the rows of a stretch share one number and have no
    partner on the other side.
    """

    before: T | None
    after: T | None
    band: int
    matched: bool


def align(before: Sequence[T], after: Sequence[T], source_of: Mapping[T, T]) -> list[AlignedRow[T]]:
    """Rows with all of `before` on the left and all of `after` on the right, each in order.

    `source_of` maps an item of `after` to the item of `before` that it continues. As many of these pairs as possible
    share a row; if two pairs cross, one of them is split.
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
    """(position before, position after) of each pair, in the order of `after`."""
    positions = {item: at for at, item in enumerate(before)}
    for to, item in enumerate(after):
        source = source_of.get(item)
        if source is not None and source in positions:
            yield positions[source], to


def _increasing(matches: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """The largest set of these pairs that ascends on both sides: patience sorting, in n log n."""
    ends: list[int] = []  # the lowest position before at which a series of that length ends
    last: list[int] = []  # the index in `pairs` at which that series ends
    pairs: list[tuple[int, int, int]] = []  # a pair, and the index in `pairs` of the pair before it
    for at, to in matches:
        length = bisect_left(ends, at)
        ends[length : length + 1] = [at]
        pairs.append((at, to, last[length - 1] if length else -1))
        last[length : length + 1] = [len(pairs) - 1]
    series, link = [], last[-1] if last else -1
    while link >= 0:
        at, to, link = pairs[link]
        series.append((at, to))
    return series[::-1]
