"""Stores of Hermes' kind: rows added to them, a reader of them, and the agent that writes to them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from viewer.stores.base import Store
from viewer.stores.hermes import schema
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.hermes.reader import open_store

WEEK_29_TITLE = "Airline desk, week 29"
WEEK_29 = "20260714_043320_a80629"
WEEK_30_TIP = "20260715_063924_8490d0"

PRESENT = 1_790_000_000.0  # a time within the past of whoever runs the tests

_WORDS = "The passenger asks for the fare rules, the agent reads them out and books what is left. " * 8


def connected(path: Path, **options: Any) -> sqlite3.Connection:
    """A connection whose writes are not waited for until they are safe on disk."""
    con: sqlite3.Connection = sqlite3.connect(path, **options)
    con.execute("PRAGMA synchronous = OFF")
    return con


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as directory:
        made = Path(directory) / "empty.db"
        schema.create(made)
        return made.read_bytes()


def create_empty(path: Path) -> None:
    """An empty store, as `schema.create` makes it, in a fraction of the time."""
    path.write_bytes(_empty())
    path.chmod(0o600)


def store_at(path: Path) -> Store:
    return Store("test", f"sqlite:///{path}", "configured")


@contextmanager
def reader_of(path: Path) -> Iterator[Reader]:
    with open_store(store_at(path)) as reader:
        yield reader


def add_session(path: Path, session_id: str = "s1", **columns: Any) -> None:
    values = {"id": session_id, "source": "cli", "started_at": 1.0, **columns}
    with closing(connected(path)) as con, con:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        con.execute(f"INSERT INTO sessions ({names}) VALUES ({marks})", list(values.values()))


def add_row(path: Path, session_id: str = "s1", **columns: Any) -> int:
    values = {"session_id": session_id, "role": "user", "timestamp": 2.0, **columns}
    with closing(connected(path)) as con, con:
        names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
        cursor = con.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", list(values.values()))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def small_talk(path: Path, messages: int, **columns: Any) -> Path:
    """A store of our own with one session of so many messages, user and assistant in turn."""
    create_empty(path)
    add_session(path, title="Small talk", message_count=messages, **columns)
    for number in range(messages):
        add_row(path, role=("user", "assistant")[number % 2], content=f"message {number}", timestamp=10.0 + number)
    return path


@dataclass(frozen=True)
class HermesStore:
    """A writable copy of a real database, open as the store `hermes`, and its session "Airline desk, week 29"."""

    store: Store
    path: Path
    session_id: str

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(connected(self.path, isolation_level=None, timeout=20)) as con:
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
        with closing(connected(self.path, isolation_level=None, timeout=20)) as con:
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


@dataclass(frozen=True)
class EmptyStore:
    """The store `own`: an empty one in which a test writes what it is about."""

    path: Path

    def session(self, session_id: str, **columns: Any) -> str:
        """A new session; returns the address of its page."""
        values = {"id": session_id, "source": "cli", "model": "gpt-4o", "started_at": PRESENT, **columns}
        self._insert("sessions", values)
        return f"/stores/own/sessions/{session_id}"

    def say(self, session_id: str, role: str, content: Any, **columns: Any) -> int:
        """One more row; a list or an object is stored as Hermes does. Returns its id."""
        stored = content if isinstance(content, str | None) else "\x00json:" + json.dumps(content)
        calls = columns.get("tool_calls")
        if isinstance(calls, list):
            columns["tool_calls"] = json.dumps(calls)
        values = {"session_id": session_id, "role": role, "content": stored, "timestamp": PRESENT, **columns}
        return self._insert("messages", values)

    def chat(self, session_id: str, count: int) -> list[int]:
        """`count` messages of a user and an assistant in turns. Returns their ids."""
        rows = [(session_id, ("user", "assistant")[at % 2], f"{session_id} {at}", PRESENT + at) for at in range(count)]
        with closing(connected(self.path)) as con, con:
            con.executemany("INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)", rows)
            found = con.execute("SELECT id FROM messages WHERE session_id = ? ORDER BY id", [session_id]).fetchall()
        return [row[0] for row in found]

    def call(self, name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
        """A tool call in OpenAI's shape."""
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}

    def _insert(self, table: str, values: dict[str, Any]) -> int:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        with closing(connected(self.path)) as con, con:
            made = con.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values())).lastrowid
        return made or 0


def fill_chat(path: Path) -> None:
    """One session of 80 messages, some 12,000 tokens: all that asking a model needs."""
    create_empty(path)
    add_session(path, "small", title="Small", message_count=80)
    with closing(connected(path)) as con, con:
        con.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('small', ?, ?, ?)",
            [(("user", "assistant")[n % 2], f"Seat {n}A on flight LH{400 + n}. " + _WORDS, 1e9 + n) for n in range(80)],
        )
