"""Rows that were written twice: by two parts of the agent that each store a message, or by a client that sent it twice.

Nobody sends the same message twice at the same moment. Where a time belongs to one message only, a row that equals the
one directly before it except for its id and name is that message again; in context also an equal row after which the
times go back, as where a turn was stored anew. So is a request directly after an equal one within a fraction of a
second, but not a microsecond after it: that is the moment of a write, which stored what was said at other times. Equal
messages at different times, or at times that identify nothing (after an import all rows may have one), are two
messages. Copies that a compaction made do not count here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from viewer import times
from viewer.stores.message import BOOKKEEPING_ROLES
from viewer.stores.packing import HistoryParts
from viewer.stores.transcript import HistoryEntry

from .known import NOTHING_NOTED, Noted
from .records import STEP, LightRow

AT_ONCE = 0.1  # seconds between two requests with the same words, within which nobody sends the second


def written_again(rows: Iterable[LightRow], noted: Noted = NOTHING_NOTED) -> dict[int, int]:
    """The rows that repeat an earlier one, each with the first of those, given rows in id order.

    Both have one state, or are recorded to have been in context together: a compaction of ours keeps the first of them.
    """
    rows = list(rows)
    again: dict[int, int] = {}
    seen_rows: dict[float, list[LightRow]] = defaultdict(list)  # by time, since the last handoff
    before: LightRow | None = None
    common = _common_times(rows)
    for row in rows:
        if row.handoff or row.of_compaction or row.restated or row.role in BOOKKEEPING_ROLES:
            seen_rows, before = defaultdict(list), None
            continue
        if before is not None and row.time not in common and times.known(row.time):
            earlier: LightRow | None = before
            if not _is_at_once(before, row):
                goes_back = row.time < before.time or before.id in again
                earlier = next(
                    (each for each in seen_rows[row.time] if goes_back and noted.were_together(each, row)), None
                )
            elif before.state != row.state and not noted.were_together(before, row):
                earlier = None
            if earlier is not None and _alike(earlier, row):
                again[row.id] = again.get(earlier.id, earlier.id)
        if row.id not in again:
            seen_rows[row.time].append(row)
        before = row
    return again


def with_repeats(parts: HistoryParts, rows: Iterable[LightRow], again: Mapping[int, int]) -> HistoryParts:
    """The parts with the rows that were written again (row -> the first such row), each at its first one."""
    repeats: dict[int, list[int]] = {}
    for row_id, first in again.items():
        repeats.setdefault(first, []).append(row_id)
    live = {row.id for row in rows if row.state == "live" and row.id in again}

    def extended_ids(ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(each for row_id in ids for each in (row_id, *repeats.get(row_id, ()))))

    def repeated(message: HistoryEntry) -> HistoryEntry:
        all_rows = extended_ids(message.rows)
        return replace(message, rows=all_rows, twice=message.twice or not live.isdisjoint(all_rows))

    more = {row_id: parts.message_of[first] for row_id, first in again.items() if first in parts.message_of}
    return HistoryParts(
        [*map(repeated, parts.messages)],
        [
            each._replace(before_ids=extended_ids(each.before_ids), block_ids=extended_ids(each.block_ids))
            for each in parts.boundaries
        ],
        {**parts.message_of, **more},
        parts.settled,
    )


def is_near(row: LightRow, newest_time: float) -> bool:
    """Whether an appended row may repeat the newest one, at a later time."""
    return row.role == "user" and row.time - newest_time < AT_ONCE


def _is_at_once(row: LightRow, behind: LightRow) -> bool:
    since = behind.time - row.time
    return since == 0 or (behind.role == "user" and STEP < since < AT_ONCE)


def _common_times(rows: Iterable[LightRow]) -> set[float]:
    """The times that several messages have."""
    first: dict[float, LightRow] = {}
    return {
        row.time
        for row in rows
        if (first_row := first.setdefault(row.time, row)) is not row and not _alike(first_row, row)
    }


def _alike(row: LightRow, other: LightRow) -> bool:
    """Whether two rows are equal except for their ids, times, names and states."""
    return replace(row, id=other.id, time=other.time, uid=other.uid, named=other.named, state=other.state) == other
