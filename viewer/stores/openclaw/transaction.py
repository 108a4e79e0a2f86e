"""One write transaction on a database of OpenClaw, all or nothing.

No pragma but `foreign_keys` is changed; the journal mode, the schema number and the file stay the client's.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from viewer.stores.errors import StoreReadOnly, StoreUnavailable

from . import database

NOTHING = "Nothing was written."
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)


@contextmanager
def writing(path: Path, patience: float = database.BUSY_SECONDS) -> Iterator[sqlite3.Connection]:
    """A connection inside BEGIN IMMEDIATE, committed at the end and rolled back on any exception.

    Raises StoreReadOnly for a file that this user may not write, StoreUnavailable for one that is locked for `patience`
    seconds, damaged or missing; then nothing was written.
    """
    try:
        con = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=patience, isolation_level=None)
        try:
            yield from _inside(database.prepared(con))
        finally:
            con.close()
    except sqlite3.Error as problem:
        raise _refusal(path, problem) from problem


def _inside(con: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    if sys.version_info >= (3, 12):  # closing the last connection must not delete the log that the client watches
        con.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
    con.execute("PRAGMA foreign_keys = ON")
    con.execute("BEGIN IMMEDIATE")
    try:
        yield con
        con.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # the first failure is the one to report
            con.execute("ROLLBACK")
        raise


def _refusal(path: Path, problem: sqlite3.Error) -> StoreReadOnly | StoreUnavailable:
    kind = getattr(problem, "sqlite_errorcode", 0) & 0xFF
    if kind in _NOT_WRITABLE:
        return StoreReadOnly(f"{path} or its directory cannot be written by this user. {NOTHING}")
    if kind == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"The disk of {path} is full. {NOTHING} Make room and try again.")
    error = database.unavailable(path, problem)
    return type(error)(f"{error.message} {NOTHING}")
