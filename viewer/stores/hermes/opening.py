"""How a store is opened for reading, and what it can do.

Nothing here writes. A store belongs to another program: it is opened read-only, for one request, and never as an
ordinary file (`docs/hermes.md` section 2: closing a file handle would drop the locks of a connection in this process).
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings

from viewer.stores.base import Capabilities, Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.kind import for_list
from viewer.stores.sqlite import reading as sqlite

from . import postgres
from .columns import Columns, read_columns
from .dialect import POSTGRES, StoreConnection

# Seconds until a write counts as done. A file system stores times in steps of some milliseconds: two writes in one step
# look like one. And others see a write to the log only when it is safe on disk, which may take a second on a slow disk:
# a reader in between reads the old content, in files that look as they will afterwards.
SETTLED = 2.0
REQUIRED = {
    "messages": {"id", "session_id", "role", "content", "timestamp"},
    "sessions": {"id", "source", "started_at"},
}


@dataclass(frozen=True, slots=True)
class OpenStore:
    """An open read-only connection to a store with its columns. Read lists, never keep a cursor open."""

    store: Store
    con: StoreConnection
    columns: Columns


# -- which stores ----------------------------------------------------------------------------------------------------


# -- opening ---------------------------------------------------------------------------------------------------------


@contextmanager
def open_store(store: Store, *, listed: bool = False) -> Iterator[OpenStore]:
    """A read-only connection for one request. Raises StoreUnavailable, also when the file was replaced meanwhile.

    For a list of several stores (`listed`) a locked one is hardly waited for.
    """
    if listed:
        with for_list(store), _open(store, sqlite.LIST_SECONDS) as reader:
            yield reader
    else:
        with _open(store, sqlite.BUSY_SECONDS) as reader:
            yield reader


@contextmanager
def _open(store: Store, patience: float) -> Iterator[OpenStore]:
    if store.is_on_server:
        with postgres.reading(store.name, store.url, patience) as session:
            server_columns = columns_of(store, session)
            check_is_store(store, server_columns)
            yield OpenStore(store, session, server_columns)
        return
    before = identity(store)
    con = sqlite.connected(store.name, store.path, patience)
    try:
        columns = read_columns(con)
        check_is_store(store, columns)
        yield OpenStore(store, con, columns)
        if identity(store) != before:
            raise StoreUnavailable(
                f"The file of store {store.name} was replaced while it was read. Load the page again."
            )
        if con.was_written:
            raise StoreUnavailable(f"Store {store.name} was written while it was read. Load the page again.")
    except sqlite3.Error as problem:
        raise sqlite.unavailable(store.name, store.path, problem) from problem
    finally:
        con.close()


def columns_of(store: Store, con: StoreConnection) -> Columns:
    """The columns of an open store."""
    return postgres.read_columns(con) if store.is_on_server else read_columns(con)


def identity(store: Store) -> tuple[int, int]:
    """Device and inode of the store's file (an open connection continues to read a file that was replaced); on a
    server, the numbers of its database. Raises StoreUnavailable.
    """
    if store.is_on_server:
        return postgres.identity(store.name, store.url)
    try:
        status = os.stat(store.path)
    except OSError as problem:
        raise StoreUnavailable(f"Store {store.name}: {store.path} cannot be read: {problem.strerror}.") from problem
    if not stat.S_ISREG(status.st_mode):
        raise StoreUnavailable(f"Store {store.name}: {store.path} is not a file.")
    return status.st_dev, status.st_ino


def store_version(store: Store) -> str:
    """A text that changes whenever the store's file or its write-ahead log is written: two equal ones mean that nothing
    was written in between. Within SETTLED seconds of a write, no two are equal. The files are not opened.

    Raises StoreUnavailable.
    """
    if store.is_on_server:
        return postgres.store_version(store.name, store.url)
    device, inode = identity(store)
    stamps = [sqlite.stamp(f"{store.path}{suffix}") for suffix in ("", "-wal")]
    now = time.time_ns()
    unsettled = now - max(changed for _, *times in stamps for changed in times) < SETTLED * 1e9
    return f"{device} {inode} {stamps}" + (f" {now}" if unsettled else "")


def check_is_store(store: Store, columns: Columns) -> None:
    """Raise StoreUnavailable for a database without the columns that every session and message has."""
    missing = [
        f"{table}.{name}"
        for table, names in REQUIRED.items()
        for name in sorted(names - set(columns.messages if table == "messages" else columns.sessions))
    ]
    if missing:
        raise StoreUnavailable(
            f"Store {store.name}: {store.place} is a database, but not of agent sessions (no {', '.join(missing[:3])})."
        )


# -- what a store can do ---------------------------------------------------------------------------------------------


def capabilities(reader: OpenStore) -> Capabilities:
    """What this store can do: from its columns, tables, triggers and the file's permissions, never its version."""
    columns = reader.columns
    return Capabilities(
        schema=_schema(reader),
        sessions=reader.con.execute("SELECT COUNT(*) FROM sessions").fetchone()[0],
        size=_size(reader),
        compact_reason=compact_reason(reader),
        search="messages_fts" in columns.tables,
        summary_flag="_compressed_summary" in columns.messages,
        turn_leases="session_turn_leases" in columns.tables,
    )


