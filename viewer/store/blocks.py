"""A block, the rows that one compaction inserted, and what follows from its copies."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from .alignment import LightRow, Pair


class Block(NamedTuple):
    """The rows that a compaction inserted, and the copies among them: before the handoff, and from it on."""

    rows: list[LightRow]
    head: list[Pair]
    tail: list[Pair]


def first_kept(block: Block, message_of: Mapping[int, int], away: Sequence[int]) -> int | None:
    """The first message of the stretch that the tail kept, given those that were summarised away, in order. One that
    was taken from inside what was summarised, to stand before the rest, does not count.
    """
    kept = [message_of[row.id] for copy, row in block.tail if row.id in message_of and not copy.restated]
    while len(kept) > 1 and bisect(away, kept[0]) < bisect(away, kept[1]):
        kept = kept[1:]
    return kept[0] if kept else None


def slipped(generation: Sequence[LightRow], block: Block) -> list[LightRow]:
    """Rows of the generation that this compaction summarised and marked as superseded.

    The agent counts the originals of its tail, and one too many for each message that it merged into another
    (`hermes_state_coverage`, schema 31). They stand before those originals, and were not taken back: that begins with a
    user's row.
    """
    most = sum(len(row.absorbed) or row.restated for row in block.rows)
    copied = {source.id for _, source in (*block.head, *block.tail)}
    kept = {source.id for copy, source in block.tail if not copy.restated}
    first = next((at for at, row in enumerate(generation) if row.id in kept and row.state == "out"), 0)
    run = takewhile(lambda row: row.state == "out" and row.id not in copied, reversed(generation[:first]))
    lost = list(takewhile(lambda row: row.role != "user", list(run)[::-1]))
    return lost if len(lost) <= most else []


def shorter(row: LightRow, full: LightRow) -> bool:
    """Whether `row` says less than `full`: smaller, with another text or calls, or cut behind an equal start."""
    return row.size < full.size and (row.text != full.text or row.calls != full.calls or row.size < 0.9 * full.size)
