"""Who has a session open, a client or this process; and why a session is not written to.

A session is locked by an exclusive flock of `thread-writer-locks/<session>.lock`, by a client or by us: each refuses
where the other one has it. The file is created and deleted by the owner of a lock on `.coordination.lock`, which every
client waits for: it is held for a moment.

To see which sessions clients have open, nothing is locked, because that would keep a client from opening one just then:
the system's list of locks is read. A client before 0.150 locks nothing; it has the file open that it writes to.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from viewer.stores import refused
from viewer.stores.base import Store
from viewer.stores.errors import SessionBusy, StoreUnavailable
from viewer.stores.jsonl.compressed import ENDING
from viewer.stores.jsonl.files import readable
from viewer.stores.lock_owners import Holder
from viewer.stores.open_files import writers_of

from . import paths
from .facts import head_of
from .paths import ThreadFile, Threads
from .replay import lineage_of

LOCKS = "thread-writer-locks"
LOCK_ENDING = ".lock"
_SYSTEM = Path("/proc/locks")
OURS = "Palimpsest is compacting this session, or undoing that."
COORDINATION = ".coordination.lock"
TRIES, BETWEEN = 100, 0.05  # how often the coordination lock is tried, and seconds between two tries
NO_SPLIT = "Codex' sessions are compacted in place; one session does not go on in another."
NO_RENAME = "The names of these sessions are in Codex' own database, which is not written to here. Rename it in Codex."
NOT_LINUX = "Codex' sessions are compacted on Linux alone: elsewhere it was not tried with the client."
SUB_AGENT = "This is the session of a sub-agent: the client does not go on with it."
ARCHIVED = "This session is archived. Take it out of Codex' archive first: codex unarchive {session}."
COMPRESSED = "This session's file is compressed. It can be compacted once Codex has gone on with it."
MISSING = "This session goes on from another file, {file}, that is not here: Codex cannot go on with it either."
NO_START = "The first line of this session's file is damaged or not there: Codex cannot go on with it."
NO_TEXT = "There are bytes in this session's file that are no text (UTF-8): Codex cannot go on with it."
TOO_LONG = (
    "There is a line of {size:,} bytes in this session that is too long, or nested too deep, to be held here as a "
    "whole: what it says is shown in part, and the session is not written to."
)
TOO_OLD = "This session was written by a Codex from before its files had a first line of their own."


# -- clients -----------------------------------------------------------------------------------------------------------


def lock_directory(store: Store) -> Path:
    """The directory with the clients' locks on open sessions."""
    return store.path / LOCKS


def open_sessions(store: Store) -> dict[str, int] | None:
    """The process that has each session open, 0 for unknown; None where that cannot be found out: clients before 0.150
    lock nothing, and only Linux lists locks.
    """
    if sys.platform != "linux":
        return None
    try:
        with os.scandir(lock_directory(store)) as entries:
            files = {each.stat().st_ino: each.name.removesuffix(LOCK_ENDING) for each in entries if _is_lock(each.name)}
        locked = _locking_processes()
    except OSError:
        return None
    return {session_id: locked[inode] for inode, session_id in files.items() if inode in locked}


def _is_lock(name: str) -> bool:
    return name.endswith(LOCK_ENDING) and not name.startswith(".")


def _locking_processes() -> dict[int, int]:
    """Processes by the inode that they have locked (proc_locks(5)). Raises OSError."""
    processes = {}
    for line in _SYSTEM.read_text().splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK":
            inode = words[5].rpartition(":")[2]
            if inode.isdigit() and words[4].lstrip("-").isdigit():
                processes[int(inode)] = max(0, int(words[4]))
    return processes


def _who_has_it(store: Store, session_id: str) -> str:
    """A sentence that names who has a locked session."""
    return has_it_open((open_sessions(store) or {}).get(session_id, 0))


def has_it_open(process: int) -> str:
    """A sentence that this process has a session open; 0 for an unknown process."""
    name = ""
    with suppress(OSError):
        name = Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
    who = "Codex" if not process or name.startswith("codex") else "Another program"
    which = f" (process {process})" if process else ""
    return f"{who}{which} has this session open and would go on with what it has in memory. Close it there first."


# -- our own lock ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock of this process."""

    holder: str
    descriptor: int


_held: dict[tuple[str, str], HeldLock] = {}
_guard = Lock()


def _key(store: Store, session_id: str) -> tuple[str, str]:
    return str(store.path), session_id


def own_holder(store: Store, session_id: str) -> str:
    """Who in this process has the session locked, "" for nobody."""
    with _guard:
        lock = _held.get(_key(store, session_id))
    return lock.holder if lock else ""


