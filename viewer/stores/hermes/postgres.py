"""A store in a PostgreSQL database (`docs/postgres.md`): connections that read it, and its errors as sentences.

Nothing here writes. Each piece of work is one read-only transaction in which every statement sees what is committed by
then, as on SQLite. Connections are kept open for some seconds, because a page asks several times and opening one costs
more than reading.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property, lru_cache
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.pq import TransactionStatus

from viewer.stores.errors import StoreUnanswered, StoreUnavailable

from .codec import JSON_MARK
from .columns import HOLDS, Columns, unknown_holds
from .dialect import POSTGRES, Rows, StoreConnection

PATIENCE = 5  # seconds to wait for a server
SHORTEST = 2  # seconds; libpq treats shorter timeouts as this
LONGEST = 15  # seconds a statement may take
KEPT = 20.0  # seconds a connection waits for more work
MOST_KEPT = 4  # for each store

STORED_MARK = "\x01json:"  # for JSON_MARK: no text of PostgreSQL contains a NUL
_BEGIN = (
    "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY; "
    f"SET LOCAL statement_timeout = '{LONGEST}s'; SET LOCAL idle_in_transaction_session_timeout = '60s'"
)


# -- values ------------------------------------------------------------------------------------------------------------


class _Text(Loader):
    """Every value but numbers and bytes as text, broken text too, and lists of parts with the agent's mark."""

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode("utf-8", "replace")
        return JSON_MARK + text[len(STORED_MARK) :] if text.startswith(STORED_MARK) else text


class _Bytes(Loader):
    """Bytes in a server's default form: hexadecimal digits after a mark."""

    def load(self, data: Buffer) -> bytes:
        content = bytes.fromhex(bytes(data[2:]).decode())
        mark = STORED_MARK.encode()
        return JSON_MARK.encode() + content[len(mark) :] if content.startswith(mark) else content


class _Asked(Dumper):
    """A text that is searched: PostgreSQL contains neither NUL nor lone surrogates, so such a text finds nothing."""

    def dump(self, obj: str) -> bytes:
        text = STORED_MARK + obj[len(JSON_MARK) :] if obj.startswith(JSON_MARK) else obj
        return text.replace("\x00", "\ufffd").encode("utf-8", "replace")


_NUMBERS = {"int2", "int4", "int8", "oid", "float4", "float8", "bool"}


class _Adapters:
    """How values are transferred: columns of unknown types must not make a row unreadable."""

    def __init__(self) -> None:
        self.adapters = AdaptersMap(psycopg.adapters)
        self.connection = None
        for kind in self.adapters.types:
            if kind.name not in _NUMBERS:
                self.adapters.register_loader(kind.oid, _Bytes if kind.name == "bytea" else _Text)
            self.adapters.register_loader(kind.array_oid, _Text)
        self.adapters.register_loader(0, _Text)
        self.adapters.register_dumper(str, _Asked)


@cache
def _adapters() -> _Adapters:
    return _Adapters()


@lru_cache(maxsize=1_000)
def numbered(sql: str) -> bytes:
    """A statement with its question marks in PostgreSQL's form: $1, $2; one that inserts messages also returns their
    ids.
    """
    parts = (sql + " RETURNING id" if sql.startswith("INSERT INTO messages ") else sql).split("?")
    return "".join(f"{part}${number}" for number, part in enumerate(parts[:-1], 1)).encode() + parts[-1].encode()


class PostgresConnection:
    """A connection that accepts the statements of this package."""

    def __init__(self, con: psycopg.Connection[Any]) -> None:
        self._con = con

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows:
        return PostgresRows(self._con.execute(numbered(sql), list(values)))


class PostgresRows:
    """The result of a statement."""

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor
        self.description, self.rowcount = cursor.description, cursor.rowcount
        self.fetchone, self.fetchall = cursor.fetchone, cursor.fetchall

    @cached_property
    def lastrowid(self) -> int:
        """The id of the last inserted message."""
        return int(self._cursor.fetchall()[-1][0])


