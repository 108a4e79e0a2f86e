"""A store in an SQLite file: read-only connections to it, and its errors as sentences.

Nothing here writes, except for SQLite's own rollback of a killed process.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from viewer.stores.errors import StoreUnanswered, StoreUnavailable

BUSY_SECONDS = 5.0  # the agent's own readers wait as long
LIST_SECONDS = 0.2  # how long a list of several stores waits for one of them
OPEN_ATTEMPTS = 3  # a read-only open can fail with a short "disk I/O error" while the agent checkpoints
HOT_SECONDS = 1.0  # how long a journal must stay unchanged, without a writer, to count as left behind
HOT_PAUSE = 0.05  # between two checks of it

Found = TypeVar("Found")
Stamp = tuple[int, int, int]


class ReadOnlyConnection(sqlite3.Connection):
    """A read-only connection. `immutable` is the state of a file that is read without the agent's locks, else None."""

    name: str
    path: Path
    patience: float
    immutable: tuple[Stamp, Stamp] | None = None

    def execute(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        """As usual; raises StoreUnavailable where a journal is in the way."""
        return _past_journal(self, lambda: sqlite3.Connection.execute(self, sql, values))

    @property
    def was_written(self) -> bool:
        """Whether anybody wrote to a file that is read without locks."""
        return self.immutable is not None and self.immutable != _stamps(self.path)


def connected(name: str, path: Path, patience: float) -> ReadOnlyConnection:
    """A connection that waits so many seconds where the file is locked. Raises StoreUnavailable."""
    for attempt in range(OPEN_ATTEMPTS):
        try:
            return _opened(name, path, "mode=ro", patience)
        except sqlite3.DatabaseError as problem:
            if _has_no_place_for_sidecars(path, problem):
                return immutable(name, path, patience)
            if attempt == OPEN_ATTEMPTS - 1 or "disk I/O" not in str(problem):
                raise unavailable(name, path, problem) from problem
            time.sleep(0.05)
    raise AssertionError("unreachable")


def without_files(path: Path, patience: float) -> sqlite3.Connection:
    """A read-only connection that makes no files next to a database: without a write-ahead log nobody writes, and
    opening it as usual would make one. Raises sqlite3.Error.
    """
    immutable = "" if os.path.exists(f"{path}-wal") else "&immutable=1"
    uri = address(path.absolute(), f"mode=ro{immutable}")
    con = sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)
    read_any_text(con)
    return con


def read_any_text(con: sqlite3.Connection) -> None:
    """Have a connection read text in any encoding: a row with broken text must not hide the others."""
    con.text_factory = lambda data: data.decode("utf-8", "replace")


def unavailable(name: str, path: Path, problem: sqlite3.Error) -> StoreUnavailable:
    """The SQLite error as a sentence that names the store."""
    text = str(problem)
    if re.search("locked|busy|locking protocol", text):  # the last: others began and ended to use its log all the time
        return StoreUnanswered(f"Store {name} is locked by another program just now. Try again in a moment.")
    if "readonly" in text:
        return StoreUnavailable(
            f"A program was killed while it wrote to store {name}, and this user may not clean up after it. The "
            "store can be read again once its agent has opened it."
        )
    if "not a database" in text or "malformed" in text:
        return StoreUnavailable(f"Store {name}: {path} is not a readable SQLite database ({text}).")
    if "unable to open" in text and stamp(f"{path}-wal")[0] and not os.path.exists(f"{path}-shm"):
        # Without that log (immutable=1) the newest messages would silently be missing.
        return StoreUnavailable(
            f"Store {name} cannot be read here: its newest messages are still in {path.name}-wal. To read them, SQLite "
            f"makes {path.name}-shm in the same directory, and nothing can be written there. Make the directory "
            "writable, or close the agent where it runs: that puts them into the file."
        )
    return StoreUnavailable(f"Store {name}: SQLite reports: {text}.")


def stamp(path: str) -> Stamp:
    """Size and times of the last write and change in nanoseconds; zeros for no file, or an empty log such as a reader
    leaves. Copying a backup with its times may set back the time of the last write alone.
    """
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns) if status.st_size else (0, 0, 0)


def _stamps(path: Path) -> tuple[Stamp, Stamp]:
    return stamp(str(path)), stamp(f"{path}-wal")


def _opened(name: str, path: Path, mode: str, patience: float) -> ReadOnlyConnection:
    con = sqlite3.connect(
        address(path, mode), uri=True, timeout=patience, isolation_level=None, factory=ReadOnlyConnection
    )
    con.name, con.path, con.patience = name, path, patience
    read_any_text(con)
    try:
        con.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except (sqlite3.Error, StoreUnavailable):
        con.close()
        raise
    return con


def immutable(name: str, path: Path, patience: float) -> ReadOnlyConnection:
    """A connection that takes no locks and makes no files. Raises StoreUnavailable."""
    before = _stamps(path)
    try:
        con = _opened(name, path, "immutable=1", patience)
    except sqlite3.Error as problem:
        raise unavailable(name, path, problem) from problem
    con.immutable = before
    return con


def address(path: Path, mode: str) -> str:
    """The address of a database for SQLite; a name may have bytes that are no UTF-8."""
    return f"file:{quote(os.fsencode(path))}?{mode}"


def _has_no_place_for_sidecars(path: Path, problem: sqlite3.Error) -> bool:
    """A WAL database where nothing can be written, or whose disk is full, opens only as immutable; then nobody writes
    it either, and `ReadOnlyConnection.was_written` checks that.
    """
    unwritable = "unable to open" in str(problem) and not os.access(path.parent, os.W_OK)
    full = problem.sqlite_errorname.startswith(("SQLITE_IOERR_SHM", "SQLITE_FULL"))
    return (unwritable or full) and not stamp(f"{path}-wal")[0]


# -- journals ----------------------------------------------------------------------------------------------------------


def _past_journal(con: ReadOnlyConnection, ask: Callable[[], Found]) -> Found:
    """The result of a statement once no journal is in its way (journal mode "delete").

    A killed process leaves a journal that must be rolled back first, which a read-only connection cannot do, and nobody
    can while there are readers. A journal that its writer removes while SQLite looks at it seems to be left behind,
    too, but not twice in one state: `hasHotJournal` in SQLite's pager.c takes a journal that disappears meanwhile for a
    hot one.
    """
    until = time.monotonic() + min(HOT_SECONDS, con.patience)
    stamps: set[Stamp] = set()
    while True:
        try:
            return ask()
        except sqlite3.OperationalError as problem:
            if not problem.sqlite_errorname.startswith("SQLITE_READONLY_"):  # without "_": an attempt to write
                raise
            stamps.add(stamp(f"{con.path}-journal"))
            may_not = not _rolled_back(con.path)
            if time.monotonic() > until:
                if may_not and len(stamps) == 1:
                    raise
                raise StoreUnanswered(
                    f"Store {con.name} is being written by another program just now. Try again in a moment."
                ) from problem
        time.sleep(HOT_PAUSE)


def _rolled_back(path: Path) -> bool:
    """Let SQLite roll back what a killed process had half written, as the next program that opens the file must. False
    if this user may not; where somebody is in the way, it was not done either.
    """
    try:
        with closing(sqlite3.connect(address(path, "mode=rw"), uri=True, timeout=HOT_PAUSE)) as con:
            con.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
    except sqlite3.Error as problem:
        return not problem.sqlite_errorname.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"))
    return True
