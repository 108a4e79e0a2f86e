"""The rows that were really added and removed in a write transaction, by any statement.

A store may have triggers that neither this site nor its agent wrote. The results of our own statements do not include
theirs, so every row that is added or removed is counted: in SQLite by triggers of our connection in its temporary
schema (nothing of them reaches the file), in PostgreSQL by the server.
"""

from __future__ import annotations

from viewer.stores.errors import WriteDisturbed

from .columns import Columns
from .dialect import SQLITE, StoreConnection

_TABLES = ("messages", "sessions")
# If that is switched off, the server counts nothing, and nothing can be checked.
_COUNTED = (
    "SELECT relname, n_tup_ins, n_tup_del FROM pg_stat_xact_user_tables "
    "WHERE relid IN ('messages'::regclass, 'sessions'::regclass) AND current_setting('track_counts') = 'on'"
)


class Tally:
    """Counts from now to the end of the transaction. Made once in it, before the first write."""

    def __init__(self, con: StoreConnection, columns: Columns) -> None:
        self._con, self._here = con, columns.dialect is SQLITE
        if not self._here:
            return
        con.execute("CREATE TEMP TABLE palimpsest_rows (name, added, removed)")
        for table in _TABLES:
            con.execute("INSERT INTO palimpsest_rows VALUES (?, 0, 0)", [table])
            for event, column in (("INSERT", "added"), ("DELETE", "removed")):
                con.execute(
                    f"CREATE TEMP TRIGGER palimpsest_{table}_{column} AFTER {event} ON main.{table} BEGIN "
                    f"UPDATE palimpsest_rows SET {column} = {column} + 1 WHERE name = '{table}'; END"
                )

    def check(self, *, messages: int = 0, sessions: int = 0) -> None:
        """Raise WriteDisturbed unless exactly so many rows were added, and none was removed."""
        query = "SELECT name, added, removed FROM palimpsest_rows" if self._here else _COUNTED
        expected = {"messages": (messages, 0), "sessions": (sessions, 0)}
        if any(expected[name] != (added, removed) for name, added, removed in self._con.execute(query).fetchall()):
            raise WriteDisturbed
