"""Sessions of a store before and after a branch, whole and column by column."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.factories.stores import WEEK_29, WEEK_30_TIP

SESSIONS = {16: WEEK_30_TIP, 21: WEEK_29, 31: WEEK_29}

COPIED = "role, content, tool_calls, tool_call_id, tool_name, timestamp, reasoning, token_count, platform_message_id"


@pytest.fixture(params=sorted(SESSIONS))
def version(request: pytest.FixtureRequest) -> int:
    value: int = request.param
    return value


@pytest.fixture
def path(version: int, small_hermes_copy: Callable[[int], Path]) -> Path:
    return small_hermes_copy(version)


def query(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        return con.execute(sql, values).fetchall()


def columns(path: Path, table: str) -> list[str]:
    return [row[1] for row in query(path, f"PRAGMA table_info({table})")]


def session(path: Path, session_id: str) -> dict[str, Any]:
    (row,) = query(path, "SELECT * FROM sessions WHERE id = ?", session_id)
    return dict(zip(columns(path, "sessions"), row, strict=True))


def rows(path: Path, session_id: str, wanted: str = COPIED, where: str = "active = 1") -> list[tuple[Any, ...]]:
    return query(path, f"SELECT {wanted} FROM messages WHERE session_id = ? AND {where} ORDER BY id", session_id)


def stored(path: Path, but: str = "") -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every ordinary table, those of one session aside."""
    own = {"messages": "WHERE session_id <> ?", "sessions": "WHERE id <> ?"}
    tables = [row[0] for row in query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        table: query(path, f"SELECT * FROM {table} {own.get(table, '')}", *([but] if table in own else []))
        for table in tables
        if not table.startswith(("messages_fts", "sqlite_"))
    }
