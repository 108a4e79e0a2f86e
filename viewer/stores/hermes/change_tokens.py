"""Digests that show whether rows of a session were added, removed, or changed their state, without reading a row.

Hermes has an index over (session_id, active, timestamp) in every schema, and the row's id is in every index: counts and
sums over it read no row at all, some milliseconds for 20,000 rows. Times are summed too, because in a file that was
replaced by a backup, ids are used again for other rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from viewer.stores.base import RowsDigest
from viewer.stores.batches import chunks

from .codec import number, state_of
from .columns import marks
from .database import OpenStore

_MODULUS = 4_294_967_291  # the largest prime below 2^32
AT_MOST = 500  # appended rows that are distinguished from other changes
_SPREAD = 2_654_435_761  # Knuth's multiplier: sums of plain ids are equal for too many sets of ids
_SPREAD_OUT = f"(m.id * {_SPREAD} + {{}}) % {_MODULUS}"


def read_marks(reader: OpenStore, session_ids: Sequence[str]) -> dict[str, RowsDigest]:
    """The digests of these sessions; one without rows has none."""
    active = "m.active" if "active" in reader.columns.messages else "1"
    moment = reader.columns.dialect.whole.format("m.timestamp * 1000")
    groups_by_session: dict[str, list[tuple[Any, int, int, float]]] = {}
    for chunk in chunks(session_ids):
        rows = reader.con.execute(
            f"SELECT m.session_id, {active} AS active, COUNT(*), MAX(m.id), "
            f"CAST(SUM({_SPREAD_OUT.format(moment)}) AS DOUBLE PRECISION) "
            f"FROM messages m WHERE m.session_id IN ({marks(chunk)}) GROUP BY m.session_id, 2",
            chunk,
        ).fetchall()
        for session_id, *group in rows:
            groups_by_session.setdefault(session_id, []).append((group[0], group[1], group[2], group[3]))
    return {session_id: _mark(groups) for session_id, groups in groups_by_session.items()}


def _mark(groups: list[tuple[Any, int, int, float]]) -> RowsDigest:
    return RowsDigest(
        rows=sum(count for _, count, _, _ in groups),
        live=sum(count for active, count, _, _ in groups if state_of(active, 0) == "live"),
        newest=max(newest for _, _, newest, _ in groups),
        digest=" ".join(f"{active}:{count}:{total:.0f}" for active, count, _, total in sorted(groups, key=_by_flag)),
    )


def _by_flag(group: tuple[Any, int, int, float]) -> str:
    """NULL, 0, 1: their order in an index of SQLite."""
    return "" if group[0] is None else str(group[0])


def appended(before: str, after: str, rows: Sequence[tuple[int, float]]) -> bool:
    """Whether, by its digests, a session only got these live rows, (id, time), between the two."""
    old, new = _groups(before), _groups(after)
    live = [active for active in {*old, *new} if state_of(active, 0) == "live"]
    others = [active for active in {*old, *new} if active not in live]
    return all(old.get(active) == new.get(active) for active in others) and _sum(new, live) == tuple(
        map(sum, zip(_sum(old, live), (len(rows), sum(map(_spread, rows))), strict=True))
    )


def rows_said(reader: OpenStore, session_id: str, before: str, after: str) -> int | None:
    """How many live rows were appended to a session between the two digests; None if anything else changed, or more
    than AT_MOST were.
    """
    more = counted_rows(after) - counted_rows(before)
    if not 0 < more <= AT_MOST:
        return None
    active = " AND active = 1" if "active" in reader.columns.messages else ""
    # With the index over session and state: in the table itself, rows of other sessions might be in between.
    rows = reader.con.execute(
        f"SELECT id, timestamp FROM messages WHERE session_id = ?{active} ORDER BY +id DESC LIMIT ?", [session_id, more]
    ).fetchall()
    return more if appended(before, after, [(row_id, number(time)) for row_id, time in rows]) else None


def counted_rows(digest: str) -> int:
    """The number of rows in a digest."""
    return sum(count for count, _ in _groups(digest).values())


def _groups(digest: str) -> dict[Any, tuple[int, int]]:
    parts = (group.split(":") for group in digest.split())
    values = {"None": None, "0": 0}
    return {values.get(active, active): (int(count), int(total)) for active, count, total in parts}


def _sum(groups: dict[Any, tuple[int, int]], chosen: Sequence[Any]) -> tuple[int, int]:
    chosen_groups = [groups[active] for active in chosen if active in groups]
    return sum(count for count, _ in chosen_groups), sum(total for _, total in chosen_groups)


def _spread(row: tuple[int, float]) -> int:
    row_id, time = row
    return (row_id * _SPREAD + (int(time * 1000) if isfinite(time) else 0)) % _MODULUS
