"""Holding the client's own lock on a session: a client is refused meanwhile, and so are we where a client has it.

A session is locked by an exclusive flock of `thread-writer-locks/<session>.lock`. The file is created and deleted by
the owner of a lock on `.coordination.lock`, which every client waits for: it is held for a moment. Clients before 0.150
know no such locks; they keep the session's file open.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from viewer.stores.base import Store
from viewer.stores.errors import SessionBusy, StoreUnavailable
from viewer.stores.lock_owners import Holder

from . import clients

OURS = "Palimpsest is compacting this session, or undoing that."
COORDINATION = ".coordination.lock"
TRIES, BETWEEN = 100, 0.05  # how often the coordination lock is tried, and seconds between two tries


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock of this process."""

    holder: str
    descriptor: int


_held: dict[tuple[str, str], HeldLock] = {}
_guard = Lock()


def _key(store: Store, session_id: str) -> tuple[str, str]:
    return str(store.path), session_id


def holder_of(store: Store, session_id: str) -> str:
    """Who in this process has the session locked, "" for nobody."""
    with _guard:
        lock = _held.get(_key(store, session_id))
    return lock.holder if lock else ""


def holding(store: Store, session_id: str, path: Path) -> Holder | None:
    """Who has the session, here or in a client; None for nobody. Times are unknown."""
    if ours := holder_of(store, session_id):
        return Holder(ours, 0.0, 0.0, OURS)
    opened = clients.open_sessions(store) or {}
    process = opened[session_id] if session_id in opened else next(clients.writing(path), None)
    if process is None:
        return None
    return Holder(f"pid={process}:agent=codex:", 0.0, 0.0, clients.has_it_open(process))


def take(store: Store, session_id: str, path: Path, holder: str) -> None:
    """Lock a session. Raises SessionBusy, StoreUnavailable."""
    with _guard:
        lock = _held.get(_key(store, session_id))
        if lock is not None and lock.holder != holder:
            raise SessionBusy(OURS)
        if lock is None:
            _held[_key(store, session_id)] = HeldLock(holder, _locked(store, session_id))
    try:
        require_closed(path)
    except SessionBusy:
        release(store, session_id, holder)
        raise


def require_closed(path: Path) -> None:
    """Raise SessionBusy where a process has the file open for writing: for clients that lock nothing."""
    for process in clients.writing(path):
        raise SessionBusy(clients.has_it_open(process))


def release(store: Store, session_id: str, holder: str) -> None:
    """Unlock a session that this holder has locked."""
    with _guard:
        lock = _held.get(_key(store, session_id))
        if lock is None or lock.holder != holder:
            return
        del _held[_key(store, session_id)]
        with _closing(lock.descriptor), _coordination(store):
            os.unlink(_path(store, session_id))


@contextmanager
def _closing(descriptor: int) -> Iterator[None]:
    """Always close it: that ends the lock. A lock file that remains is locked by nobody."""
    try:
        with suppress(OSError, SessionBusy):
            yield
    finally:
        os.close(descriptor)


def _path(store: Store, session_id: str) -> Path:
    return clients.directory(store) / f"{session_id}{clients.ENDING}"


def _locked(store: Store, session_id: str) -> int:
    """The open lock file, locked. Raises SessionBusy, StoreUnavailable."""
    try:
        clients.directory(store).mkdir(exist_ok=True)  # a copied home has none, and a client creates it
        with _coordination(store):
            descriptor = os.open(_path(store, session_id), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise SessionBusy(clients.says_who(store, session_id)) from None
            return descriptor
    except OSError as problem:
        raise StoreUnavailable(
            f"Store {store.name}: {clients.directory(store)} cannot be written to: {problem.strerror or problem}."
        ) from problem


@contextmanager
def _coordination(store: Store) -> Iterator[None]:
    """Raises OSError, SessionBusy."""
    descriptor = os.open(clients.directory(store) / COORDINATION, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        for _ in range(TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(BETWEEN)
        else:
            raise SessionBusy("A client of Codex is opening or closing sessions and does not end. Try again.")
        yield
    finally:
        os.close(descriptor)
