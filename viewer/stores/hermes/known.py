"""Blocks that are known for certain, because their writer kept the map of copies: our own compactions.

Such a record is compared with the rows before it is used: the agent may have deleted rows, or another file may have
taken the store's place (an older backup, in which other rows have these ids).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from viewer.stores.hermes.records import LightRow


class KnownUndone(NamedTuple):
    """The record of a compaction that was undone: the rows of its block, and the rows before or after it that had been
    taken back by then. Both are empty where only the handoff was recorded.
    """

    block: Collection[int] = ()
    taken_back: Collection[int] = ()


NOT_KNOWN = KnownUndone()


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """A block as it was written: `copies` maps each clone in it to the row it was made from, ids of rows.

    `run` is its writer's own number for it (not 0), `handoff_key` identifies the text of the handoff that was written
    (`LightRow.handoff_key`), `undone` says whether the block was taken back later, and `before` are the rows that were
    in context when it was written.
    """

    run: int
    handoff_id: int
    handoff_key: str
    copies: Mapping[int, int]
    undone: bool
    before: Collection[int] = ()


class Noted(NamedTuple):
    """What is known for certain about a session's compactions, by handoff, and what follows for its rows, by id:
    `in_blocks` are rows of blocks that are known completely; `taken_back` had been taken back when a compaction near
    them was undone; `in_context` were in context when we compacted, whatever their states are now. `deleted` are the
    blocks of ours that were in effect when the agent deleted their handoffs. `found_by` has for each row the
    compactions of ours that found it in context.
    """

    ours: dict[int, KnownBlock]
    undone: dict[int, KnownUndone]
    in_blocks: set[int]
    taken_back: set[int]
    in_context: set[int]
    deleted: list[KnownBlock]
    found_by: Mapping[int, frozenset[int]]

    def were_together(self, row: LightRow, other: LightRow) -> bool:
        """Whether both rows are known to be, or to have been, in context at one time: then neither is a copy of the
        other.
        """
        if row.state == other.state == "live":
            return True
        none: frozenset[int] = frozenset()
        return not self.found_by.get(row.id, none).isdisjoint(self.found_by.get(other.id, none))


NOTHING_NOTED = Noted({}, {}, set(), set(), set(), [], {})


def borne_out(known: Iterable[KnownBlock], undone: Mapping[int, KnownUndone], rows: Sequence[LightRow]) -> Noted:
    """The records that match these rows. Of two blocks with one handoff, the later in `known` counts; one whose handoff
    was deleted still says what it was made from. For an undone compaction only the handoff remains where rows of its
    block are in context again.
    """
    by_id = {row.id: row for row in rows}
    blocks = list(known)
    ours = {block.handoff_id: block for block in blocks if _is_there(block, by_id)}
    in_effect = {row.id for row in rows if row.state != "out"}
    out = {handoff: KnownUndone() if in_effect.intersection(each.block) else each for handoff, each in undone.items()}
    deleted = [block for block in blocks if block.handoff_id not in by_id and not block.undone]
    return Noted(
        ours,
        out,
        {*chain(*(block.copies for block in ours.values()), *(each.block for each in out.values()))},
        {*chain(*(each.taken_back for each in out.values()))},
        {source for block in (*deleted, *ours.values()) if not block.undone for source in block.copies.values()},
        deleted,
        _found_by(ours.values()),
    )


def _found_by(blocks: Iterable[KnownBlock]) -> dict[int, frozenset[int]]:
    handoffs_by_row: dict[int, frozenset[int]] = {}
    for block in blocks:
        handoff = frozenset((block.handoff_id,))
        for row_id in block.before:
            handoffs_by_row[row_id] = handoffs_by_row.get(row_id, handoff) | handoff
    return handoffs_by_row


def _is_there(block: KnownBlock, rows: Mapping[int, LightRow]) -> bool:
    """Whether the handoff has the text that was written, and every remaining clone is one of the row it
    was made from.
    """
    handoff = rows.get(block.handoff_id)
    if handoff is None or handoff.handoff_key != block.handoff_key:
        return False
    pairs = [(rows.get(copy), rows.get(source)) for copy, source in block.copies.items()]
    return all(_alike(copy, source) for copy, source in pairs if copy and source)


def _alike(copy: LightRow, source: LightRow) -> bool:
    """Compares what no clone changes (`writing`): everything but content, calls and flags."""
    return (copy.role, copy.tool_call_id, copy.time) == (source.role, source.tool_call_id, source.time)
