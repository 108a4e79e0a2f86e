"""One write transaction on an agent's database, all or nothing.

No pragma but `foreign_keys` is changed; the journal mode, the schema number and the file stay the agent's.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from viewer.stores.errors import StoreReadOnly, StoreUnanswered, StoreUnavailable

from .reading import BUSY_SECONDS, address

NOTHING = "Nothing was written."
LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)


@contextmanager
def writing(
    path: Path, patience: float = BUSY_SECONDS, *, prepare: Callable[[sqlite3.Connection], object] | None = None
) -> Iterator[sqlite3.Connection]:
    """A connection inside BEGIN IMMEDIATE, committed at the end and rolled back on any exception; `prepare` gets it
    before that.

    Raises StoreReadOnly for a file that this user may not write, StoreUnavailable for one that is locked for `patience`
    seconds, damaged or missing; then nothing was written.
    """
    try:
        with closing(opened(path, patience)) as con:
            if prepare is not None:
                prepare(con)
            con.execute("BEGIN IMMEDIATE")
            try:
                yield con
                con.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # the first failure is the one to report
                    con.execute("ROLLBACK")
                raise
    except sqlite3.Error as problem:
        raise _refusal(path, problem) from problem


def opened(path: Path, patience: float) -> sqlite3.Connection:
    """A connection that may write to an existing database. Raises sqlite3.Error."""
    con = sqlite3.connect(address(path, "mode=rw"), uri=True, timeout=patience, isolation_level=None)
    con.execute("PRAGMA foreign_keys = ON")
    if sys.version_info >= (3, 12):  # closing the last connection must not delete the log that the agent watches
        con.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
    return con


def code_of(problem: sqlite3.Error) -> int:
    """SQLite's primary result code; 0 for an error of the Python module itself."""
    return getattr(problem, "sqlite_errorcode", 0) & 0xFF


def _refusal(path: Path, problem: sqlite3.Error) -> StoreReadOnly | StoreUnavailable:
    code = code_of(problem)
    if code in (*NOT_WRITABLE, sqlite3.SQLITE_AUTH):
        return StoreReadOnly(f"{path} or its directory cannot be written by this user. {NOTHING}")
    if code == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"The disk of {path} is full. {NOTHING} Make room and try again.")
    if code in LOCKED:
        return StoreUnanswered(f"{path} is locked by another program just now. Try again in a moment. {NOTHING}")
    return StoreUnavailable(f"{path} cannot be written: SQLite reports: {problem}. {NOTHING}")
