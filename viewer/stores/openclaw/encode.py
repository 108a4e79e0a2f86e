"""Writing to OpenClaw's tables, with the checks before it, inside one transaction: a new last entry with all that the
client's index records about it, or another text in its row; and the session's counters.

Functions take the connection of that transaction and raise sqlite3.Error.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from viewer.stores.changes import Json
from viewer.stores.errors import CompactionConflict, NotFound, SessionBusy, StoreReadOnly
from viewer.stores.trees import encode as tree_encode
from viewer.stores.trees import presence as tree_presence
from viewer.stores.trees.messages import EntryMessages
from viewer.stores.trees.paths import SessionLocation

from . import database, presence


@dataclass(frozen=True, slots=True)
class SettledSession:
    """A session that may be written: `following` is the number of its next entry, `leaf` the parent of that entry, ""
    for none, and `count` the number of entries in the client's index of the active path. `now` in milliseconds.
    """

    id: str
    key: str
    leaf: str
    following: int
    count: int
    now: int


def settled(con: sqlite3.Connection, location: SessionLocation, home: Path, now: float) -> SettledSession:
    """The session at `location` in the state directory `home`, if it may be written at `now` (epoch seconds). Raises
    StoreReadOnly, NotFound, CompactionConflict, SessionBusy.
    """
    ((version,),) = con.execute("PRAGMA user_version").fetchall()
    if version not in database.KNOWN_SCHEMAS:
        raise StoreReadOnly(presence.UNKNOWN.format(version=version))
    query = "SELECT current_session_id, entry_valid, status FROM session_nodes WHERE session_key = ?"
    node = con.execute(query, (location.key,)).fetchone()
    if node is None:
        raise NotFound(f"The database has no conversation {location.key!r} any more.")
    current, is_valid, status = node
    if current != location.row_id:
        raise CompactionConflict(tree_presence.GOES_ON_ELSEWHERE)
    if (holder := presence.holder_of(home, str(status or ""))) is not None:
        raise SessionBusy(holder.says)
    if is_valid != 1:
        raise SessionBusy(presence.UNSETTLED)
    if _has(con, "session_pending_inputs", "session_key = ? AND state = 'queued'", location.key):
        raise SessionBusy(presence.QUEUED)
    if _has(con, "session_transcript_cold_archives", "session_id = ?", location.row_id):
        raise StoreReadOnly(presence.COLD)
    return _indexed(con, location, int(now * 1000))


def _has(con: sqlite3.Connection, table: str, condition: str, value: str) -> bool:
    """Whether a table, which older schemas lack, has such a row."""
    if not database.columns(con, table):
        return False
    return con.execute(f"SELECT 1 FROM {table} WHERE {condition} LIMIT 1", (value,)).fetchone() is not None


def _indexed(con: sqlite3.Connection, location: SessionLocation, now: int) -> SettledSession:
    """Raises SessionBusy where the client's index of the active path is behind the entries."""
    query = (
        "SELECT indexed_seq, leaf_event_id, needs_rebuild, active_event_count FROM session_transcript_index_state"
        " WHERE session_id = ?"
    )
    state = con.execute(query, (location.row_id,)).fetchone()
    newest = con.execute("SELECT max(seq) FROM transcript_events WHERE session_id = ?", (location.row_id,)).fetchone()[
        0
    ]
    open_rows = "session_id = ? AND context_eligible IS NULL"
    if state is None or state[2] or state[0] != newest:
        raise SessionBusy(presence.UNSETTLED)
    if _has(con, "session_transcript_active_events", open_rows, location.row_id):
        raise SessionBusy(presence.UNSETTLED)
    return SettledSession(location.row_id, location.key, str(state[1] or ""), newest + 1, state[3], now)


def require_leaf(session: SettledSession, messages: EntryMessages) -> None:
    """Raise SessionBusy where the client's next entry would not follow the leaf, or the index has another leaf."""
    if not messages.tree.leaf == messages.tree.append_parent == session.leaf:
        raise SessionBusy(tree_presence.ANOTHER_LEAF)


