"""How a store is opened for reading, and what it can do.

Nothing here writes. A store belongs to another program: it is opened read-only, for one request, and never as an
ordinary file (`docs/hermes.md` section 2: closing a file handle would drop the locks of a connection in this process).
"""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from viewer.stores.base import Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.kind import for_list
from viewer.stores.sqlite import reading as sqlite

from . import postgres
from .columns import Columns, read_columns
from .dialect import StoreConnection

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
