"""What this site recorded about compactions that it wrote or took back: a store needs it to build a
session's History.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .changes import Json


@dataclass(frozen=True, slots=True)
class Written:
    """A compaction of ours: the number of its run (not 0), the receipt, and whether it was taken back since."""

    run: int
    receipt: Json
    undone: bool


@dataclass(frozen=True, slots=True)
class Recorded:
    """All such records for one session and its earlier parts: what was written, oldest first, and the receipts of what
    was undone, by the handoff.
    """

    written: list[Written] = field(default_factory=list)
    undone: dict[int, Json] = field(default_factory=dict)
