"""Rows that were written twice: by two ways of the agent that each store a message, or by a client that sent it twice.

Nobody says the same at the same moment. Where a time is that of one message alone, a row that is equal to the one
directly before it but for its id and name is that message again; and in context also an equal row behind which the
times go back, as where a turn was stored anew. So is a request directly behind an equal one within a fraction of a
second. What was said twice at different times, or at times that tell nothing (after an import all rows may have one),
is two messages. Copies that a compaction made are none of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from viewer import times
from viewer.stores.message import BOOKKEEPING_ROLES

from .light_row import LightRow

AT_ONCE = 0.1  # seconds between two requests with the same words, within which nobody sends the second


def written_again(rows: Iterable[LightRow], kept: Mapping[int, int] = MappingProxyType({})) -> dict[int, int]:
    """The rows that say again what an earlier one says, each with the first of those, given rows in id order.

    Both have one state; but compactions of ours that `kept` a row (by id, with its copy) left what says it again
    under the boundary.
    """
    rows = list(rows)
    again: dict[int, int] = {}
    seen: dict[float, LightRow] = {}  # those in context, since the last handoff
    before: LightRow | None = None
    common = _common_times(rows)
    for row in rows:
        if row.handoff or row.of_compaction or row.restated or row.role in BOOKKEEPING_ROLES:
            seen, before = {}, None
            continue
        if before is not None and row.time not in common and times.known(row.time):
            said = before if _is_at_once(before, row) else None
            if said is None and row.state == "live" and (row.time < before.time or before.id in again):
                said = seen.get(row.time)
            if (
                said is not None
                and _alike(said, row)
                and (said.state == row.state or kept.get(said.id, row.id) != row.id)
            ):
                again[row.id] = again.get(said.id, said.id)
        if row.state == "live":
            seen.setdefault(row.time, row)
        before = row
    return again


def is_near(row: LightRow, newest_time: float) -> bool:
    """Whether a row that is appended may say again what the newest one says, at a later time."""
    return row.role == "user" and row.time - newest_time < AT_ONCE


def _is_at_once(row: LightRow, behind: LightRow) -> bool:
    return row.time == behind.time or (behind.role == "user" and 0 < behind.time - row.time < AT_ONCE)


def _common_times(rows: Iterable[LightRow]) -> set[float]:
    """The times that several messages have."""
    first: dict[float, LightRow] = {}
    return {row.time for row in rows if (said := first.setdefault(row.time, row)) is not row and not _alike(said, row)}


def _alike(row: LightRow, other: LightRow) -> bool:
    """Whether two rows are equal but for their ids, times, names and states."""
    return replace(row, id=other.id, time=other.time, uid=other.uid, named=other.named, state=other.state) == other