# -- connections -------------------------------------------------------------------------------------------------------


_kept: dict[tuple[int, str], list[tuple[float, psycopg.Connection[Any]]]] = {}
_lock = threading.Lock()


@contextmanager
def reading(name: str, url: str, patience: float = PATIENCE) -> Iterator[PostgresConnection]:
    """A read-only transaction on this database, which waits so many seconds for a locked table. Raises
    StoreUnavailable, naming the store and no password.
    """
    con = _begin_reading(name, url, patience)
    try:
        yield PostgresConnection(con)
    except psycopg.Error as problem:
        raise unavailable(name, problem) from problem
    finally:
        _give_back(url, con)


def connected(name: str, url: str, patience: float = PATIENCE) -> psycopg.Connection[Any]:
    """A new connection, in no transaction, which waits so many seconds for the server. Raises StoreUnavailable."""
    try:
        return psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=max(SHORTEST, round(patience)),
            client_encoding="UTF8",
            application_name="palimpsest",
            prepare_threshold=None,
            cursor_factory=psycopg.RawCursor,
            context=_adapters(),
        )
    except psycopg.Error as problem:
        raise _not_connected(name, problem) from None  # its text may contain parts of the URL


def _begin_reading(name: str, url: str, patience: float) -> psycopg.Connection[Any]:
    begin = f"{_BEGIN}; SET LOCAL lock_timeout = '{round(patience * 1000)}ms'".encode()
    while (con := _take_kept(url)) is not None:
        with suppress(psycopg.Error):  # the server may have been restarted meanwhile
            con.execute(begin)
            return con
        con.close()
    con = connected(name, url, patience)
    try:
        con.execute(begin)
    except psycopg.Error as problem:
        con.close()
        raise unavailable(name, problem) from problem
    return con


def _take_kept(url: str) -> psycopg.Connection[Any] | None:
    """A kept connection; those that were kept too long are closed."""
    with _lock:
        waiting = _kept.get((os.getpid(), url), [])
        for since, con in [*waiting]:
            if time.monotonic() - since > KEPT:
                waiting.remove((since, con))
                con.close()
        return waiting.pop()[1] if waiting else None


def _give_back(url: str, con: psycopg.Connection[Any]) -> None:
    with suppress(psycopg.Error):
        con.execute("ROLLBACK")
    with _lock:
        waiting = _kept.setdefault((os.getpid(), url), [])
        if not con.closed and con.info.transaction_status == TransactionStatus.IDLE and len(waiting) < MOST_KEPT:
            waiting.append((time.monotonic(), con))
        else:
            con.close()


@atexit.register
def close() -> None:
    """Close the connections that wait for more work."""
    with _lock:
        for waiting in _kept.values():
            for _, con in waiting:
                con.close()
        _kept.clear()


# -- what is there -----------------------------------------------------------------------------------------------------


def read_columns(con: StoreConnection) -> Columns:
    """The columns of an open store, as far as this user sees them. A missing table has none."""
    rows = con.execute(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(c.oid) "
        "AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) "
        "AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.oid, a.attnum"
    ).fetchall()
    return Columns(
        messages=tuple(column for table, column in rows if table == "messages"),
        sessions=tuple(column for table, column in rows if table == "sessions"),
        tables=frozenset(table for table, _ in rows),
        triggers=(),
        dialect=POSTGRES,
        unknown=unknown_holds(
            {table_name: [column for table, column in rows if table == table_name] for table_name in HOLDS}
        ),
    )


def identity(name: str, url: str) -> tuple[int, int]:
    """The server's own number, and that of the database and its table of messages: a table that was made anew has
    another.
    """
    with reading(name, url) as con:
        row = con.execute(
            "SELECT (SELECT system_identifier FROM pg_control_system()), d.oid::bigint, "
            "to_regclass('messages')::oid::bigint FROM pg_database d WHERE d.datname = current_database()"
        ).fetchone()
    return int(row[0]), int(row[1]) << 32 | int(row[2] or 0)


