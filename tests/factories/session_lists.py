"""What the catalog lists, in a few words, and an owner who writes to the store behind it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from viewer.catalog.lines import SessionFilter, SessionList, page_of_lines
from viewer.catalog.models import SessionIndex
from viewer.stores.hermes import database, paths
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.registry import all_stores

EVERYTHING = 10_000


def listed(limit: int = EVERYTHING, **wanted: Any) -> SessionList:
    """The first lines over all stores but the demo store."""
    stores = [store for store in all_stores() if not store.is_managed]
    return page_of_lines(SessionFilter(**wanted), stores, limit)


def ids(limit: int = EVERYTHING, **wanted: Any) -> list[str]:
    return [line.session_id for line in listed(limit, **wanted).lines]


def line_of(session_id: str) -> SessionIndex:
    """The line as it stands, without a look at the store."""
    return SessionIndex.objects.get(session_id=session_id, state__retired=False)


def owner(path: Path, sql: str, *values: Any) -> None:
    """The store's own agent writes to it."""
    with closing(sqlite3.connect(path, timeout=20)) as con, con:
        con.execute(sql, values)


def settle() -> None:
    """Until the file system's clock tells the last write from a later one."""
    time.sleep(2 * database.SETTLED)


def fill(path: Path, sessions: Sequence[str], messages: int = 2) -> None:
    """Sessions a second apart, each with so many messages."""
    with closing(sqlite3.connect(path)) as con, con:
        con.executemany(
            "INSERT INTO sessions (id, source, model, started_at) VALUES (?, 'cli', 'gpt-4o', ?)",
            [(session_id, 1.7e9 + number) for number, session_id in enumerate(sessions)],
        )
        con.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', ?, ?)",
            [
                (session_id, f"words of {session_id}", 1.7e9 + number)
                for number, session_id in enumerate(sessions)
                for _ in range(messages)
            ],
        )


def tips(reader: Reader) -> list[str]:
    """Ids of all sessions that no part follows."""
    ids = [row[0] for row in reader.con.execute("SELECT id FROM sessions").fetchall()]
    return [session_id for session_id in ids if paths.tip(reader, session_id) == session_id]