def append(con: sqlite3.Connection, session: SettledSession, entry: Json) -> None:
    """Write a compaction after the other entries, as the leaf."""
    event: dict[str, Any] = {"session_id": session.id, "seq": session.following, "created_at": session.now}
    insert(con, "transcript_events", **event, **body(con, entry))
    identity = {"event_id": entry["id"], "event_type": entry["type"], "parent_id": entry["parentId"]}
    insert(con, "transcript_event_identities", **event, **identity)
    row = {"session_id": session.id, "active_position": session.count, "event_seq": session.following}
    insert(con, "session_transcript_active_events", **row, context_eligible=1)
    con.execute(
        "UPDATE session_transcript_index_state SET indexed_seq = ?, leaf_event_id = ?, active_event_count = ?,"
        " updated_at = ? WHERE session_id = ?",
        (session.following, entry["id"], session.count + 1, session.now, session.id),
    )
    _touch(con, session)


def rewrite(con: sqlite3.Connection, session: SettledSession, number: int, entry: Json) -> None:
    """Replace the entry with this number by one with the same id and parent."""
    replace(con, session.id, number, entry)
    con.execute(
        "UPDATE transcript_event_identities SET event_type = ? WHERE session_id = ? AND event_id = ?",
        (entry["type"], session.id, entry["id"]),
    )
    con.execute(
        "INSERT INTO transcript_rewrite_watermarks (session_id, generation, updated_at) VALUES (?, ?, ?)"
        " ON CONFLICT (session_id) DO UPDATE SET generation = excluded.generation, updated_at = excluded.updated_at",
        (session.id, uuid4().hex, session.now),  # a gateway uses its cached entries as long as this is unchanged
    )
    _touch(con, session)


def replace(con: sqlite3.Connection, session_id: str, number: int, entry: Json) -> None:
    """Replace the entry with this number, and change nothing else."""
    new = body(con, entry)
    if "event_zstd" in database.columns(con, "transcript_events"):
        new |= {"event_zstd": None, "navigation_json": None}
    changed = ", ".join(f"{name} = ?" for name in new)
    con.execute(
        f"UPDATE transcript_events SET {changed} WHERE session_id = ? AND seq = ?", (*new.values(), session_id, number)
    )


def body(con: sqlite3.Connection, entry: Json) -> dict[str, Any]:
    """The columns that hold an entry, as plain text: the client may compress it, and reads both."""
    text = tree_encode.encoded(entry).decode()
    has_size = "event_utf8_bytes" in database.columns(con, "transcript_events")
    return {"event_json": text} | ({"event_utf8_bytes": len(text.encode())} if has_size else {})


def insert(con: sqlite3.Connection, table: str, **values: Any) -> None:
    """Insert one row; columns that are not named get their defaults."""
    marks = ", ".join("?" * len(values))
    con.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def _touch(con: sqlite3.Connection, session: SettledSession) -> None:
    """Give the transcript a later time than any client has seen, so that it counts as changed."""
    con.execute(
        "UPDATE session_windows SET updated_at = max(updated_at, :now), transcript_updated_at = max(:now,"
        " coalesce(transcript_updated_at, -1) + 1, coalesce(transcript_observed_at, -1) + 1) WHERE session_id = :id",
        {"now": session.now, "id": session.id},
    )


def count(con: sqlite3.Connection, session: SettledSession, *, tokens: int, compactions: int) -> None:
    """Record how many tokens are in context now, and add to the count of compactions. From these the client decides
    whether a session is full: with the old ones it would compact it again before the next turn. The entry itself is
    never read.
    """
    con.execute(
        """UPDATE session_nodes SET updated_at = max(updated_at, :now), entry_json = json_set(json_remove(entry_json,
        '$.contextBudgetStatus', '$.inputTokens', '$.outputTokens', '$.cacheRead', '$.cacheWrite',
        '$.estimatedCostUsd'), '$.totalTokens', :tokens, '$.totalTokensFresh', json('true'), '$.totalTokensVersion', 1,
        '$.compactionCount', max(0, coalesce(json_extract(entry_json, '$.compactionCount'), 0) + :more),
        '$.updatedAt', max(updated_at, :now)) WHERE session_key = :key""",
        {"now": session.now, "tokens": tokens, "more": compactions, "key": session.key},
    )
    mark_valid(con, session.key)


def mark_valid(con: sqlite3.Connection, key: str) -> None:
    """Mark a conversation's entry as valid for the client; a trigger marks it invalid after each change."""
    con.execute("UPDATE session_nodes SET entry_valid = 1 WHERE session_key = ?", (key,))
