"""The tables of an SQLite database that an agent keeps."""

from __future__ import annotations

from typing import Any, Protocol


class Queries(Protocol):
    """An open database that answers queries."""

    def execute(self, sql: str, values: Any = (), /) -> Any: ...


def table_columns(con: Queries, table: str) -> tuple[str, ...]:
    """The columns of a table, in order; none where there is no such table. Views and virtual tables do not count,
    whoever created them: reading one may never end, while a table ends with its file.
    """
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = ? AND sql LIKE 'CREATE TABLE%'"
    if not con.execute(query, (table.lower(),)).fetchall():
        return ()
    return tuple(row[1] for row in con.execute(f"PRAGMA table_info({table})").fetchall())
