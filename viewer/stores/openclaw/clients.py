"""Whether pi may have a session open. It locks nothing, and continues from its memory: entries that are written to the
file meanwhile are not on its path. The signs are a pi process in the session's directory, and a file that has just been
written to.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from viewer.stores.lock_owners import Holder

from .places import SessionPlace

QUIET_SECONDS = 20.0  # since the last write to a file, until it counts as not in use by a client
# The name of the process (`pi-rpc` when embedded in another program), and the path it is started from.
NAME, PACKAGE = re.compile(rb"pi(-[a-z-]{1,20})?"), b"/pi-coding-agent/"
OPEN = (
    "pi (process {process}) runs in this session's directory. If it has the session open, it would go on with what it "
    "has in memory and the compaction would have no effect. End it first."
)
JUST_WRITTEN = (
    "This session was written to {seconds:.0f} s ago. pi locks nothing: end it first if it has the session open, and "
    "try again in {left:.0f} s."
)


def holder_of(location: SessionPlace, cwd: str) -> Holder | None:
    """Who may have a session of pi open, None for nobody; `cwd` is the directory that it works in."""
    for process in processes_in(cwd):
        return Holder(f"pid={process}:agent=pi:", 0.0, 0.0, OPEN.format(process=process))
    changed = location.state.changed / 1e9
    ago = time.time() - changed
    if abs(ago) < QUIET_SECONDS:  # a clock may be ahead
        message = JUST_WRITTEN.format(seconds=max(ago, 0), left=QUIET_SECONDS - ago + 1)
        return Holder("agent=pi:", changed, changed + QUIET_SECONDS, message)
    return None


def processes_in(cwd: str) -> Iterator[int]:
    """Processes of pi in a directory, as far as this user may see them; none except on Linux."""
    if sys.platform != "linux" or not cwd:
        return
    with suppress(OSError, ValueError):  # a path may contain a NUL byte
        directory_status = os.stat(cwd)
        for name in os.listdir("/proc"):
            if name.isdigit() and _is_pi(name) and _is_in(name, directory_status):
                yield int(name)


def _is_pi(process: str) -> bool:
    """pi replaces its command line by its name once it has started; a stand-alone binary keeps its path."""
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    name = command.split(b"\0")[0].strip().rpartition(b"/")[2]
    return NAME.fullmatch(name) is not None or PACKAGE in command


def _is_in(process: str, directory_status: os.stat_result) -> bool:
    try:
        status = os.stat(f"/proc/{process}/cwd")
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (directory_status.st_dev, directory_status.st_ino)
