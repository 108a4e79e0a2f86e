"""What a store can do, why a session is refused, and who has it: compression lock and turn lease.

Locks and leases of others are never stolen. The rules are the agent's own (`docs/hermes.md` section 3): both live 300 s
and are refreshed every 60 s; a row is stale when it has expired, or when its holder names this machine's process
namespace and a process that no longer exists.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.conf import settings

from viewer.stores.base import Capabilities, Store
from viewer.stores.errors import (
    CompactionConflict,
    NotFound,
    SessionBusy,
    SessionEnded,
    StoreError,
    StoreReadOnly,
)
from viewer.stores.lock_owners import OUR_NAME, Holder, is_dead, is_gone
from viewer.stores.refused import Action, Refusal

from . import paths, postgres
from .columns import Columns
from .database import OpenStore, open_store
from .dialect import POSTGRES, StoreConnection
from .paths import CONTINUED, get_session, lease_key, tip
from .transaction import write

# -- what a store can do ---------------------------------------------------------------------------------------------


def capabilities(reader: OpenStore) -> Capabilities:
    """What this store can do: from its columns, tables, triggers and the file's permissions, never its version."""
    columns = reader.columns
    return Capabilities(
        schema=_schema(reader),
        sessions=reader.con.execute("SELECT COUNT(*) FROM sessions").fetchone()[0],
        size=_size(reader),
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
            "Its agent can only split a session in two: the messages of schema "
            f"{_schema(reader) or 'unknown'} have no “compacted” column. Update the agent to compact in place, or "
            "split it as the agent does: choose that for the store in Settings, or "
            f"{settings.COMMAND} compact --mode split."
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


def to_compact(reader: OpenStore, session_id: str, action: Action) -> Refusal | None:
    """Why this session can never be compacted here, in place or by a "split", None when it can. Raises NotFound."""
    session = get_session(reader, session_id)
    if reason := split_reason(reader) if action == "split" else compact_reason(reader):
        return StoreReadOnly(reason)
    if session.end_reason == CONTINUED:
        newest = tip(reader, session_id)
        return SessionEnded(
            f"An older compaction ended this session and the conversation went on in {newest}: compact that one."
            if newest != session_id
            else "An older compaction ended this session; the agent does not go on with it. Branch it to go on."
        )
    if action == "split" and (reason := paths.ended_reason(reader, session_id)):
        return SessionEnded(reason)
    return None


def to_branch(reader: OpenStore, session_id: str) -> Refusal | None:
    """Why no branch of this session's context can be made, None when one can. Raises NotFound."""
    session = get_session(reader, session_id)
    if reason := branch_reason(reader):
        return StoreReadOnly(reason)
    if session.end_reason == CONTINUED and (newest := tip(reader, session_id)) != session_id:
        # An agent of schema 16 takes any session that begins after such an end for the continuation.
        return SessionEnded(f"This conversation went on in {newest}: branch from there, at any of its compactions.")
    return None


def to_append(reader: OpenStore, session_id: str) -> Refusal | None:
    """Why no message can be appended to this session here, None when one can. Raises NotFound."""
    session = get_session(reader, session_id)
    if reason := append_reason(reader) or _write_reason(reader):
        return StoreReadOnly(reason)
    if session.end_reason == CONTINUED:
        return SessionEnded("A compaction ended this session and the agent goes on in another; nothing was written.")
    return None


TTL = 300.0  # seconds


REFRESH_EVERY = 60.0  # seconds


_LOCK = ("compression_locks", "session_id")


_LEASE = ("session_turn_leases", "conversation_id")


_TURN = "is running a turn of this session"


logger = logging.getLogger(__name__)


def lock_of(reader: OpenStore, session_id: str) -> Holder | None:
    """Who is compacting this session now, None for nobody."""
    return _holder(reader, _LOCK, session_id)


def lease_of(reader: OpenStore, session_id: str) -> Holder | None:
    """Who is running a turn of this conversation now, None for nobody and for a store without leases."""
    return _holder(reader, _LEASE, lease_key(reader, session_id)) if has_leases(reader) else None


def has_leases(reader: OpenStore) -> bool:
    """Whether this store shows that a turn is running; older schemas do not."""
    return reader.columns.is_known(_LEASE[0])


def take_lock(store: Store, session_id: str, holder: str) -> None:
    """Take the compression lock, or renew it when `holder` has it. Raises SessionBusy naming the other holder."""
    with write(store) as con:
        _take(con, _LOCK, session_id, holder, "is compacting this session")


def take_lease(store: Store, session_id: str, holder: str) -> None:
    """Take the turn lease, where the store has any. Raises SessionBusy naming who runs a turn."""
    key = _lease_key(store, session_id)
    if key is not None:
        with write(store) as con:
            _take(con, _LEASE, key, holder, _TURN)


def refresh_lock(store: Store, session_id: str, holder: str) -> bool:
    """Extend our lock; False when `holder` does not have it any more."""
    with write(store) as con:
        changed = con.execute(
            "UPDATE compression_locks SET expires_at = ? WHERE session_id = ? AND holder = ?",
            [time.time() + TTL, session_id, holder],
        ).rowcount
    return changed == 1


def release_lock(store: Store, session_id: str, holder: str) -> None:
    with write(store) as con:
        con.execute("DELETE FROM compression_locks WHERE session_id = ? AND holder = ?", [session_id, holder])


def release_lease(store: Store, session_id: str, holder: str) -> None:
    key = _lease_key(store, session_id)
    if key is not None:
        with write(store) as con:
            con.execute("DELETE FROM session_turn_leases WHERE conversation_id = ? AND holder = ?", [key, holder])


@contextmanager
def locked(store: Store, session_id: str, holder: str) -> Iterator[None]:
    """Has the compression lock, which a thread refreshes. Raises SessionBusy."""
    take_lock(store, session_id, holder)
    ended = threading.Event()
    refreshing = threading.Thread(
        target=_refresh, args=(store, session_id, holder, ended), name="the lock of a session", daemon=True
    )
    refreshing.start()
    try:
        yield
    finally:
        ended.set()
        refreshing.join()
        with _logged(session_id, "released"):
            release_lock(store, session_id, holder)


@contextmanager
def leased(store: Store, session_id: str, holder: str) -> Iterator[None]:
    """Has the turn lease, where the store has any. Raises SessionBusy."""
    take_lease(store, session_id, holder)
    try:
        yield
    finally:
        with _logged(session_id, "released"):
            release_lease(store, session_id, holder)


def _refresh(store: Store, session_id: str, holder: str, ended: threading.Event) -> None:
    while not ended.wait(REFRESH_EVERY):
        with _logged(session_id, "refreshed"):  # the commit checks the lock itself
            refresh_lock(store, session_id, holder)


@contextmanager
def _logged(session_id: str, done: str) -> Iterator[None]:
    """What cannot be released now will expire: an error must not hide the result of the work."""
    try:
        yield
    except StoreError as refused:
        logger.warning("Hold on %s not %s: %s", session_id, done, refused.message)


def release_dead(store: Store) -> None:
    """Release locks and leases that processes of ours left when they were killed. Raises StoreError."""
    with open_store(store) as reader:
        stale_holders = [
            (table, holder)
            for table, _ in (_LOCK, _LEASE)
            if reader.columns.is_known(table)
            for (holder,) in reader.con.execute(f"SELECT holder FROM {table}").fetchall()
            if f":agent={OUR_NAME}:" in str(holder) and is_dead(str(holder))
        ]
    if stale_holders:
        with write(store) as con:
            for table, holder in stale_holders:
                con.execute(f"DELETE FROM {table} WHERE holder = ?", [holder])


def check_held(con: StoreConnection, session_id: str, holder: str) -> None:
    """Inside a transaction: raise SessionBusy unless `holder` has the unexpired compression lock."""
    _check(con, _LOCK, session_id, holder)


def check_leased(con: StoreConnection, key: str, holder: str) -> None:
    """Inside a transaction: raise SessionBusy unless `holder` has the unexpired turn lease of this conversation."""
    _check(con, _LEASE, key, holder)


def check_no_turn(reader: OpenStore, session_id: str) -> None:
    """Inside a transaction: raise SessionBusy, naming the holder, while a turn of this conversation runs."""
    if (holder := lease_of(reader, session_id)) is not None:
        raise _busy(holder, _TURN)


# -- one table or the other ------------------------------------------------------------------------------------------


def _lease_key(store: Store, session_id: str) -> str | None:
    with open_store(store) as reader:
        return lease_key(reader, session_id) if has_leases(reader) else None


def _holder(reader: OpenStore, guard: tuple[str, str], key: str) -> Holder | None:
    table, column = guard
    if not reader.columns.is_known(table):
        return None
    row = reader.con.execute(
        f"SELECT holder, acquired_at, expires_at FROM {table} WHERE {column} = ?", [key]
    ).fetchone()
    if row is None:
        return None
    holder = Holder(str(row[0]), float(row[1]), float(row[2]))
    return None if _stale(holder) else holder


def _take(con: StoreConnection, guard: tuple[str, str], key: str, holder: str, doing: str) -> None:
    table, column = guard
    now = time.time()
    row = con.execute(f"SELECT holder, acquired_at, expires_at FROM {table} WHERE {column} = ?", [key]).fetchone()
    if row is not None and row[0] != holder:
        current = Holder(str(row[0]), float(row[1]), float(row[2]))
        if not _stale(current):
            raise _busy(current, doing)
        con.execute(f"DELETE FROM {table} WHERE {column} = ? AND holder = ?", [key, current.holder])
    con.execute(
        f"INSERT INTO {table} ({column}, holder, acquired_at, expires_at) VALUES (?, ?, ?, ?) "
        f"ON CONFLICT ({column}) DO UPDATE SET expires_at = excluded.expires_at",
        [key, holder, now, now + TTL],
    )


def _check(con: StoreConnection, guard: tuple[str, str], key: str, holder: str) -> None:
    table, column = guard
    row = con.execute(f"SELECT holder, expires_at FROM {table} WHERE {column} = ?", [key]).fetchone()
    if row is None or row[0] != holder or row[1] <= time.time():
        raise SessionBusy("The hold on this session was lost before the write; nothing was written. Try again.")


def _busy(current: Holder, doing: str) -> SessionBusy:
    since = time.strftime("%H:%M:%S", time.localtime(current.since))
    return SessionBusy(f"{_who(current)} {doing} since {since}.")


def _who(current: Holder) -> str:
    return "Palimpsest" if current.is_palimpsest else f"Another process ({current.holder})"


def _stale(current: Holder) -> bool:
    """Expired, or left by a dead process of our own pid namespace; any other holder keeps it until it expires."""
    return current.expires <= time.time() or is_gone(current.holder)


def check_flags(store: Store, columns: Columns) -> None:
    if "compacted" not in columns.messages or "active" not in columns.messages:
        raise StoreReadOnly(f"Store {store.name} has no “compacted” column; nothing was written.")


def check_guards(
    con: StoreConnection, store: Store, columns: Columns, session_id: str, lock_holder: str, lease_holder: str
) -> None:
    ended = con.execute("SELECT end_reason FROM sessions WHERE id = ?", [session_id]).fetchone()
    if ended is None:
        raise NotFound(f"Session {session_id} is gone; nothing was written.")
    if ended[0] == CONTINUED:
        raise CompactionConflict("The agent has gone on in another session since; nothing was written.")
    check_held(con, session_id, lock_holder)
    if "session_turn_leases" in columns.tables:
        check_leased(con, lease_key(OpenStore(store, con, columns), session_id), lease_holder)
