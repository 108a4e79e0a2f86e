"""Who runs an OpenClaw on a state directory now: a gateway, or a client that takes one turn by itself.

Each notes itself in `tmp/openclaw-<user>/gateway.state.lock`, which a killed one leaves behind, and keeps a database
beside it locked while it lives. A gateway says in the session's row that a turn runs; any other owner is one turn.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewer.stores.jsonl.files import beginning
from viewer.stores.lock_owners import Holder

LOCK, LOCKED = "gateway.state.lock", "gateway.state.lock.sqlite"
LARGEST = 100_000  # bytes of such a note
STARTED = 19  # the place of a process's start in /proc/<pid>/stat, behind its name
RUNNING = "running"
TURN = "OpenClaw ({process}) runs a turn of this session. Wait until it has answered, and try again."
BY_ITSELF = "OpenClaw ({process}) works on these sessions by itself just now. Try again once it is done."


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that owns a state directory, 0 where that is not known, which is a gateway where it `is_gateway`."""

    process: int
    is_gateway: bool


def owner_of(home: Path) -> Owner | None:
    """The owner of a state directory that lives, None for none."""
    try:
        rooms = sorted(each for each in os.listdir(home / "tmp") if each.startswith("openclaw-"))
    except OSError:
        return None
    found = (_owner(home / "tmp" / room) for room in rooms)
    return next((owner for owner in found if owner is not None), None)


def _owner(room: Path) -> Owner | None:
    said = _noted(room / LOCK)
    process = living(room / LOCK, "startTime")
    if process is None and _is_locked(room / LOCKED):
        noted = said.get("pid")
        process = noted if isinstance(noted, int) else 0
    return None if process is None else Owner(process, bool(said) and not said.get("role"))


def living(path: Path, start: str) -> int | None:
    """The process that notes itself in a file, with its start under a name; None where it is not there any more."""
    said = _noted(path)
    process = said.get("pid")
    return process if isinstance(process, int) and _is_alive(process, said.get(start)) else None


def _noted(path: Path) -> dict[str, Any]:
    """What an owner says of itself: JSON, and behind it a line of blanks."""
    try:
        text = beginning(path, LARGEST).decode("utf-8", "replace")
        said, _ = json.JSONDecoder().raw_decode(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _is_alive(process: int, started: Any) -> bool:
    """Whether it is there and, where that is known, began at the time that was noted."""
    if not os.path.isdir("/proc/self"):
        return _answers(process)
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
        since = int(stat.rpartition(")")[2].split()[STARTED])
    except (OSError, ValueError, IndexError):
        return False
    return started is None or started == since


def _answers(process: int) -> bool:
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _is_locked(path: Path) -> bool:
    """Whether a process keeps this database locked, which may be one that cannot be seen from here."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as con:
            con.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.OperationalError as problem:
        return "locked" in str(problem)
    except sqlite3.Error:
        return False
    return False


def holder_of(home: Path, status: str) -> Holder | None:
    """Who works on a session whose row has this status, None for nobody. Times are not known."""
    owner = owner_of(home)
    if owner is None or (owner.is_gateway and status != RUNNING):
        return None
    said = TURN if owner.is_gateway else BY_ITSELF
    known = f"pid={owner.process}:" if owner.process else ""
    who = f"process {owner.process}" if owner.process else "a process that does not name itself"
    return Holder(f"{known}agent=openclaw:", 0.0, 0.0, said.format(process=who))
