"""Which handoffs open a block of their own, and which an agent carried along as a turn."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import takewhile

from .alignment import LightRow

Stamp = tuple[str, float]  # what tells one handoff from another: its text, and when it was made


def openers(rows: Sequence[LightRow], ours: Container[int]) -> tuple[list[int], set[Stamp]]:
    """Where the handoffs stand that open a block, and the stamps of those that a later block carried along as a turn.

    The text alone does not tell: a compaction that was undone and done again may write the same words, and merge them
    into the same message.
    """
    found: list[int] = []
    seen: set[Stamp] = set()
    named: dict[tuple[str, str], Stamp] = {}
    carried: set[Stamp] = set()
    for index, row in enumerate(rows):
        if not row.handoff:
            continue
        stamp = (row.handoff_key, row.time)
        if row.uid:
            stamp = named.setdefault((row.uid, row.handoff_key), stamp)
        again = (
            (row.handoff == "merged" or row.restated)
            and bool(row.uid)
            and stamp in seen
            and _stands_alone(rows, index, found)
        )
        if stamp in seen and row.id not in ours and not again:
            if row.state != "out":  # the block that carried it may have been undone since
                carried.add(stamp)
        else:
            found.append(index)
            seen.add(stamp)
    return found, carried


def _stands_alone(rows: Sequence[LightRow], index: int, found: Sequence[int]) -> bool:
    """Whether no other handoff is in the block of this one, which has a name: it was written, not carried along.

    A block is in one state when it is written, and holds nothing that has no older row.
    """
    row = rows[index]
    older = {each.uid for each in rows[:index]}
    behind = takewhile(lambda each: each.uid in older or each.handoff == "standalone", rows[index + 1 :])
    if any(each.handoff for each in behind):
        return False
    before = rows[found[-1]]
    return before.state != row.state and "out" in (before.state, row.state)
