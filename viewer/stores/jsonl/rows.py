"""The index of a session whose messages are pieces of lines: its rows, and the places of boundaries in History."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from viewer.stores.history_types import Boundary, HistoryEntry
from viewer.stores.message import State
from viewer.stores.transcript import TranscriptIndex


class HasOriginal(Protocol):
    """A message that may be a shortened copy of another one."""

    @property
    def copy_of(self) -> int | None:
        """The message of which it is a shortened copy."""


M = TypeVar("M", bound=HasOriginal)


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A `packing.IndexRow`: a message, or a further line of a message ("out")."""

    id: int
    role: str
    state: State
    time: float
    size: int
    is_prompt: bool = False
    is_plain: bool = False


def in_order(entries: Sequence[HistoryEntry], boundaries: Sequence[Boundary]) -> tuple[HistoryEntry | Boundary, ...]:
    """The entries, with each boundary directly before the first message that its tail kept, or where it was written."""
    places = [(each.handoff_id if each.cut_id is None else each.cut_id, 0, at) for at, each in enumerate(boundaries)]
    order = sorted([*places, *((entry.id, 1, at) for at, entry in enumerate(entries))])
    return tuple(boundaries[at] if kind == 0 else entries[at] for _, kind, at in order)


def copies_of(messages: Iterable[M]) -> dict[int, list[M]]:
    """The shortened copies among these messages by the id of the original, in the order given."""
    copies: dict[int, list[M]] = {}
    for message in messages:
        if message.copy_of is not None:
            copies.setdefault(message.copy_of, []).append(message)
    return copies


def in_sent_order(index: TranscriptIndex, live: Iterable[int]) -> TranscriptIndex:
    """The index with the order in which live messages are sent, where that differs from the order of their ids."""
    order = array("i", [number for each in live if (number := index.number(each)) is not None])
    return index if list(order) == sorted(order) else replace(index, sent_order=order)
