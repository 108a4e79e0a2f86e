"""Rows of a store that a site uses at the same time."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def query(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as con:
        return con.execute(sql, values).fetchall()


def live(path: Path, session_id: str) -> list[tuple[Any, ...]]:
    columns = "id, role, content, tool_calls, tool_call_id, timestamp"
    return query(path, f"SELECT {columns} FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id)
