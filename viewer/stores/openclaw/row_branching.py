"""A branch of a session in a database: a conversation of its own, as OpenClaw's fork makes it, with what the client's
index notes of its entries. Rows that say the same are copied inside the database.

Functions take the connection of a transaction and raise sqlite3.Error.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from viewer.stores.changes import Json
from viewer.stores.errors import NotBranchable

from . import branching, database, inherited, new_entries, row_changes, rows, sources
from .branching import Branch
from .messages import EntryMessages
from .places import SessionPlace
from .row_changes import SettledSession, insert
from .tree import tree_of


@dataclass(frozen=True, slots=True)
class _NewSession:
    """A branch that is being written: its id and key, the session that it comes from, and the time in milliseconds."""

    id: str
    key: str
    source: SettledSession

    @property
    def now(self) -> int:
        return self.source.now


def branch(con: sqlite3.Connection, place: SessionPlace, home: Path, ids: Sequence[int], *, now: float) -> str:
    """Write a session with these messages of the one at a place in context; its id. Raises what `row_changes.settled`
    does, and NotBranchable.
    """
    source = row_changes.settled(con, place, home, now)
    found = sources.messages_of(place, con, is_strict=True)
    row_changes.require_leaf(source, found)
    choices = _choices(con, place.key)
    meant = branching.branch_of(found, ids)
    made = _NewSession(str(uuid4()), inherited.new_key(place), source)
    _write_conversation(con, made, choices, place)
    _write_header(con, made, rows.RowSource(con, source.id).value(found.entries[0]) or {}, now)
    _copy(con, made, meant)
    entries = rows.behind(con, made.id, ())
    if not meant.is_read_as_meant(EntryMessages(entries, tree_of(entries, is_strict=True), "")):
        raise NotBranchable(branching.NOT_AS_MEANT)
    return made.id


def _choices(con: sqlite3.Connection, key: str) -> Json:
    """Read field by field: the whole is large and has secrets. Raises StoreReadOnly."""
    names = inherited.FIELDS
    query = (
        "SELECT json_group_object(key, json(CASE type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'"
        " WHEN 'object' THEN value WHEN 'array' THEN value ELSE json_quote(value) END))"
        " FROM session_nodes, json_each(entry_json)"
        f" WHERE session_key = ? AND key IN ({', '.join('?' * len(names))})"
    )
    ((found,),) = con.execute(query, (key, *names)).fetchall()
    return inherited.choices(json.loads(found))


def _write_conversation(con: sqlite3.Connection, made: _NewSession, choices: Json, place: SessionPlace) -> None:
    """Unlike in the client's forks, the session is no parent: the client has one take a turn when its child goes on."""
    source = made.source
    title = inherited.title(place)
    entry = {
        **choices,
        "sessionId": made.id,
        "lifecycleRevision": str(uuid4()),
        "updatedAt": made.now,
        "systemSent": False,
        "abortedLastRun": False,
        "forkSource": {"sessionKey": source.key, "sessionId": source.id},
        "createdVia": "operator",
        "createdAt": made.now,
        "delivery": {"kind": "none"},
        **title,
    }
    insert(
        con,
        "session_nodes",
        session_key=made.key,
        current_session_id=made.id,
        entry_json=json.dumps(entry, separators=(",", ":")),
        updated_at=made.now,
        created_at=made.now,
        created_via="operator",
        fork_source_session_key=source.key,
        fork_source_session_id=source.id,
        display_name=title.get("displayName"),
    )
    row_changes.mark_valid(con, made.key)
    times: dict[str, Any] = dict.fromkeys(("created_at", "updated_at", "transcript_updated_at"), made.now)
    insert(con, "session_windows", session_id=made.id, session_key=made.key, **times, transcript_observed_at=made.now)
    insert(con, "transcript_rewrite_watermarks", session_id=made.id, generation=uuid4().hex, updated_at=made.now)


def _write_header(con: sqlite3.Connection, made: _NewSession, old: Json, now: float) -> None:
    header = {**old, **new_entries.header(made.id, now)}
    row: dict[str, Any] = {"session_id": made.id, "seq": 0, "created_at": made.now}
    insert(con, "transcript_events", **row, **row_changes.body(con, header))
    insert(con, "transcript_event_identities", **row, event_id=made.id, event_type="session")


# The entries of a branch, in order: the number of each in the session and in the branch, and what it hangs on there.
_TAKEN = """WITH taken AS (SELECT json_extract(value, '$[0]') AS old, key + 1 AS seq,
 json_extract(value, '$[1]') AS parent FROM json_each(:taken))"""


