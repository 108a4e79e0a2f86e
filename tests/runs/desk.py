"""Databases shaped as the real ones, as stores, and ways to look at them and to be the agent that writes to them."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pytest_django import Settings

from tests.support.stored_rows import add_session
from viewer.stores.base import Store
from viewer.stores.hermes import schema
from viewer.stores.registry import get_store

if TYPE_CHECKING:
    from viewer.runs.models import Run

WEEK_29 = "Airline desk, week 29"
IMMEDIATE = {"default": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend", "QUEUES": []}}
QUEUED = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend", "QUEUES": []}}


@dataclass(frozen=True)
class Desk:
    """A writable copy of a real database, open as the store `hermes`, and its session "Airline desk, week 29"."""

    store: Store
    path: Path
    session_id: str

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=20)) as con:
            return con.execute(sql, values).fetchall()

    def live(self) -> list[tuple[Any, ...]]:
        """What the model is sent: role, content, calls and call id of the live rows, in order."""
        return self.rows(
            "SELECT role, content, tool_calls, tool_call_id FROM messages "
            "WHERE session_id = ? AND active = 1 ORDER BY id",
            self.session_id,
        )

    def append(self, content: str, role: str = "user") -> int:
        """The agent appends a message."""
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=20)) as con:
            cursor = con.execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, unixepoch() + 0.5)",
                (self.session_id, role, content),
            )
            assert cursor.lastrowid
            return cursor.lastrowid

    def take_back_newest(self) -> None:
        """The agent undoes its newest message."""
        self.rows(
            "UPDATE messages SET active = 0 "
            "WHERE id = (SELECT MAX(id) FROM messages WHERE session_id = ? AND active = 1)",
            self.session_id,
        )

    def holders(self, table: str) -> list[str]:
        """Who holds locks or leases; nobody in a store that has no such table."""
        exists = self.rows("SELECT 1 FROM sqlite_master WHERE name = ?", table)
        return [row[0] for row in self.rows(f"SELECT holder FROM {table}")] if exists else []

    def start_turn(self) -> None:
        """Another process runs a turn of this session."""
        self.rows(
            "INSERT INTO session_turn_leases "
            "VALUES (?, 'pid=1:turn=9:platform=telegram', unixepoch(), unixepoch() + 300)",
            self.session_id,
        )

    def end_turn(self) -> None:
        self.rows("DELETE FROM session_turn_leases WHERE holder LIKE '%platform=telegram'")


def until(run: "Run", *statuses: str) -> "Run":
    """Wait for a status."""
    end = time.monotonic() + 60
    while run.status not in statuses:
        assert time.monotonic() < end, f"still {run.status}: {run.progress} {run.error_message}"
        time.sleep(0.02)
        run.refresh_from_db()
    return run


@pytest.fixture
def open_desk(hermes_copy: Callable[[int], Path], settings: Settings) -> Callable[[int], Desk]:
    """A function from a schema version to that database as the store `hermes`."""

    def open_copy(version: int, title: str = WEEK_29) -> Desk:
        path = hermes_copy(version)
        settings.STORES = {"hermes": f"sqlite:///{path}"}
        with closing(sqlite3.connect(path)) as con:
            session = con.execute("SELECT id FROM sessions WHERE title = ?", (title,)).fetchone()
        return Desk(get_store("hermes"), path, session[0])

    return open_copy


@pytest.fixture
def desk(open_desk: Callable[[int], Desk]) -> Desk:
    """The database of schema 31, which has turn leases."""
    return open_desk(31)


@pytest.fixture
def small_desk(tmp_path: Path, settings: Settings) -> Desk:
    """A store of our own with one session of 80 messages, some 12,000 tokens: all that asking a model needs."""
    path = tmp_path / "small.db"
    schema.create(path)
    add_session(path, "small", title="Small", message_count=80)
    with closing(sqlite3.connect(path)) as con, con:
        con.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('small', ?, ?, ?)",
            [(("user", "assistant")[n % 2], f"Seat {n}A on flight LH{400 + n}. " + _WORDS, 1e9 + n) for n in range(80)],
        )
    settings.STORES = {"hermes": f"sqlite:///{path}"}
    return Desk(get_store("hermes"), path, "small")


_WORDS = "The passenger asks for the fare rules, the agent reads them out and books what is left. " * 8


@pytest.fixture
def at_once(settings: Settings) -> Iterator[None]:
    """Tasks run when they are enqueued."""
    settings.TASKS = IMMEDIATE
    yield
