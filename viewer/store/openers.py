"""Which handoffs open a block of their own, and which an agent carried along as a turn."""

from __future__ import annotations

from collections.abc import Container, Sequence

from .alignment import LightRow

Stamp = tuple[str, float]  # what tells one handoff from another: its text, and when it was made


def openers(rows: Sequence[LightRow], ours: Container[int]) -> tuple[list[int], set[Stamp]]:
    """Where the handoffs stand that open a block, and the stamps of those that a later block carried along as a turn.

    The text alone does not tell: a compaction that was undone and done again may write the same words.
    """
    found: list[int] = []
    seen: set[Stamp] = set()
    named: dict[tuple[str, str], Stamp] = {}
    carried: set[Stamp] = set()
    for index, row in enumerate(rows):
        stamp = (row.handoff_key, row.time)
        if row.handoff and row.uid:
            stamp = named.setdefault((row.uid, row.handoff_key), stamp)
        if row.handoff and stamp in seen and row.id not in ours:
            if row.state != "out":  # the block that carried it may have been undone since
                carried.add(stamp)
        elif row.handoff:
            found.append(index)
            seen.add(stamp)
    return found, carried
