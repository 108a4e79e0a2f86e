"""Hermes Agent by hand: rows as it writes them in SQLite, in our demo store, and in a store on PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from tests.agents.base import STARTED, Agent, Heard, Message


class _ByHand(Agent):
    """Rows as the agent would write them, and read by the rule that it reads by: those that are active, in order."""

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        self.sql(
            "INSERT INTO sessions (id, source, title, model, started_at, message_count) VALUES (?, 'cli', ?, ?, ?, ?)",
            session_id, session_id, "test-model", STARTED, len(messages),
        )  # fmt: skip
        self.insert(_SAID, [_row(session_id, message) for message in messages])

    def say(self, session_id: str, message: Message) -> None:
        self.insert(_SAID, [_row(session_id, message)])

    @abstractmethod
    def insert(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows in one transaction: a session of a hundred messages is no hundred connections."""

    def load(self, session_id: str) -> list[Heard]:
        found = self.sql(
            "SELECT role, content FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id
        )
        return [(role, content) for role, content in found]

    def take_back(self, session_id: str) -> None:
        newest = "SELECT MAX(id) FROM messages WHERE session_id = ? AND active = 1 AND role = 'user'"
        ((request,),) = self.sql(newest, session_id)
        self.sql("UPDATE messages SET active = 0 WHERE session_id = ? AND active = 1 AND id >= ?", session_id, request)


_SAID = (
    "INSERT INTO messages (session_id, role, content, tool_calls, tool_call_id, timestamp) VALUES (?, ?, ?, ?, ?, ?)"
)


def _row(session_id: str, message: Message) -> Sequence[Any]:
    calls = json.dumps(message["tool_calls"]) if "tool_calls" in message else None
    return session_id, message["role"], message["content"], calls, message.get("tool_call_id"), time.time()


def in_file(path: Path, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=20)) as con:
        return con.execute(query, values).fetchall()


class InFile(_ByHand):
    """An agent whose SQLite file is one of another version, or ours."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"sqlite:///{path}")
        self.path = path

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return in_file(self.path, query, values)

    def insert(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with closing(sqlite3.connect(self.path, timeout=20)) as con, con:
            con.executemany(statement, rows)


class Old(InFile):
    """Schema 16: no flag tells what was summarised away, so it is browsed and appended to."""

    can_compact = False


class OnServer(_ByHand):
    """A program of one's own on PostgreSQL."""

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url, autocommit=True) as con:
            cursor = con.execute(query.replace("?", "%s").encode(), values)
            return cursor.fetchall() if cursor.description else []

    def insert(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with psycopg.connect(self.url) as con, con.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s").encode(), rows)


def emptied(source: Path, target: Path) -> Path:
    """A new database with the tables of another, and what those hold that is no session."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target, isolation_level=None)) as new:
        made = old.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        virtual = tuple(f"{name}_" for name, sql in made if sql.startswith("CREATE VIRTUAL"))
        for name, sql in made:
            if sql.startswith(("CREATE VIRTUAL", "CREATE TRIGGER")) or not name.startswith((*virtual, "sqlite_")):
                new.execute(sql)
        new.executemany("INSERT INTO schema_version VALUES (?)", old.execute("SELECT version FROM schema_version"))
    return target
