"""A store on a real PostgreSQL server with the rows of a SQLite one, as another program would fill it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from viewer.stores.base import Store
from viewer.stores.hermes import postgres, schema_postgres

TABLES = ("system_prompts", "sessions", "messages", "compression_locks", "session_turn_leases")
ODD = "odd"  # a session of texts that PostgreSQL, JSON or an index takes another way
_numbers = count(1)


def place(server: str) -> str:
    """The URL of a new, empty schema: much quicker to have than a database. What waits for more work with others is
    closed: a process of tests has hundreds of them, and a server not as many connections.
    """
    postgres.close()
    name = f"store{next(_numbers)}"
    with psycopg.connect(server, autocommit=True) as con:
        con.execute(f"CREATE SCHEMA {name}".encode())
    return f"{server}&options=-csearch_path%3D{name}"


def empty(server: str, name: str = "pg") -> Store:
    """A new store."""
    made = Store(name, place(server), "configured")
    schema_postgres.create(made.name, made.url)
    return made


def owner(store: Store, sql: str, *values: Any) -> list[Any]:
    """Another program writes to the store, or asks."""
    with psycopg.connect(store.url, autocommit=True) as con:
        cursor = con.execute(sql.encode(), values)
        return cursor.fetchall() if cursor.description else []


def filled(server: str, path: Path, name: str = "pg") -> Store:
    """A new store with every row of this SQLite store, as far as ours have a column for a value."""
    made = empty(server, name)
    with closing(sqlite3.connect(path)) as con, psycopg.connect(made.url) as target:
        target.execute("SET session_replication_role = replica")  # parents may come after their children
        target.execute("ALTER TABLE messages ENABLE ALWAYS TRIGGER messages_words")
        for table in TABLES:
            _copy(con, target, table)
        target.execute("SELECT setval(pg_get_serial_sequence('messages', 'id'), (SELECT max(id) FROM messages))")
        target.execute("ALTER TABLE messages ENABLE TRIGGER messages_words")
    owner(made, "ANALYZE")
    return made


def _copy(con: sqlite3.Connection, target: psycopg.Connection[Any], table: str) -> None:
    present = [row[1] for row in con.execute(f"PRAGMA table_info({table})")]
    cursor = target.execute(f"SELECT * FROM {table} LIMIT 0".encode())
    columns = [column.name for column in cursor.description or [] if column.name in present]
    if not columns:
        return
    listed = ", ".join(f'"{name}"' for name in columns)
    rows = con.execute(f"SELECT {listed} FROM {table} ORDER BY rowid").fetchall()
    with target.cursor().copy(f"COPY {table} ({listed}) FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(_held(row))


def _held(row: Sequence[Any]) -> list[Any]:
    """Values as PostgreSQL holds them (`docs/postgres.md`)."""
    return [value.replace("\x00json:", "\x01json:", 1) if isinstance(value, str) else value for value in row]


def add_odd_rows(path: Path) -> None:
    """The session ODD, in a SQLite store."""
    parts = [{"type": "text", "text": "naïve parts in Ünïcode, 日本語の検索"}, {"type": "image_url", "image_url": {}}]
    contents = [
        "\x00json:" + json.dumps(parts),
        "\x00json:[broken",
        "\x01 begins with another sign, and json: stands in it",
        "  \t white space\r\n around  ",
        "naïve, ünïcode, commit 5e3ab1e0x1f in /srv/app/release_notes.md of 10e6 bytes; Straße, ΟΔΥΣΣΕΥΣ, Żółw, हिन्दी",
        "日本語の検索は二文字でも",
        "100% of \\ backslashes_and ' quotes ?",
        "word " * 30_000 + "farbehind",
        "\ue000 private \U0001f600 whole pair",
        "",
    ]
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("INSERT INTO sessions (id, source, model, started_at) VALUES (?, 'cli', 'gpt-4o', 1.7e9)", [ODD])
        con.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
            [(ODD, ("user", "assistant")[at % 2], text, 1.7e9 + at) for at, text in enumerate(contents)],
        )
