"""Compactions and undos of a copy of a store, and what its tables hold before and after."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.agents.hermes import ours
from tests.factories.locks import turn_lease
from tests.factories.messages import HANDOFF
from tests.factories.stores import WEEK_29, add_row, add_session, create_empty, reader_of, store_at
from tests.slow import slow
from viewer.stores import lock_owners
from viewer.stores.hermes import commit, encode, plan, presence, undo

VERSIONS = [*slow(21), 31]


@pytest.fixture(params=VERSIONS)
def path(request: pytest.FixtureRequest, small_hermes_copy: Callable[[int], Path]) -> Path:
    return small_hermes_copy(request.param)


def query(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        return con.execute(sql, values).fetchall()


def live(path: Path, session_id: str = WEEK_29) -> list[tuple[Any, ...]]:
    return query(path, "SELECT * FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id)


def said(path: Path, session_id: str = WEEK_29) -> list[tuple[Any, ...]]:
    columns = "role, content, tool_calls, tool_call_id, tool_name, timestamp"
    return query(path, f"SELECT {columns} FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id)


def planned(path: Path, session_id: str = WEEK_29) -> plan.Snapshot:
    with reader_of(path) as reader:
        return plan.snapshot(reader, session_id)


def steps_for(snapshot: plan.Snapshot, head: int = 2, tail: int = 30) -> list[encode.Step]:
    ids = [row[0] for row in snapshot.rows]
    return [*map(encode.Clone, ids[:head]), encode.New(HANDOFF), *map(encode.Clone, ids[-tail:])]


def committed(
    path: Path, snapshot: plan.Snapshot, steps: list[encode.Step], now: float | None = None
) -> commit.BlockCommit:
    store, holder = store_at(path), lock_owners.new_holder()
    presence.take_lock(store, snapshot.session_id, holder)
    try:
        with turn_lease(store, snapshot.session_id) as lease:
            return commit.commit(store, snapshot, steps, lock_holder=holder, lease_holder=lease, now=now or time.time())
    finally:
        presence.release_lock(store, snapshot.session_id, holder)


def undone(path: Path, what: undo.Undoing) -> undo.Outlook:
    return ours.undo(store_at(path), what)


def map_of(snapshot: plan.Snapshot, commit: commit.BlockCommit) -> undo.Undoing:
    originals = {row[0]: commit.copies.get(row[0]) for row in snapshot.rows} | dict(commit.copies)
    return undo.Undoing(snapshot.session_id, commit.handoff_id, commit.block_ids, originals)


def everything_else(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all ordinary tables but the session's own rows, byte for byte."""
    tables = [name for (name,) in query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    own = {"messages": f"WHERE session_id <> '{WEEK_29}'", "sessions": f"WHERE id <> '{WEEK_29}'"}
    derived = ("messages_fts", "sqlite_", "session_turn", "compression")
    ordinary = [name for name in tables if not name.startswith(derived)]
    return {name: query(path, f"SELECT * FROM {name} {own.get(name, '')}") for name in ordinary}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A store of our own with one session of eight messages: all that refusals need."""
    path = tmp_path / "small.db"
    create_empty(path)
    add_session(path, message_count=8)
    for number in range(8):
        add_row(path, role=("user", "assistant")[number % 2], content=f"message {number}", timestamp=10.0 + number)
    yield path
