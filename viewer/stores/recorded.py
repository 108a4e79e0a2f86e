"""What this site recorded of compactions that it wrote or took back: a store needs it to tell a session's History."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Undone(NamedTuple):
    """What is known of a compaction that was undone: the rows of its block, and those that were in context before it or
    behind it and had been taken back by then. Nothing where only the handoff was noted.
    """

    block: Collection[int] = ()
    taken_back: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class KnownBlock:
    """A block as it was written: `copies` maps each clone in it to the row it was made from, ids of rows.

    `run` is its writer's own number for it (not 0), `handoff_key` what the store's `handoff_key` says of the handoff
    that was written, and `undone` whether the block was taken back later.
    """

    run: int
    handoff_id: int
    handoff_key: str
    copies: Mapping[int, int]
    undone: bool


@dataclass(frozen=True, slots=True)
class Recorded:
    """All of it for one session and the parts before it: blocks oldest first, and what was undone, by handoff."""

    blocks: list[KnownBlock] = field(default_factory=list)
    undone: dict[int, Undone] = field(default_factory=dict)
