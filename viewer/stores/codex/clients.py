"""Which sessions a client has open: each is a locked file in `thread-writer-locks`.

To find that out, nothing is locked, because that would keep a client from opening the session just then: the system's
list of locks is read. A client before 0.150 locks nothing; it has the file open that it writes to.
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
    """The directory with the clients' locks on open sessions."""
    return store.path / LOCKS


def open_sessions(store: Store) -> dict[str, int] | None:
    """The process that has each session open, 0 for unknown; None where that cannot be found out: clients before 0.150
    lock nothing, and only Linux lists locks.
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
    """Processes by the inode that they have locked (proc_locks(5)). Raises OSError."""
    processes = {}
    for line in _SYSTEM.read_text().splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK":
            inode = words[5].rpartition(":")[2]
            if inode.isdigit() and words[4].lstrip("-").isdigit():
                processes[int(inode)] = max(0, int(words[4]))
    return processes


def says_who(store: Store, session_id: str) -> str:
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


def writing(path: Path) -> Iterator[int]:
    """Other processes that have a file open for writing, as far as this user may see them; none except on Linux."""
    try:
        named, file_status = os.path.basename(os.path.realpath(path)), os.stat(path)
        processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for process in processes:
        if process != os.getpid() and _writes(process, named, file_status):
            yield process


def _writes(process: int, named: str, file_status: os.stat_result) -> bool:
    """Only links that end with the file's name are checked, because a process may have thousands of others."""
    directory = f"/proc/{process}/fd/"
    try:
        for name in os.listdir(directory):
            with suppress(OSError):  # it has been closed meanwhile
                if os.readlink(directory + name).endswith(named) and _is_open_to_write(process, name, file_status):
                    return True
    except OSError:
        pass
    return False


def _is_open_to_write(process: int, name: str, file_status: os.stat_result) -> bool:
    """Raises OSError where it has been closed meanwhile."""
    status = os.stat(f"/proc/{process}/fd/{name}")
    if (status.st_dev, status.st_ino) != (file_status.st_dev, file_status.st_ino):
        return False
    fdinfo = Path(f"/proc/{process}/fdinfo/{name}").read_text()
    flags = next((line.split()[1] for line in fdinfo.splitlines() if line.startswith("flags:")), "0")
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY
