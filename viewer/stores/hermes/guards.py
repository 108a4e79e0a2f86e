"""Compression lock and turn lease of a session: look, take, refresh, release. Those of others are never stolen.

The rules are the agent's own (`docs/hermes.md` section 3): both live 300 s and are refreshed every 60 s; a row is stale
when it has expired, or when its holder names this machine's process namespace and a process that no longer exists.
"""

from __future__ import annotations

import logging
import time

from viewer.stores.base import Store
from viewer.stores.errors import SessionBusy, StoreError
from viewer.stores.lock_owners import OUR_NAME, Holder, is_dead, is_gone

from .dialect import StoreConnection
from .opening import OpenStore, open_store
from .sessions import lease_key
from .transaction import write

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


def release_quietly(store: Store, session_id: str, holder: str) -> None:
    """Release this holder's lease and lock after the work; what cannot be released now will expire.

    Unlike a release, it never raises for the store: an error must not hide the result of the work.
    """
    for release in (release_lease, release_lock):
        try:
            release(store, session_id, holder)
        except StoreError as refused:
            logger.warning("Hold on %s not released: %s", session_id, refused.message)


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
