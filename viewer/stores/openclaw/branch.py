"""A branch of a session in a database: a new conversation, as in OpenClaw's fork, with the client's index of its
entries. Unchanged rows are copied inside the database.

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
from viewer.stores.trees import branch as tree_branch
from viewer.stores.trees import encode as tree_encode
from viewer.stores.trees.branch import Branch
from viewer.stores.trees.messages import EntryMessages
from viewer.stores.trees.paths import SessionLocation
from viewer.stores.trees.replay import tree_of

from . import database, encode, records, session_fields
from .encode import SettledSession, insert


@dataclass(frozen=True, slots=True)
class _NewSession:
    """A branch that is being written: its id and key, the session that it comes from, and the time in milliseconds."""

    id: str
    key: str
    source: SettledSession

    @property
    def now(self) -> int:
        return self.source.now


def branch(con: sqlite3.Connection, location: SessionLocation, home: Path, ids: Sequence[int], *, now: float) -> str:
    """Write a session whose context is these messages of the session at `location`; returns its id. Raises what
    `encode.settled` does, and NotBranchable.
    """
    source = encode.settled(con, location, home, now)
    messages = records.messages_of(location, con)
    encode.require_leaf(source, messages)
    choices = _choices(con, location.key)
    planned_branch = tree_branch.branch_of(messages, ids)
    new_session = _NewSession(str(uuid4()), session_fields.new_key(location), source)
    _write_conversation(con, new_session, choices, location)
    _write_header(con, new_session, records.RowSource(con, source.id).value(messages.entries[0]) or {}, now)
    _copy(con, new_session, planned_branch)
    entries = records.behind(con, new_session.id, ())
    if not planned_branch.is_read_as_meant(EntryMessages(entries, tree_of(entries, is_strict=True), "")):
        raise NotBranchable(tree_branch.NOT_AS_MEANT)
    return new_session.id


def _choices(con: sqlite3.Connection, key: str) -> Json:
    """Read field by field: the whole is large and contains secrets. Raises StoreReadOnly."""
    names = session_fields.BRANCH_FIELDS
    query = (
        "SELECT json_group_object(key, json(CASE type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'"
        " WHEN 'object' THEN value WHEN 'array' THEN value ELSE json_quote(value) END))"
        " FROM session_nodes, json_each(entry_json)"
        f" WHERE session_key = ? AND key IN ({', '.join('?' * len(names))})"
    )
    ((choices_json,),) = con.execute(query, (key, *names)).fetchall()
    return session_fields.choices(json.loads(choices_json))


def _write_conversation(
    con: sqlite3.Connection, new_session: _NewSession, choices: Json, location: SessionLocation
) -> None:
    """Unlike in the client's forks, the session is not recorded as the parent: the client lets a parent take a turn
    when its child continues.
    """
    source = new_session.source
    title = session_fields.title(location)
    entry = {
        **choices,
        "sessionId": new_session.id,
        "lifecycleRevision": str(uuid4()),
        "updatedAt": new_session.now,
        "systemSent": False,
        "abortedLastRun": False,
        "forkSource": {"sessionKey": source.key, "sessionId": source.id},
        "createdVia": "operator",
        "createdAt": new_session.now,
        "delivery": {"kind": "none"},
        **title,
    }
    insert(
        con,
        "session_nodes",
        session_key=new_session.key,
        current_session_id=new_session.id,
        entry_json=json.dumps(entry, separators=(",", ":")),
        updated_at=new_session.now,
        created_at=new_session.now,
        created_via="operator",
        fork_source_session_key=source.key,
        fork_source_session_id=source.id,
        display_name=title.get("displayName"),
    )
    encode.mark_valid(con, new_session.key)
    times: dict[str, Any] = dict.fromkeys(("created_at", "updated_at", "transcript_updated_at"), new_session.now)
    insert(
        con,
        "session_windows",
        session_id=new_session.id,
        session_key=new_session.key,
        **times,
        transcript_observed_at=new_session.now,
    )
    insert(
        con,
        "transcript_rewrite_watermarks",
        session_id=new_session.id,
        generation=uuid4().hex,
        updated_at=new_session.now,
    )


def _write_header(con: sqlite3.Connection, new_session: _NewSession, old: Json, now: float) -> None:
    header = {**old, **tree_encode.header(new_session.id, now)}
    row: dict[str, Any] = {"session_id": new_session.id, "seq": 0, "created_at": new_session.now}
    insert(con, "transcript_events", **row, **encode.body(con, header))
    insert(con, "transcript_event_identities", **row, event_id=new_session.id, event_type="session")


# The entries of a branch, in order: the number of each in the session and in the branch, and its parent there.
_TAKEN = """WITH taken AS (SELECT json_extract(value, '$[0]') AS old, key + 1 AS seq,
 json_extract(value, '$[1]') AS parent FROM json_each(:taken))"""


def _copy(con: sqlite3.Connection, new_session: _NewSession, planned_branch: Branch) -> None:
    """Copy the entries with their identities, positions on the active path and searchable texts."""
    taken_json = json.dumps([(each.entry.offset, each.parent or None) for each in planned_branch.copied])
    names = {"made": new_session.id, "source": new_session.source.id, "taken": taken_json, "now": new_session.now}
    others = ", ".join(sorted(database.columns(con, "transcript_events") - {"session_id", "seq"}))
    con.execute(
        f"{_TAKEN} INSERT INTO transcript_events (session_id, seq, {others}) SELECT :made, taken.seq, {others}"
        " FROM taken JOIN transcript_events AS event ON event.session_id = :source AND event.seq = taken.old",
        names,
    )
    source = records.RowSource(con, new_session.source.id)
    for number, each in enumerate(planned_branch.copied, start=1):
        if not each.is_same:
            encode.replace(con, new_session.id, number, each.value(source))
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
        {**names, "count": len(planned_branch.copied), "leaf": planned_branch.copied[-1].entry.id},
    )
    _copy_searchable(con, new_session, planned_branch)
    _require_whole(con, new_session, len(planned_branch.copied))


def _copy_searchable(con: sqlite3.Connection, new_session: _NewSession, planned_branch: Branch) -> None:
    """Copy the texts that the client's search finds. Schema 23 has a separate table with their sessions, messages and
    numbers.
    """
    names = {
        "made": new_session.id,
        "source": new_session.source.id,
        "ids": json.dumps([each.entry.id for each in planned_branch.copied]),
    }
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
            (new_session.id, number),
        )
        con.execute(
            f"INSERT INTO session_transcript_fts (rowid, {columns}) SELECT last_insert_rowid(), text, ?, message_id,"
            " role, timestamp FROM session_transcript_fts WHERE rowid = ?",
            (new_session.id, number),
        )


def _require_whole(con: sqlite3.Connection, new_session: _NewSession, count: int) -> None:
    """Raise NotBranchable where a row was missing and could not be copied."""
    tables = {"transcript_events": 1, "transcript_event_identities": 1, "session_transcript_active_events": 0}
    for table, headers in tables.items():
        ((count_of_rows,),) = con.execute(
            f"SELECT count(*) FROM {table} WHERE session_id = ?", (new_session.id,)
        ).fetchall()
        if count_of_rows != count + headers:
            raise NotBranchable(tree_branch.NOT_AS_MEANT)
