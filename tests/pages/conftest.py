"""Stores for the pages' tests: copies of real databases, the demo store, and one written row by row."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.pages.screens import screen, visit
from tests.runs.desk import at_once, open_desk
from tests.runs.misbehaving import service, use
from tests.support.statements import traced_statements

__all__ = ["at_once", "open_desk", "screen", "service", "use", "visit"]

PRESENT = 1_790_000_000.0  # a time within the past of whoever runs the tests


@dataclass(frozen=True)
class Book:
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
        with closing(sqlite3.connect(self.path)) as con, con:
            con.executemany("INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)", rows)
            found = con.execute("SELECT id FROM messages WHERE session_id = ? ORDER BY id", [session_id]).fetchall()
        return [row[0] for row in found]

    def call(self, name: str, call_id: str, **arguments: Any) -> dict[str, Any]:
        """A tool call in OpenAI's shape."""
        return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}

    def _insert(self, table: str, values: dict[str, Any]) -> int:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        with closing(sqlite3.connect(self.path)) as con, con:
            made = con.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values())).lastrowid
        return made or 0


@pytest.fixture
def book(tmp_path: Path, settings: Settings) -> Book:
    from viewer.stores.hermes import schema

    path = tmp_path / "own.db"
    schema.create(path)
    settings.STORES = {"own": f"sqlite:///{path}"}
    return Book(path)


@pytest.fixture(scope="session")
def demo_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.support.odd_demo import make_odd_demo

    path = tmp_path_factory.mktemp("demo") / "demo.db"
    make_odd_demo(path)
    return path


@pytest.fixture
def demo(demo_original: Path, tmp_path: Path, settings: Settings) -> Callable[[str], str]:
    """The demo store alone, with the odd sessions; a function from a session's title to the address of its page."""
    path = tmp_path / "demo.db"
    shutil.copyfile(demo_original, path)
    settings.STORES = {}
    settings.DEMO_STORE = path

    def address(title: str) -> str:
        with closing(sqlite3.connect(path)) as con:
            found = con.execute("SELECT id FROM sessions WHERE title = ?", [title]).fetchone()
        return f"/stores/demo/sessions/{found[0]}"

    return address


@pytest.fixture
def counted(db: None) -> Callable[[str, str], None]:
    """A function that counts all tokens of a session (its store's name and its id), as a worker does."""
    from viewer.history import indexes
    from viewer.stores.hermes.reader import open_store
    from viewer.stores.hermes.sessions import get_session
    from viewer.stores.registry import get_store
    from viewer.stores.transcript import NONE

    def count(store: str, session_id: str) -> None:
        with open_store(get_store(store)) as reader:
            assert NONE not in indexes.count_some(reader, get_session(reader, session_id), 60).tokens

    return count


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every SQL statement that is run on a store from now on."""
    return traced_statements(monkeypatch)
