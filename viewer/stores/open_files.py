"""Which processes have a file open, by the system's own list of what each has open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def writers_of(path: Path) -> Iterator[int]:
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
