"""The columns of a store, read from it: stores of one version number may have different ones (`docs/hermes.md` section
1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewer.stores.sqlite.tables import table_columns

from .dialect import SQLITE, Dialect, StoreConnection


@dataclass(frozen=True, slots=True)
class Columns:
    """Column names, in order, of the two tables with conversations; names of all tables; triggers. `unknown` are the
    columns that the tables of locks and leases lack, as "table.column": their holders cannot be read.
    """

    messages: tuple[str, ...]
    sessions: tuple[str, ...]
    tables: frozenset[str]
    triggers: tuple[tuple[str, str], ...]  # (name, SQL) of the triggers on `messages`
    dialect: Dialect = SQLITE
    unknown: tuple[str, ...] = ()

    def is_known(self, table: str) -> bool:
        """Whether the store has this table of locks or leases, in the known form."""
        return table in self.tables and not any(name.startswith(f"{table}.") for name in self.unknown)


_HELD_BY = ("holder", "acquired_at", "expires_at")
HOLDS = {"compression_locks": ("session_id", *_HELD_BY), "session_turn_leases": ("conversation_id", *_HELD_BY)}


def unknown_holds(columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """`Columns.unknown` for these tables and columns; a store may have none of the tables."""
    return tuple(
        f"{table}.{name}"
        for table, names in HOLDS.items()
        for name in names
        if columns.get(table) and name not in columns[table]
    )


def read_columns(con: StoreConnection) -> Columns:
    """The columns of an open SQLite store. A missing table has none."""
    names = con.execute("SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_master").fetchall()
    return Columns(
        messages=table_columns(con, "messages"),
        sessions=table_columns(con, "sessions"),
        tables=frozenset(name for kind, name, _, _ in names if kind == "table"),
        triggers=tuple((name, sql) for kind, name, table, sql in names if kind == "trigger" and table == "messages"),
        unknown=unknown_holds({table: table_columns(con, table) for table in HOLDS}),
    )


def quoted(name: str) -> str:
    """`name` as an SQL identifier; column names come from the database and may be any text."""
    return '"' + name.replace('"', '""') + '"'


def selection(present: tuple[str, ...], defaults_by_name: dict[str, str], prefix: str = "") -> str:
    """A SELECT list with every requested column in order: the column where it is present, else its
    default SQL value.
    """
    return ", ".join(
        (f"{prefix}{quoted(name)}" if name in present else default) + f" AS {quoted(name)}"
        for name, default in defaults_by_name.items()
    )


def marks(values: Sequence[Any]) -> str:
    """As many question marks as values, for an IN list."""
    return ", ".join("?" * len(values))
