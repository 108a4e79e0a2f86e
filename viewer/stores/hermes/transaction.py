"""One write transaction on a shared database: opened read-write, retried with the agent's patience, closed at once.

No pragma but `foreign_keys` is changed; the journal mode, the WAL and the file stay the agent's (`docs/hermes.md`
section 2).
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from viewer.stores.base import Store
from viewer.stores.errors import StoreReadOnly, StoreUnavailable
from viewer.stores.sqlite import reading as sqlite
from viewer.stores.sqlite.writing import LOCKED, NOT_WRITABLE, code_of, opened

from . import postgres_transaction
from .database import check_is_store, columns_of, identity
from .dialect import StoreConnection

PATIENCE = 20.0  # seconds to wait for another writer: the agent's own for routine writes
COMMIT_PATIENCE = 5.0  # seconds to wait for readers in journal mode "delete"; nobody else can write meanwhile
EAGER = 2.0  # seconds of short pauses before longer ones


@contextmanager
def write(store: Store, planned_identity: tuple[int, int] | None = None) -> Iterator[StoreConnection]:
    """A connection inside BEGIN IMMEDIATE, committed at the end and rolled back on any exception.

    On a server, inside a transaction that is the only writer. Refuses what cannot be opened for reading, with the same
    error.

    `planned_identity` is the identity of the file that the work was planned on. Raises StoreUnavailable (locked beyond
    patience, damaged, replaced, disk full) or StoreReadOnly; then nothing was written.
    """
    before = identity(store)
    if planned_identity is not None and before != planned_identity:
        raise StoreUnavailable(
            f"The file of store {store.name} was replaced since the plan was made; nothing was written."
        )
    if store.is_on_server:
        with postgres_transaction.write(store.name, store.url) as session:
            check_is_store(store, columns_of(store, session))
            yield session
        return
    con, patience = open_for_writing(store), PATIENCE
    try:
        _patiently(con, "BEGIN IMMEDIATE", patience)
        try:
            check_is_store(store, columns_of(store, con))
            yield con
            if identity(store) != before:
                raise StoreUnavailable(f"The file of store {store.name} was replaced meanwhile; nothing was written.")
            patience = COMMIT_PATIENCE
            _patiently(con, "COMMIT", patience)
        except BaseException:
            if con.in_transaction:
                with suppress(sqlite3.Error):  # on a failing disk; the first failure is the one to report
                    con.execute("ROLLBACK")
            raise
    except sqlite3.Error as problem:
        raise _refusal(store, problem, patience) from problem
    finally:
        con.close()


def open_for_writing(store: Store) -> sqlite3.Connection:
    """A connection to the file of a store. Raises StoreError."""
    try:
        return opened(store.path, 1.0)
    except sqlite3.Error as problem:
        raise _refusal(store, problem, 0) from problem


def _patiently(con: sqlite3.Connection, statement: str, patience: float) -> None:
    started = time.monotonic()
    while True:
        try:
            con.execute(statement)
            return
        except sqlite3.OperationalError as problem:
            waited = time.monotonic() - started
            if code_of(problem) not in LOCKED or waited > patience:
                raise
            time.sleep(random.uniform(0.02, 0.15) if waited < EAGER else random.uniform(0.25, 1.0))


def _refusal(store: Store, problem: sqlite3.Error, patience: float) -> StoreUnavailable | StoreReadOnly:
    if "no such tokenizer" in str(problem):
        return StoreReadOnly(
            f"The search index of store {store.name} needs a tokenizer that is not here; nothing was written."
        )
    kind, nothing = code_of(problem), "nothing was written"
    if kind in NOT_WRITABLE:
        return StoreReadOnly(
            f"Store {store.name} cannot be written by this user: {store.path} or its directory is read-only; {nothing}."
        )
    if kind == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"The disk of store {store.name} is full; {nothing}. Make room and try again.")
    if kind == sqlite3.SQLITE_IOERR:
        return StoreUnavailable(f"The disk of store {store.name} failed or has no room left ({problem}); {nothing}.")
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreUnavailable(f"{sqlite.unavailable(store.name, store.path, problem).message} Nothing was written.")
    if kind in LOCKED:
        return StoreUnavailable(
            f"Store {store.name} stayed locked by another program for {patience:.0f} s; {nothing}. Try again."
        )
    return sqlite.unavailable(store.name, store.path, problem)
