"""The columns a store has, read from it: a version number may hold different ones (`docs/hermes.md` section 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewer.stores.tables import table_columns

from .dialect import SQLITE, Dialect, StoreConnection


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names, in order, of the two tables that hold conversations; names of all tables; triggers. `unknown` are
    the columns that the tables of locks and leases lack, as "table.column": who holds them cannot be told.
    """

    messages: tuple[str, ...]
    sessions: tuple[str, ...]
    tables: frozenset[str]
    triggers: tuple[tuple[str, str], ...]  # (name, SQL) of the triggers on `messages`
    dialect: Dialect = SQLITE
    unknown: tuple[str, ...] = ()

    def is_known(self, table: str) -> bool:
        """Whether the store has this table of locks or leases, in the form that is known."""
        return table in self.tables and not any(name.startswith(f"{table}.") for name in self.unknown)


_HELD_BY = ("holder", "acquired_at", "expires_at")
HOLDS = {"compression_locks": ("session_id", *_HELD_BY), "session_turn_leases": ("conversation_id", *_HELD_BY)}


def unknown_holds(columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """`Columns.unknown`, given the columns of these tables; a store may have none of them."""
    return tuple(
        f"{table}.{name}"
        for table, names in HOLDS.items()
        for name in names
        if columns.get(table) and name not in columns[table]
    )


def read_columns(con: StoreConnection) -> Columns:
    """The columns of an open SQLite store. A table that is missing has none."""
    names = con.execute("SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master").fetchall()
    return Columns(
        messages=table_columns(con, "messages"),
        sessions=table_columns(con, "sessions"),
        tables=frozenset(name for kind, name, _, _ in names if kind == "table"),
        triggers=tuple((name, sql) for kind, name, table, sql in names if kind == "trigger" and table == "messages"),
        unknown=unknown_holds({table: table_columns(con, table) for table in HOLDS}),
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
