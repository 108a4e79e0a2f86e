"""One write transaction on a store on PostgreSQL, with the guarantee of `transaction.write`: nobody else writes
meanwhile.

SQLite has one lock for all writers; here the tables' own locks are taken, in the mode that lets everybody read. Others
are waited for in short turns: a process that waits for a lock blocks those after it, and if two wait for each other
PostgreSQL ends one. A turn is short enough that this is never the other program: PostgreSQL looks for such pairs after
a second of waiting, and checks the process that began first.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import psycopg

from viewer.stores.errors import StoreReadOnly, StoreUnavailable

from .postgres import PostgresConnection, connected, read_columns, unavailable

PATIENCE = 20.0  # seconds to wait for other writers
TURN = 1_500  # milliseconds of one turn
ASKED_AGAIN = 20.0  # seconds to find out whether a commit with a lost answer succeeded
_TABLES = ("sessions", "messages", "compression_locks", "session_turn_leases")
_LOCKED = (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected)
_READ_ONLY = (psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)


@contextmanager
def write(name: str, url: str) -> Iterator[PostgresConnection]:
    """A connection in a transaction that is the only writer, committed at the end and rolled back on any exception.

    Raises StoreUnavailable or StoreReadOnly; then nothing was written.
    """
    with closing(connected(name, url)) as con:
        try:
            _begin(con)
            xid = con.execute(b"SELECT CAST(pg_current_xact_id() AS text)").fetchone()
            yield PostgresConnection(con)
        except psycopg.Error as problem:
            raise _refusal(name, problem) from problem
        except BaseException:
            with suppress(psycopg.Error):  # the first failure is the one to report
                con.execute(b"ROLLBACK")
            raise
        _commit(name, url, con, xid[0] if xid else "")


def _begin(con: psycopg.Connection[tuple[str, ...]]) -> None:
    started = time.monotonic()
    while True:
        try:
            con.execute(
                b"BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE; "
                b"SET LOCAL statement_timeout = '120s'; SET LOCAL idle_in_transaction_session_timeout = '120s'"
            )
            present = read_columns(PostgresConnection(con)).tables
            con.execute(f"SET LOCAL lock_timeout = {TURN}".encode())
            tables = ", ".join(table for table in _TABLES if table in present)
            con.execute(f"LOCK TABLE {tables} IN SHARE ROW EXCLUSIVE MODE".encode())
            return
        except _LOCKED:
            con.execute(b"ROLLBACK")
            if time.monotonic() - started > PATIENCE:
                raise
            time.sleep(random.uniform(0.02, 0.15))


def _commit(name: str, url: str, con: psycopg.Connection[tuple[str, ...]], xid: str) -> None:
    try:
        con.execute(b"COMMIT")
    except psycopg.OperationalError as problem:
        if not con.broken or not _is_committed(name, url, xid):
            raise _refusal(name, problem) from problem
    except psycopg.Error as problem:
        raise _refusal(name, problem) from problem


def _is_committed(name: str, url: str, xid: str) -> bool:
    """Whether a transaction whose connection broke during its commit succeeded. No answer is better than
    a wrong one.
    """
    started = time.monotonic()
    while time.monotonic() - started < ASKED_AGAIN:
        with suppress(StoreUnavailable, psycopg.Error), closing(connected(name, url)) as con:
            row = con.execute(b"SELECT pg_xact_status(CAST($1 AS xid8))", [xid]).fetchone()
            if row and row[0] != "in progress":
                return bool(row[0] == "committed")
        time.sleep(0.2)
    return False


def _refusal(name: str, problem: psycopg.Error) -> StoreUnavailable | StoreReadOnly:
    nothing = "nothing was written"
    if isinstance(problem, _LOCKED):
        return StoreUnavailable(
            f"Store {name} stayed locked by another program for {PATIENCE:.0f} s; {nothing}. Try again."
        )
    if isinstance(problem, _READ_ONLY):
        return StoreReadOnly(f"The user of the URL of store {name} may not write to it; {nothing}.")
    if isinstance(problem, psycopg.errors.DiskFull):
        return StoreUnavailable(f"The disk of store {name} is full; {nothing}. Make room and try again.")
    return StoreUnavailable(f"{unavailable(name, problem).message} Nothing was written.")