def _size(reader: OpenStore) -> int:
    return postgres.size(reader.con) if reader.store.is_on_server else reader.store.path.stat().st_size


def compact_reason(reader: OpenStore) -> str:
    """Why sessions of this store cannot be compacted in place, as one sentence; "" when they can."""
    columns = reader.columns
    if "active" not in columns.messages:
        return _UNTOLD
    if "compacted" not in columns.messages:
        return (
            f"This store has schema {_schema(reader) or 'unknown'}, whose messages have no “compacted” column: "
            "its agent can only split a session in two. Update the agent to compact in place, or split it as the agent "
            f"does: choose that for the store in Settings, or {settings.COMMAND} compact --mode split."
        )
    return _lock_reason(reader) or _write_reason(reader)


def split_reason(reader: OpenStore) -> str:
    """Why no session of this store can be compacted by splitting it, as one sentence; "" when one can."""
    return branch_reason(reader) or _lock_reason(reader)


def _lock_reason(reader: OpenStore) -> str:
    if "compression_locks" not in reader.columns.tables:
        return "This store lacks the compression lock that its agent and this site would share."
    present = {"messages": reader.columns.messages, "sessions": reader.columns.sessions}
    return _unknown(f"{table}.{name}" for table, name in _COMPACTED if name not in present[table])


_COMPACTED = (
    *(("messages", "tool_calls"), ("messages", "tool_call_id")),
    *(("sessions", "message_count"), ("sessions", "end_reason")),
)


def _unknown(missing: Iterable[str]) -> str:
    """Why nothing is written to a store without these columns; "" where none is missing."""
    names = ", ".join(missing)
    return f"The form of this store is not known here (no {names}): nothing is written to it." if names else ""


_UNTOLD = "The messages of this store have no “active” flag: what is in context is not known."


def branch_reason(reader: OpenStore) -> str:
    """Why no session can be branched off in this store, as one sentence; "" when one can."""
    if "active" not in reader.columns.messages:
        return _UNTOLD
    if not {"parent_session_id", "model_config", "title", "message_count", "end_reason"} <= set(
        reader.columns.sessions
    ):
        return "The sessions of this store have no place to say that one is a branch of another."
    return _write_reason(reader)


def create_reason(reader: OpenStore) -> str:
    """Why no session can be created in this store, as one sentence; "" when one can."""
    if "active" not in reader.columns.messages:
        return _UNTOLD
    return _write_reason(reader)


def append_reason(reader: OpenStore) -> str:
    """Why no message can be appended in this store, for any purpose; "" when it can."""
    if "end_reason" not in reader.columns.sessions:
        return "The sessions of this store do not say whether a conversation goes on in another one (no “end_reason”)."
    return _UNTOLD if "active" not in reader.columns.messages else _unknown(reader.columns.unknown)


def _write_reason(reader: OpenStore) -> str:
    """Why no message can be written here, for any purpose; "" when it can."""
    columns = reader.columns
    if columns.unknown:
        return _unknown(columns.unknown)
    if columns.dialect is POSTGRES:
        return postgres.write_reason(reader.con)
    path = reader.store.path
    if _has_unset_flags(reader):
        return "Some messages of this store have no “active” flag yet: let its agent start once, which sets them."
    if any("messages_fts_cjk" in name for name, _ in columns.triggers):
        return "This store's search index needs the cjk_unicode61 tokenizer, which is not here; writing would fail."
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        return f"{path} cannot be written by this user."
    return ""


def _has_unset_flags(reader: OpenStore) -> bool:
    """Builds that made `active` nullable left it NULL in old rows; the agent reads NULL as 1 after its next start."""
    column = next(row for row in reader.con.execute("PRAGMA table_info(messages)").fetchall() if row[1] == "active")
    if column[3]:  # NOT NULL
        return False
    return reader.con.execute("SELECT 1 FROM messages WHERE active IS NULL LIMIT 1").fetchone() is not None


def _schema(reader: OpenStore) -> int | None:
    if "schema_version" not in reader.columns.tables:
        return None
    row = reader.con.execute("SELECT MAX(version) FROM schema_version").fetchone()
    return int(row[0]) if row and isinstance(row[0], int) else None
