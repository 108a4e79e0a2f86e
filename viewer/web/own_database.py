"""This site's own database when it is locked, full or unreachable: reading continues, and what must write reports it.

What is written while reading (the last use of a token, lines of lists, indexes of Histories, audits) is a *note*: if it
cannot be written now it is written later, so that no response waits for it or fails because of it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.core.signals import request_finished, request_started
from django.db import Error, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from viewer.stores.errors import StoreError

if TYPE_CHECKING:
    from django.db.migrations import Migration

PATIENCE = 5.0  # seconds that a necessary write waits for another writer while somebody waits for the response
NOTE_SECONDS = 0.2  # that a note waits in a request; after one was left out just now, the next ones do not wait
REMEMBERED = 3.0  # seconds
CONNECTED_SECONDS = 60  # that a thread of the web server keeps a connection
_LOCKED = "another program has it locked"
_FULL = "its disk is full or failing"
_UNWRITABLE = "its file or directory may not be written"
_AWAY = "its server cannot be reached"
_DAMAGED = "its file is no database, or damaged"
# By the beginning of SQLite's name of an error, or of PostgreSQL's SQLSTATE.
# https://www.sqlite.org/rescode.html, https://www.postgresql.org/docs/current/errcodes-appendix.html
_REASONS = {
    "SQLITE_BUSY": _LOCKED, "SQLITE_LOCKED": _LOCKED, "SQLITE_PROTOCOL": _LOCKED,
    "SQLITE_FULL": _FULL, "SQLITE_IOERR": _FULL,
    "SQLITE_READONLY": _UNWRITABLE, "SQLITE_CANTOPEN": _UNWRITABLE, "SQLITE_PERM": _UNWRITABLE,
    "SQLITE_NOTADB": _DAMAGED, "SQLITE_CORRUPT": _DAMAGED,
    "55P03": _LOCKED, "40P01": _LOCKED, "53": _FULL, "58": _FULL, "25006": "its server takes no writes",
    "08": _AWAY, "57P": _AWAY,
}  # fmt: skip

BEHIND = "Palimpsest's own database has no tables of this version: start the site, or run `manage.py migrate`."
TOO_OLD = (
    "Palimpsest's own database (PALIMPSEST_DATABASE_URL) is older than what this version can bring up to date: start "
    "the version of commit 716cd8f6 once, then this one."
)

_thread = threading.local()
_left_out: tuple[float, str] = (-REMEMBERED, "")  # when a note was last left out, and why


class OwnDatabaseUnavailable(StoreError):
    """This site's own database could not be read or written; the message says why."""

    code = "own_database_unavailable"
    status = 503


def refusal(problem: BaseException | None) -> OwnDatabaseUnavailable | None:
    """What a database error means to the caller, None if it is our own fault."""
    if not isinstance(problem, Error):
        return None
    cause = problem.__cause__
    name = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", "")
    if name is None:  # PostgreSQL's library had no answer of a server
        reason: str | None = _AWAY
    else:
        reason = next((reason for start, reason in _REASONS.items() if name.startswith(start)), None)
    return OwnDatabaseUnavailable(_sentence(reason)) if reason else None


def _sentence(reason: str) -> str:
    return (
        f"Palimpsest's own database cannot be used just now: {reason}. Reading goes on where it can; try again later."
    )


def is_behind() -> bool:
    """Whether migrations must still be applied: the site was not started with this version yet."""
    from django.db.migrations.executor import MigrationExecutor  # a command that works needs none of it

    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def newer_migrations() -> list[str]:
    """Migrations that a newer version of this site applied and this one does not have: its tables are unknown here."""
    migrations, applied = _migrations()
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("viewer")}
    newest = {label: max(name for app, name in migrations if app == label) for label, _ in migrations if label in ours}
    replaced = {each for migration in migrations.values() for each in migration.replaces}
    return sorted(f"{app}.{name}" for app, name in applied - replaced if app in newest and name > newest[app])