def _copy(con: sqlite3.Connection, made: _NewSession, meant: Branch) -> None:
    """Copy the entries with their identities, places on the active path and searchable texts."""
    taken = json.dumps([(each.entry.offset, each.parent or None) for each in meant.copied])
    names = {"made": made.id, "source": made.source.id, "taken": taken, "now": made.now}
    others = ", ".join(sorted(database.columns(con, "transcript_events") - {"session_id", "seq"}))
    con.execute(
        f"{_TAKEN} INSERT INTO transcript_events (session_id, seq, {others}) SELECT :made, taken.seq, {others}"
        " FROM taken JOIN transcript_events AS event ON event.session_id = :source AND event.seq = taken.old",
        names,
    )
    source = rows.RowSource(con, made.source.id)
    for number, each in enumerate(meant.copied, start=1):
        if not each.is_same:
            row_changes.replace(con, made.id, number, each.value(source))
    con.execute(
        f"{_TAKEN} INSERT INTO transcript_event_identities (session_id, seq, parent_id, event_id, event_type,"
        " message_idempotency_key, created_at) SELECT :made, taken.seq, taken.parent, event_id, event_type,"
        " message_idempotency_key, created_at FROM taken JOIN transcript_event_identities AS old"
        " ON old.session_id = :source AND old.seq = taken.old",
        names,
    )
    con.execute(
        f"{_TAKEN} INSERT INTO session_transcript_active_events (session_id, active_position, event_seq,"
        " message_position, context_eligible) SELECT :made, taken.seq - 1, taken.seq, CASE WHEN message_position IS NOT"
        " NULL THEN count(message_position) OVER (ORDER BY taken.seq) - 1 END, context_eligible FROM taken"
        " JOIN session_transcript_active_events AS old ON old.session_id = :source AND old.event_seq = taken.old",
        names,
    )
    con.execute(
        "INSERT INTO session_transcript_index_state (session_id, indexed_seq, leaf_event_id, needs_rebuild,"
        " active_event_count, active_message_count, updated_at) SELECT :made, :count, :leaf, 0, count(*),"
        " count(message_position), :now FROM session_transcript_active_events WHERE session_id = :made",
        {**names, "count": len(meant.copied), "leaf": meant.copied[-1].entry.id},
    )
    _copy_searchable(con, made, meant)
    _require_whole(con, made, len(meant.copied))


def _copy_searchable(con: sqlite3.Connection, made: _NewSession, meant: Branch) -> None:
    """The texts that the client's search finds. Schema 23 has a table of whose they are, with their numbers."""
    names = {"made": made.id, "source": made.source.id, "ids": json.dumps([each.entry.id for each in meant.copied])}
    chosen = "message_id IN (SELECT value FROM json_each(:ids))"
    columns = "text, session_id, message_id, role, timestamp"
    if not database.columns(con, "session_transcript_fts_rows"):
        con.execute(
            f"INSERT INTO session_transcript_fts ({columns}) SELECT text, :made, message_id, role, timestamp"
            f" FROM session_transcript_fts WHERE session_id = :source AND {chosen} ORDER BY rowid",
            names,
        )
        return
    query = f"SELECT id FROM session_transcript_fts_rows WHERE session_id = :source AND {chosen} ORDER BY id"
    for (number,) in con.execute(query, names).fetchall():
        con.execute(
            "INSERT INTO session_transcript_fts_rows (session_id, message_id) SELECT ?, message_id"
            " FROM session_transcript_fts_rows WHERE id = ?",
            (made.id, number),
        )
        con.execute(
            f"INSERT INTO session_transcript_fts (rowid, {columns}) SELECT last_insert_rowid(), text, ?, message_id,"
            " role, timestamp FROM session_transcript_fts WHERE rowid = ?",
            (made.id, number),
        )


def _require_whole(con: sqlite3.Connection, made: _NewSession, count: int) -> None:
    """Raise NotBranchable where a row was not there to be copied."""
    tables = {"transcript_events": 1, "transcript_event_identities": 1, "session_transcript_active_events": 0}
    for table, headers in tables.items():
        ((there,),) = con.execute(f"SELECT count(*) FROM {table} WHERE session_id = ?", (made.id,)).fetchall()
        if there != count + headers:
            raise NotBranchable(branching.NOT_AS_MEANT)
