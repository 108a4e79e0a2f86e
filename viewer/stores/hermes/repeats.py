"""Rows that were written twice: by two ways of the agent that each store a message, or by a client that sent it twice.

Nobody says the same at the same moment. Where a time is that of one message alone, a row that is equal to the one
directly before it but for its id and name is that message again; and in context also an equal row behind which the
times go back, as where a turn was stored anew. So is a request directly behind an equal one within a fraction of a
second. What was said twice at different times, or at times that tell nothing (after an import all rows may have one),
is two messages. Copies that a compaction made are none of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from viewer.stores import times
from viewer.stores.message import BOOKKEEPING_ROLES

from .known import NOTHING_NOTED, Noted
from .light_row import LightRow

AT_ONCE = 0.1  # seconds between two requests with the same words, within which nobody sends the second


def written_again(rows: Iterable[LightRow], noted: Noted = NOTHING_NOTED) -> dict[int, int]:
    """The rows that say again what an earlier one says, each with the first of those, given rows in id order.

    Both have one state, or are noted to have been in context together: a compaction of ours keeps the first of them.
    """
    rows = list(rows)
    again: dict[int, int] = {}
    seen: dict[float, list[LightRow]] = defaultdict(list)  # by time, since the last handoff
    before: LightRow | None = None
    common = _common_times(rows)
    for row in rows:
        if row.handoff or row.of_compaction or row.restated or row.role in BOOKKEEPING_ROLES:
            seen, before = defaultdict(list), None
            continue
        if before is not None and row.time not in common and times.known(row.time):
            said: LightRow | None = before
            if not _is_at_once(before, row):
                goes_back = row.time < before.time or before.id in again
                said = next((each for each in seen[row.time] if goes_back and noted.were_together(each, row)), None)
            elif before.state != row.state and not noted.were_together(before, row):
                said = None
            if said is not None and _alike(said, row):
                again[row.id] = again.get(said.id, said.id)
        if row.id not in again:
            seen[row.time].append(row)
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
