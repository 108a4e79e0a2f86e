"""Which sessions a client has open: each is a locked file of `thread-writer-locks`.

Nothing is locked to find out, which would keep a client from opening the session just then: the system's list of locks
is read. A client before 0.150 locks nothing; it has the file open that it writes to.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
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


def says_who(store: Store, session_id: str) -> str:
    """Who has a session locked that somebody has, as a sentence."""
    return has_it_open((open_sessions(store) or {}).get(session_id, 0))


def has_it_open(process: int) -> str:
    """That this process has a session open, as a sentence; 0 where it is not known which one."""
    name = ""
    with suppress(OSError):
        name = Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
    who = "Codex" if not process or name.startswith("codex") else "Another program"
    which = f" (process {process})" if process else ""
    return f"{who}{which} has this session open and would go on with what it has in memory. Close it there first."


def writing(path: Path) -> Iterator[int]:
    """Other processes that have a file open to write to it, as far as this user may look at them; none but on Linux."""
    try:
        named, wanted = os.path.basename(os.path.realpath(path)), os.stat(path)
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for process in processes:
        if process != os.getpid() and _writes(process, named, wanted):
            yield process


def _writes(process: int, named: str, wanted: os.stat_result) -> bool:
    """Only what has the file's name is looked at: of all others there are thousands."""
    directory = f"/proc/{process}/fd/"
    try:
        for name in os.listdir(directory):
            with suppress(OSError):  # it is closed by now
                if os.readlink(directory + name).endswith(named) and _is_open_to_write(process, name, wanted):
                    return True
    except OSError:
        pass
    return False


def _is_open_to_write(process: int, name: str, wanted: os.stat_result) -> bool:
    """Raises OSError where it is closed by now."""
    found = os.stat(f"/proc/{process}/fd/{name}")
    if (found.st_dev, found.st_ino) != (wanted.st_dev, wanted.st_ino):
        return False
    told = Path(f"/proc/{process}/fdinfo/{name}").read_text()
    flags = next((line.split()[1] for line in told.splitlines() if line.startswith("flags:")), "0")
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