def is_too_old() -> bool:
    """Whether only some of the migrations were applied that one of this version replaces, and the others no longer
    exist: then Django leaves out the one that replaces them.
    """
    migrations, applied = _migrations()
    replacing = [set(migration.replaces) for migration in migrations.values()]
    return any(replaced & applied and replaced - applied for replaced in replacing)


def _migrations() -> tuple[dict[tuple[str, str], Migration], set[tuple[str, str]]]:
    """The migrations of this version, and the names of the applied ones."""
    from django.db.migrations.loader import MigrationLoader
    from django.db.migrations.recorder import MigrationRecorder

    loader = MigrationLoader(connection, load=False)  # no graph, which cannot be made where `is_too_old`
    loader.load_disk()
    return loader.disk_migrations, set(MigrationRecorder(connection).applied_migrations())


def trouble() -> str:
    """Why the shown data may be outdated: the message of a note that was left out just now, "" if none was."""
    at, message = _left_out
    return message if time.monotonic() - at < REMEMBERED else ""


@contextmanager
def noting() -> Iterator[None]:
    """A transaction for a note. Within a request it hardly waits, and raises OwnDatabaseUnavailable."""
    global _left_out
    if not getattr(_thread, "in_request", False):
        with transaction.atomic():
            yield
        return
    try:
        with _waiting(0.0 if trouble() else NOTE_SECONDS):
            yield
    except Error as problem:
        if (unavailable := refusal(problem)) is None:
            raise
        _left_out = (time.monotonic(), unavailable.message)
        raise unavailable from problem
    _left_out = (-REMEMBERED, "")


@contextmanager
def _waiting(seconds: float) -> Iterator[None]:
    """A transaction that waits so many seconds for another writer."""
    if connection.vendor == "postgresql":
        with transaction.atomic():
            _execute(f"SET LOCAL lock_timeout = '{max(1, round(seconds * 1000))}ms'")
            yield
        return
    before = _execute("PRAGMA busy_timeout")
    _limit(connection, seconds)
    try:
        with transaction.atomic():
            yield
    finally:
        _execute(f"PRAGMA busy_timeout = {before[0]}")


def _execute(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone() if cursor.description else None


def _limit(wrapper: BaseDatabaseWrapper, seconds: float) -> None:
    milliseconds = round(seconds * 1000)
    with wrapper.cursor() as cursor:
        if wrapper.vendor == "postgresql":
            cursor.execute(f"SET lock_timeout = '{milliseconds}ms'")
        else:
            cursor.execute(f"PRAGMA busy_timeout = {milliseconds}")


def keep_open() -> None:
    """Keep a connection to a SQLite file for the lifetime of this thread: the file that readers share with writers
    (`-shm`) is removed with the last connection, and could not be created again on a full disk.
    """
    if connection.vendor == "sqlite":
        with suppress(Error):
            connection.ensure_connection()


# -- while a request is answered ---------------------------------------------------------------------------------------


def watch_requests() -> None:
    """Make every connection that is opened for a request wait at most PATIENCE."""
    request_started.connect(_begin, dispatch_uid="own database")
    request_finished.connect(_end, dispatch_uid="own database")
    connection_created.connect(_created, dispatch_uid="own database")


def _begin(**_: Any) -> None:
    _thread.in_request = True
    if getattr(_thread, "file", None) not in (None, _file()):
        connection.close()


def _end(**_: Any) -> None:
    _thread.in_request = False


def _created(connection: BaseDatabaseWrapper, **_: Any) -> None:
    if getattr(_thread, "in_request", False):
        _thread.file = _file()
        _limit(connection, PATIENCE)


def stay_connected() -> None:
    """Make threads keep their connections between requests: a new one reads the schema first. Call it before there are
    any.
    """
    for settings in connections.settings.values():
        settings["CONN_MAX_AGE"], settings["CONN_HEALTH_CHECKS"] = CONNECTED_SECONDS, True


def _file() -> tuple[int, int] | None:
    """The identity of the database's file now: an open connection continues with a file that was replaced."""
    with suppress(OSError, TypeError):
        status = os.stat(connection.settings_dict["NAME"])
        return status.st_dev, status.st_ino
    return None
