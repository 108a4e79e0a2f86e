"""What lists of sessions need from a store, read in batches of bounded size and never by a scan of all sessions.

A row of `sessions` may contain a system prompt of 10 kB before the columns that a list shows: rows are only read by
keys. News is found by row ids: those of messages are never used again, those of sessions may be (so listed sessions are
compared with the store again).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from viewer.stores.base import NOTHING, Session
from viewer.stores.batches import chunks
from viewer.stores.listing import (
    LONGEST_ID,
    Activity,
    Changes,
    is_askable,
)

from . import previews
from .change_tokens import read_marks, rows_said
from .columns import marks, selection
from .database import OpenStore
from .dialect import SQLITE
from .paths import CONTINUED, WANTED, circle, session_of

NOT_LISTED = (
    "Its sessions have {rows} with ids that cannot be asked for (missing, no text, or too long): these are not listed."
)


def changed(reader: OpenStore, cursor: str, messages: int, sessions: int) -> Changes | None:
    """A cursor is JSON: the newest row id of a message, that of a session, and what tells the message's row from
    another with the same id.
    """
    newest = _one(reader, "SELECT MAX(id) FROM messages")
    if not cursor:
        rows = reader.con.execute("SELECT session_id FROM messages ORDER BY id DESC LIMIT ?", [messages]).fetchall()
        top = _one(reader, "SELECT MAX(rowid) FROM sessions")
        return Changes(_once(row[0] for row in rows), json.dumps([newest, top, _mark(reader, newest) or ""]))
    message, session, mark = json.loads(cursor)
    if message and _is_another(reader, message, mark):
        return None
    said = reader.con.execute(
        "SELECT id, session_id FROM messages WHERE id > ? ORDER BY id LIMIT ?", [message, messages]
    ).fetchall()
    new = _numbered(reader, "rowid > ? ORDER BY rowid", session, sessions)
    message, session = said[-1][0] if said else message, new[-1][0] if new else session
    ids = [*_once(row[1] for row in reversed(said)), *_once(session_id for _, session_id in new)]
    read = json.dumps([message, session, _mark(reader, message) or mark])
    return Changes(ids, read, more=len(new) == sessions or newest > message)


def _one(reader: OpenStore, query: str) -> int:
    return int(reader.con.execute(query).fetchone()[0] or 0)


def _is_another(reader: OpenStore, message: int, mark: str) -> bool:
    """Whether the file contains another database than the one in which a row had this id and mark."""
    now = _mark(reader, message)
    if now is None:  # deleted with its session; the ids that were given stay given
        return given_id(reader) < message
    return now != mark


def _mark(reader: OpenStore, message: int) -> str | None:
    """A text that distinguishes the row of this id from another with the same id; None where there is none."""
    row = reader.con.execute("SELECT session_id, timestamp FROM messages WHERE id = ?", [message]).fetchone()
    return None if row is None else f"{row[0]} {row[1]!r}"


def given_id(reader: OpenStore) -> int:
    """The highest id that a message ever had in this store."""
    if reader.columns.dialect is SQLITE and "sqlite_sequence" not in reader.columns.tables:
        return _one(reader, "SELECT MAX(id) FROM messages")
    row = reader.con.execute(reader.columns.dialect.given_id).fetchone()
    return int(row[0]) if row and isinstance(row[0], int) else 0


def _once(ids: Any) -> list[str]:
    return [session_id for session_id in dict.fromkeys(ids) if isinstance(session_id, str)]


def _numbered(reader: OpenStore, where: str, number: int, limit: int) -> list[tuple[int, str | None]]:
    """(rowid, id) of some sessions."""
    rows = reader.con.execute(f"SELECT rowid, id FROM sessions WHERE {where} LIMIT ?", [number, limit]).fetchall()
    return [(at, session_id if is_askable(session_id) else None) for at, session_id in rows]


def remarks(reader: OpenStore) -> list[str]:
    """A sentence about sessions that are not listed because of their ids: no agent makes such ones. Reads an index."""
    if reader.columns.dialect is not SQLITE:
        return []
    unlisted = _one(
        reader,
        "SELECT COUNT(*) FROM sessions WHERE id IS NULL OR typeof(id) <> 'text' OR instr(id, char(0)) OR "
        f"length(CAST(id AS BLOB)) > {LONGEST_ID}",
    )
    return [NOT_LISTED.format(rows="1 row" if unlisted == 1 else f"{unlisted:,} rows")] if unlisted else []


def read_sessions(reader: OpenStore, ids: Sequence[str]) -> dict[str, Session]:
    """Those of these sessions that exist."""
    sessions: dict[str, Session] = {}
    columns = selection(reader.columns.sessions, WANTED)
    digests = read_marks(reader, ids)
    for chunk in chunks(ids):
        cursor = reader.con.execute(
            f"SELECT rowid AS row, {columns} FROM sessions WHERE id IN ({marks(chunk)})", list(chunk)
        )
        names = [column[0] for column in cursor.description]
        for values in cursor.fetchall():
            row = dict(zip(names, values, strict=True))
            if row["parent_session_id"] and row["end_reason"] == CONTINUED and circle(reader, row["id"]):
                row["parent_session_id"] = None
            mark = digests.get(row["id"], NOTHING)
            sessions[row["id"]] = replace(session_of(reader.store, row), row=row["row"], mark=mark)
    return sessions


def has_rows_under(reader: OpenStore, session_id: str) -> bool:
    """Whether rows of this session were summarised away."""
    if not {"active", "compacted"} <= set(reader.columns.messages):
        return False
    rows = reader.con.execute(
        "SELECT 1 FROM messages WHERE session_id = ? AND active = 0 AND compacted = 1 LIMIT 1", [session_id]
    )
    return rows.fetchone() is not None


@dataclass(frozen=True, slots=True)
class HermesListing:
    """`stores.listing.Listing` of a store of Hermes: numbers are row ids."""

    reader: OpenStore

    def changed(self, cursor: str, messages: int, sessions: int) -> Changes | None:
        return changed(self.reader, cursor, messages, sessions)

    def page(self, number: int, limit: int) -> list[tuple[int, str | None]]:
        return _numbered(self.reader, "rowid <= ? ORDER BY rowid DESC", number, limit)

    def sessions(self, ids: Sequence[str]) -> dict[str, Session]:
        return read_sessions(self.reader, ids)

    def activity(self, session: Session, before: str | None) -> Activity:
        mark = session.mark
        appended = None if before is None else rows_said(self.reader, session.id, before, mark.digest)
        return Activity(
            previews.last_active(self.reader, session.id),
            previews.first_words(self.reader, session.id),
            mark.rows > mark.live and has_rows_under(self.reader, session.id),
            appended,
        )
