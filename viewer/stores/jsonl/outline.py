"""The index of a session whose messages are pieces of lines: its rows, and where boundaries stand in History."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.stores.history_types import Boundary, HistoryEntry
from viewer.stores.message import State


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A `packing.IndexRow`: a message, or a further line of one ("out")."""

    id: int
    role: str
    state: State
    time: float
    size: int
    is_prompt: bool = False
    is_plain: bool = False


def in_order(entries: Sequence[HistoryEntry], boundaries: Sequence[Boundary]) -> tuple[HistoryEntry | Boundary, ...]:
    """Each boundary directly before the first message that its tail kept, or where it was written."""
    places = [(each.handoff_id if each.cut_id is None else each.cut_id, 0, at) for at, each in enumerate(boundaries)]
    order = sorted([*places, *((entry.id, 1, at) for at, entry in enumerate(entries))])
    return tuple(boundaries[at] if kind == 0 else entries[at] for _, kind, at in order)
