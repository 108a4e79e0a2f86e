"""The columns a store has, read from it: a version number may hold different ones (`docs/hermes.md` section 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from viewer.stores.tables import table_columns

from .dialect import SQLITE, Dialect, StoreConnection


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names, in order, of the two tables that hold conversations; names of all tables; triggers."""

    messages: tuple[str, ...]
    sessions: tuple[str, ...]
    tables: frozenset[str]
    triggers: tuple[tuple[str, str], ...]  # (name, SQL) of the triggers on `messages`
    dialect: Dialect = SQLITE


def read_columns(con: StoreConnection) -> Columns:
    """The columns of an open SQLite store. A table that is missing has none."""
    names = con.execute("SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master").fetchall()
    return Columns(
        messages=table_columns(con, "messages"),
        sessions=table_columns(con, "sessions"),
        tables=frozenset(name for kind, name, _, _ in names if kind == "table"),
        triggers=tuple((name, sql) for kind, name, table, sql in names if kind == "trigger" and table == "messages"),
    )


def quoted(name: str) -> str:
    """`name` as an SQL identifier; column names come from the database and may be anything."""
    return '"' + name.replace('"', '""') + '"'


def selection(present: tuple[str, ...], wanted: dict[str, str], prefix: str = "") -> str:
    """A SELECT list with every wanted column in order: the column where it is present, else its default SQL value."""
    return ", ".join(
        (f"{prefix}{quoted(name)}" if name in present else default) + f" AS {quoted(name)}"
        for name, default in wanted.items()
    )


def marks(values: Sequence[Any]) -> str:
    """As many question marks as values, for an IN list."""
    return ", ".join("?" * len(values))