def store_version(name: str, url: str) -> str:
    """The transactions that a reader sees now: while that is equal, nothing was written. Writes to other databases of
    the server change it too.
    """
    with reading(name, url) as con:
        snapshot = con.execute("SELECT CAST(pg_current_snapshot() AS text)").fetchone()[0]
    return "snapshot " + hashlib.blake2b(snapshot.encode(), digest_size=16).hexdigest()


def size(con: StoreConnection) -> int:
    """Bytes of the two tables with their indexes and long values."""
    sql = "SELECT pg_total_relation_size('messages'::regclass) + pg_total_relation_size('sessions'::regclass)"
    return int(con.execute(sql).fetchone()[0])


def write_reason(con: StoreConnection) -> str:
    """Why nothing can be written here, as one sentence; "" when it can."""
    row = con.execute(
        "SELECT pg_is_in_recovery(), has_table_privilege('messages', 'INSERT') "
        "AND has_table_privilege('messages', 'UPDATE') AND has_table_privilege('sessions', 'INSERT') "
        "AND has_table_privilege('sessions', 'UPDATE'), (SELECT attnotnull FROM pg_attribute "
        "WHERE attrelid = to_regclass('messages') AND attname = 'active')"
    ).fetchone()
    standby, allowed, flags = row
    if standby:
        return "The server of this store only follows another one and cannot be written."
    if not allowed:
        return "The user of this store's URL may not write to its tables."
    return "" if flags else "Messages of this store may have no “active” flag: make that column NOT NULL."


# -- what went wrong ---------------------------------------------------------------------------------------------------


def unavailable(name: str, problem: psycopg.Error) -> StoreUnavailable:
    """PostgreSQL's error, as a sentence that names the store."""
    if isinstance(problem, psycopg.errors.QueryCanceled):
        return StoreUnavailable(f"Store {name}: its server took longer than {LONGEST} s. Try again, or ask for less.")
    if isinstance(problem, psycopg.errors.LockNotAvailable):
        return StoreUnanswered(f"Store {name} is locked by another program just now. Try again in a moment.")
    if isinstance(problem, psycopg.errors.InsufficientPrivilege):
        return StoreUnavailable(f"Store {name}: the user of its URL may not read its tables ({_first_line(problem)}).")
    gone = isinstance(problem, (psycopg.OperationalError, psycopg.InterfaceError))
    if gone and (problem.sqlstate is None or problem.sqlstate[:2] in ("08", "57")):
        return StoreUnavailable(f"The connection to store {name} was lost. Load the page again.")
    return StoreUnavailable(f"Store {name}: PostgreSQL reports: {_first_line(problem)}.")


def _first_line(problem: psycopg.Error) -> str:
    return str(problem.diag.message_primary or problem).partition("\n")[0].rstrip(".")


_REFUSED = [
    (
        r"password|authentication|pg_hba|role .* does not exist",
        "its server refused the user or password of its URL",
    ),
    (r"database .* does not exist", "its server has no database of that name"),
    (r"too many (clients|connections)|connection slots", "its server has no connection left. Try again in a moment"),
    (r"starting up|shutting down|recovery", "its server is starting or stopping. Try again in a moment"),
    (r"SSL|certificate", "no encrypted connection to its server could be made"),
]


def _not_connected(name: str, problem: psycopg.Error) -> StoreUnavailable:
    if isinstance(problem, psycopg.ProgrammingError):
        return StoreUnavailable(f"Store {name}: its URL is none that PostgreSQL understands.")
    text = str(problem)
    reason = next((reason for pattern, reason in _REFUSED if re.search(pattern, text)), None)
    if reason is None:
        return StoreUnanswered(f"Store {name}: its PostgreSQL server cannot be reached.")
    return StoreUnavailable(f"Store {name}: {reason}.")
