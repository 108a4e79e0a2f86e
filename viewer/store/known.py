"""Blocks that are known for certain, because whoever wrote them kept the map of copies: our own compactions.

What is known is held against the rows before it is believed: the owner may have deleted rows, or another file may stand
under the store's name (a backup from before, where other rows have these ids).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .alignment import LightRow


class Undone(NamedTuple):
    """What is known of a compaction that was undone: the rows of its block, and those that were live before it and had
    been taken back by then. Nothing where only the handoff was noted.
    """

    block: Collection[int] = ()
    taken_back: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """A block as it was written: `copies` maps each clone in it to the row it was made from, ids of rows.

    `run` is its writer's own number for it (not 0), `handoff_key` what `light.handoff_key` says of the handoff that
    was written, and `undone` whether the block was taken back later.
    """

    run: int
    handoff_id: int
    handoff_key: str
    copies: Mapping[int, int]
    undone: bool


def borne_out(known: Iterable[KnownBlock], rows: Sequence[LightRow]) -> dict[int, KnownBlock]:
    """Those blocks that these rows still are, by handoff; of two that claim one handoff, the later in `known`."""
    by_id = {row.id: row for row in rows}
    return {block.handoff_id: block for block in known if _is_there(block, by_id)}


def still_out(undone: Mapping[int, Undone], rows: Sequence[LightRow]) -> dict[int, Undone]:
    """What was undone, by handoff: the handoff alone where rows of the block are in context again."""
    kept = {row.id for row in rows if row.state != "out"}
    return {handoff: Undone() if kept.intersection(each.block) else each for handoff, each in undone.items()}


def _is_there(block: KnownBlock, rows: Mapping[int, LightRow]) -> bool:
    """Whether the handoff says what was written, and every clone still there is one of the row it was made from."""
    handoff = rows.get(block.handoff_id)
    if handoff is None or handoff.handoff_key != block.handoff_key:
        return False
    pairs = [(rows.get(copy), rows.get(source)) for copy, source in block.copies.items()]
    return all(_alike(copy, source) for copy, source in pairs if copy and source)


def _alike(copy: LightRow, source: LightRow) -> bool:
    """What no clone changes (`writing`): everything but content, calls and flags."""
    return (copy.role, copy.tool_call_id, copy.time) == (source.role, source.tool_call_id, source.time)
