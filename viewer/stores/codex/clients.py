"""Which sessions a client has open: each is a locked file of `thread-writer-locks`.

Nothing is locked to find out, which would keep a client from opening the session just then: the system's list of locks
is read.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from viewer.stores.base import Store

LOCKS = "thread-writer-locks"
ENDING = ".lock"
_SYSTEM = Path("/proc/locks")


def directory(store: Store) -> Path:
    """Where clients lock the sessions that they have open."""
    return store.path / LOCKS


def open_sessions(store: Store) -> dict[str, int] | None:
    """The process that has each session open, 0 where it is not known; None where that cannot be told: clients before
    0.150 lock nothing, and only Linux lists locks.
    """
    if sys.platform != "linux":
        return None
    try:
        with os.scandir(directory(store)) as entries:
            files = {entry.stat().st_ino: entry.name.removesuffix(ENDING) for entry in entries if _is_lock(entry.name)}
        locked = _locked()
    except OSError:
        return None
    return {session_id: locked[inode] for inode, session_id in files.items() if inode in locked}


def _is_lock(name: str) -> bool:
    return name.endswith(ENDING) and not name.startswith(".")


def _locked() -> dict[int, int]:
    """Processes by the inode that they have a lock on (proc_locks(5)). Raises OSError."""
    found = {}
    for line in _SYSTEM.read_text().splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK":
            inode = words[5].rpartition(":")[2]
            if inode.isdigit() and words[4].lstrip("-").isdigit():
                found[int(inode)] = max(0, int(words[4]))
    return found
