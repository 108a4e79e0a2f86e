"""Other rows that may carry the message of a row, found with primary keys and indexes only: no History is read.

A copy keeps its session, its role and its time, and from schema 31 on the agent's own name for the message. The part
that follows an ended one begins with copies too. The caller decides whether two rows carry the same message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from .codec import state_of
from .columns import marks, selection
from .database import OpenStore
from .paths import FORKS, chain, read_config

COPIES = 32  # rows of one moment that are searched for copies: an import may give all its rows one time
_CALL_ID = re.compile(r'"(?:call_id|id)":\s*"([^"]*)"')


def call_ids(tool_calls: Any) -> list[str]:
    """The ids of stored calls."""
    return _CALL_ID.findall(tool_calls) if isinstance(tool_calls, str) else []


def copies_of(reader: OpenStore, rows: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """(row, a newer row that may be a copy of it) for at most CHUNK rows, given as dictionaries of their light columns.

    A live row has no newer copy within its session.
    """
    ids = [row["id"] for row in rows if state_of(row["active"], row["compacted"]) != "live"]
    pairs = _pairs(reader, ids, "c.session_id = m.session_id AND c.timestamp = m.timestamp", [])
    if any(row["message_uid"] for row in rows) and _has_uid_index(reader):
        same = "c.session_id = m.session_id AND c.message_uid = m.message_uid AND c.active = 1"
        pairs += _pairs(reader, ids, same, [], flagged=False)
    for session_id, part in _next_parts(reader, {row["session_id"] for row in rows}):
        of_session = [row["id"] for row in rows if row["session_id"] == session_id]
        pairs += _pairs(reader, of_session, "c.session_id = ? AND c.timestamp = m.timestamp", [part])
    return pairs


def older_of(reader: OpenStore, rows: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """(row, an older row of its conversation and moment): a summary that is carried along may be a copy of it. The
    position of its boundary is that of its first row.
    """
    pairs: list[tuple[int, int]] = []
    for row in rows:
        parts = chain(reader, str(row["session_id"]))
        older_rows = reader.con.execute(
            f"SELECT id FROM messages WHERE session_id IN ({marks(parts)}) AND timestamp = ? AND id < ? LIMIT ?",
            [*parts, row["timestamp"], row["id"], COPIES],
        ).fetchall()
        pairs += [(row["id"], older[0]) for older in older_rows]
    return pairs


def _pairs(
    reader: OpenStore, ids: Sequence[int], same: str, values: list[Any], *, flagged: bool = True
) -> list[tuple[int, int]]:
    if not ids:
        return []
    # The index over session and time has the flag between them in some schemas.
    active = " AND c.active IN (0, 1)" if flagged and "active" in reader.columns.messages else ""
    rows = reader.con.execute(
        f"SELECT m.id, (SELECT {reader.columns.dialect.joined.format('id')} FROM "
        f"(SELECT c.id FROM messages c WHERE {same}{active} AND c.id > m.id LIMIT {COPIES}) AS newer) "
        f"FROM messages m WHERE m.id IN ({marks(ids)})",
        [*values, *ids],
    ).fetchall()
    return [(row_id, int(copy)) for row_id, copies in rows if copies for copy in copies.split(",")]


def _has_uid_index(reader: OpenStore) -> bool:
    rows = reader.con.execute(reader.columns.dialect.index, ["idx_messages_session_uid"])
    return rows.fetchone() is not None


def _next_parts(reader: OpenStore, session_ids: Iterable[str]) -> list[tuple[str, str]]:
    """(session, the part that continues it) of those sessions that an older agent split."""
    present = reader.columns.sessions
    listed = sorted(each for each in session_ids if isinstance(each, str))  # SQLite columns contain any type
    if not listed or not {"parent_session_id", "end_reason"} <= set(present):
        return []
    names = selection(present, {"id": "NULL", "parent_session_id": "NULL", "model_config": "NULL"}, "c.")
    rows = reader.con.execute(
        f"SELECT {names} FROM sessions p JOIN sessions c ON c.parent_session_id = p.id "
        f"WHERE p.id IN ({marks(listed)}) AND p.end_reason = 'compression'",
        listed,
    ).fetchall()
    return [
        (parent, child)
        for child, parent, config in rows
        if parent not in [read_config(config).get(fork) for fork in FORKS]
    ]