def holder_of(store: Store, session_id: str, path: Path) -> Holder | None:
    """Who has the session, here or in a client; None for nobody. Times are unknown."""
    if ours := own_holder(store, session_id):
        return Holder(ours, 0.0, 0.0, OURS)
    opened = open_sessions(store) or {}
    process = opened[session_id] if session_id in opened else next(writers_of(path), None)
    if process is None:
        return None
    return Holder(f"pid={process}:agent=codex:", 0.0, 0.0, has_it_open(process))


def take_lock(store: Store, session_id: str, path: Path, holder: str) -> None:
    """Lock a session. Raises SessionBusy, StoreUnavailable."""
    with _guard:
        lock = _held.get(_key(store, session_id))
        if lock is not None and lock.holder != holder:
            raise SessionBusy(OURS)
        if lock is None:
            _held[_key(store, session_id)] = HeldLock(holder, _opened_and_locked(store, session_id))
    try:
        require_closed(path)
    except SessionBusy:
        release_lock(store, session_id, holder)
        raise


def require_closed(path: Path) -> None:
    """Raise SessionBusy where a process has the file open for writing: for clients that lock nothing."""
    for process in writers_of(path):
        raise SessionBusy(has_it_open(process))


def release_lock(store: Store, session_id: str, holder: str) -> None:
    """Unlock a session that this holder has locked."""
    with _guard:
        lock = _held.get(_key(store, session_id))
        if lock is None or lock.holder != holder:
            return
        del _held[_key(store, session_id)]
        with _closing(lock.descriptor), _coordination(store):
            os.unlink(_lock_path(store, session_id))


@contextmanager
def _closing(descriptor: int) -> Iterator[None]:
    """Always close it: that ends the lock. A lock file that remains is locked by nobody."""
    try:
        with suppress(OSError, SessionBusy):
            yield
    finally:
        os.close(descriptor)


def _lock_path(store: Store, session_id: str) -> Path:
    return lock_directory(store) / f"{session_id}{LOCK_ENDING}"


def _opened_and_locked(store: Store, session_id: str) -> int:
    """The open lock file, locked. Raises SessionBusy, StoreUnavailable."""
    try:
        lock_directory(store).mkdir(exist_ok=True)  # a copied home has none, and a client creates it
        with _coordination(store):
            descriptor = os.open(_lock_path(store, session_id), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise SessionBusy(_who_has_it(store, session_id)) from None
            return descriptor
    except OSError as problem:
        raise StoreUnavailable(
            f"Store {store.name}: {lock_directory(store)} cannot be written to: {problem.strerror or problem}."
        ) from problem


@contextmanager
def _coordination(store: Store) -> Iterator[None]:
    """Raises OSError, SessionBusy."""
    descriptor = os.open(lock_directory(store) / COORDINATION, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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


# -- why a session cannot be compacted or branched, as a sentence ------------------------------------------------------


def store_refusal(store: Store) -> str:
    """Why nothing in the store can be compacted, "" where it can."""
    if sys.platform != "linux":
        return NOT_LINUX
    locks = lock_directory(store)
    for directory in (store.path / paths.DIRECTORIES[0], locks if locks.is_dir() else store.path):
        if directory.is_dir() and not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
            return f"This user may not write to {directory}."
    return ""


def session_refusal(store: Store, file: ThreadFile, threads: Threads) -> str:
    """Why this session can never be compacted here, "" where it can. Raises StoreUnavailable."""
    return store_refusal(store) or _file_refusal(file) or _lineage_refusal(file, threads)


def branch_refusal(store: Store, file: ThreadFile, threads: Threads) -> str:
    """Why no branch of this session can be made, "" where one can: its own file is only read. Raises
    StoreUnavailable.
    """
    return store_refusal(store) or _head_refusal(file) or _lineage_refusal(file, threads)


def _lineage_refusal(file: ThreadFile, threads: Threads) -> str:
    lineage = lineage_of(file, threads)
    records = lineage.current.records
    if lineage.missing:
        return MISSING.format(file=lineage.missing[:80])
    if not records or records[0].type != "session_meta" or records[0].is_bare:
        return TOO_OLD if lineage.current.is_bare else NO_START
    if any(not part.is_numbered and not record.is_text for part in lineage.parts for record in part.records):
        return NO_TEXT
    cut = (record.length for part in lineage.parts if part.is_sent for record in part.sent() if record.is_cut)
    if (size := next(cut, None)) is not None:
        return TOO_LONG.format(size=size)
    unknown = (record.unknown for part in lineage.parts if part.is_sent for record in part.sent())
    return next((refused.unknown_form(each, "Codex") for each in unknown if each), "")


def _file_refusal(file: ThreadFile) -> str:
    if file.rollout.is_archived:
        return ARCHIVED.format(session=file.id)
    if file.rollout.path.endswith(ENDING):
        return COMPRESSED
    return _head_refusal(file) or ("" if os.access(file.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE)


def _head_refusal(file: ThreadFile) -> str:
    with readable(file.path):
        head = head_of(file.rollout.path)
    return SUB_AGENT if head.is_sub_agent else ""
