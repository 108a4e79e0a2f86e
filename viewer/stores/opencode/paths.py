"""Where OpenCode's sessions are: the database in a data directory, and the rows of its sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewer.stores.base import Store
from viewer.stores.clean_text import line
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.jsonl.files import FileState
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.links import regular_file
from viewer.stores.jsonl.listing import number_of
from viewer.stores.listing import is_askable
from viewer.stores.sqlite import reading
from viewer.stores.sqlite.reading import ReadOnlyConnection
from viewer.stores.sqlite.tables import table_columns

NAME = "opencode.db"
KNOWN_MIGRATION = "20260622202450_simplify_session_input"  # the newest one of OpenCode 1.18.33
NEEDED = {
    "session": {"id", "directory", "title", "time_created", "time_updated"},
    "message": {"id", "session_id", "time_created", "time_updated", "data"},
    "part": {"id", "message_id", "time_updated", "data"},
}
_COLUMNS = (
    "id", "parent_id", "directory", "title", "version", "model", "revert", "time_created", "time_updated",
    "time_archived", "cost", "tokens_input", "tokens_output", "tokens_reasoning", "tokens_cache_read",
    "tokens_cache_write",
)  # fmt: skip
LONGEST_TITLE = 500  # characters
_UNNAMED = ("New session - ", "Child session - ")  # followed by a time: nobody gave the session a title


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session's row: the columns of these names, None where they are NULL or missing, and how many messages and parts
    it has. `newest` is the time of its newest message in milliseconds.
    """

    id: str
    values: dict[str, Any]
    messages: int
    parts: int
    newest: int

    @property
    def number(self) -> int:
        return number_of(self.id)

    @property
    def state(self) -> FileState:
        """What differs whenever something is written to it, as that of a session in a file."""
        changed = max(self.newest, whole(self.values.get("time_updated")))
        return FileState(whole(self.values.get("time_created")), self.messages, self.parts, changed * 1_000_000)

    @property
    def title(self) -> str:
        title = line(self.text("title"), LONGEST_TITLE)
        return "" if title.startswith(_UNNAMED) else title

    @property
    def revert(self) -> str:
        """The message from which on the next prompt deletes all; "" for none."""
        return _text(_object(self.text("revert")).get("messageID"))

    @property
    def model(self) -> str:
        return _text(_object(self.text("model")).get("id"))

    def text(self, name: str) -> str:
        return _text(self.values.get(name))


def database(store: Store) -> Path:
    """The store's database: its address names the file, or the directory that it is in."""
    path = store.path
    return path if path.suffix == ".db" else path / NAME


def identity(store: Store) -> tuple[int, int]:
    """The numbers of the database's file. Raises StoreUnavailable, also for a link to a file elsewhere."""
    path = database(store)
    try:
        status = regular_file(path)
    except OSError as problem:
        reason = problem.strerror or problem
        raise StoreUnavailable(f"Store {store.name}: {path} cannot be read: {reason}.") from problem
    return status.st_dev, status.st_ino


@contextmanager
def connected(store: Store, patience: float) -> Iterator[ReadOnlyConnection]:
    """A read-only connection to a database of sessions. Raises StoreUnavailable, also for what fails inside."""
    path = database(store)
    identity(store)
    con = reading.connected(store.name, path, patience)
    try:
        for table, names in NEEDED.items():
            if missing := names.difference(table_columns(con, table)):
                what = f"no {table}.{min(missing)}"
                raise StoreUnavailable(f"Store {store.name}: {path} has no sessions in a known form ({what}).")
        yield con
        if con.was_written:
            raise StoreUnavailable(f"Store {store.name} was written while it was read. Load the page again.")
    except sqlite3.Error as problem:
        raise reading.unavailable(store.name, path, problem) from problem
    finally:
        con.close()


def session_rows(con: sqlite3.Connection, session_id: str | None = None) -> list[SessionRow]:
    """The rows of all sessions, or of this one."""
    there = set(table_columns(con, "session"))
    columns = ", ".join(f"s.{name}" if name in there else f"NULL AS {name}" for name in _COLUMNS)
    query = f"""SELECT (SELECT count(*) FROM message WHERE session_id = s.id),
        (SELECT count(*) FROM part WHERE message_id IN (SELECT id FROM message WHERE session_id = s.id)),
        (SELECT max(time_created) FROM message WHERE session_id = s.id), {columns} FROM session s"""
    if session_id is None:
        rows = con.execute(query).fetchall()
    else:
        rows = con.execute(f"{query} WHERE s.id = ?", (session_id,)).fetchall() if is_askable(session_id) else []
    return [
        SessionRow(row[3], dict(zip(_COLUMNS, row[3:], strict=True)), row[0], row[1], whole(row[2]))
        for row in rows
        if is_askable(row[3])
    ]


def session_row(con: sqlite3.Connection, store: Store, session_id: str) -> SessionRow:
    """The row of a session. Raises NotFound."""
    for row in session_rows(con, session_id):
        return row
    raise NotFound(f"Store {store.name} has no session {session_id!r}.")


def newest_migration(con: sqlite3.Connection) -> str:
    """The newest change of the client's tables that was made to this database, "" where none is recorded."""
    if "id" not in table_columns(con, "migration"):
        return ""
    return _text(con.execute("SELECT max(id) FROM migration").fetchone()[0])


def whole(value: Any) -> int:
    """A stored time in milliseconds, or a count; 0 for anything else."""
    return value if isinstance(value, int) and 0 < value < 2**43 else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _object(text: str) -> dict[str, Any]:
    return decoded(text.encode("utf-8", "replace")) or {}
