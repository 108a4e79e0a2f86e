"""Sessions and rows added to a copy of a store, and a reader of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from viewer.stores.base import Store
from viewer.stores.hermes import schema
from viewer.stores.hermes.reader import HermesReader as Reader
from viewer.stores.hermes.reader import open_store

WEEK_29 = "20260714_043320_a80629"

WEEK_30_TIP = "20260715_063924_8490d0"


def store_at(path: Path) -> Store:
    return Store("test", f"sqlite:///{path}", "configured")


@contextmanager
def reader_of(path: Path) -> Iterator[Reader]:
    with open_store(store_at(path)) as reader:
        yield reader


def add_session(path: Path, session_id: str = "s1", **columns: Any) -> None:
    values = {"id": session_id, "source": "cli", "started_at": 1.0, **columns}
    with sqlite3.connect(path) as con:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        con.execute(f"INSERT INTO sessions ({names}) VALUES ({marks})", list(values.values()))
    con.close()


def add_row(path: Path, session_id: str = "s1", **columns: Any) -> int:
    values = {"session_id": session_id, "role": "user", "timestamp": 2.0, **columns}
    with sqlite3.connect(path) as con:
        names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
        cursor = con.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", list(values.values()))
    con.close()
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def small_talk(path: Path, messages: int, **columns: Any) -> Path:
    """A store of our own with one session of so many messages, user and assistant in turn."""
    schema.create(path)
    add_session(path, title="Small talk", message_count=messages, **columns)
    for number in range(messages):
        add_row(path, role=("user", "assistant")[number % 2], content=f"message {number}", timestamp=10.0 + number)
    return path
