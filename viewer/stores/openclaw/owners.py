"""Who runs an OpenClaw on a state directory now: a gateway, or a client that takes a single turn.

Each records itself in `tmp/openclaw-<user>/gateway.state.lock`, which a killed process leaves behind, and keeps a
database next to it locked while it lives. A gateway says in the session's row that a turn runs; any other owner means
one turn.
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
LARGEST = 100_000  # bytes of such a record
STARTED = 19  # the field of a process's start in /proc/<pid>/stat, counted after its name
RUNNING = "running"
TURN = "OpenClaw ({process}) runs a turn of this session. Wait until it has answered, and try again."
BY_ITSELF = "OpenClaw ({process}) works on these sessions by itself just now. Try again once it is done."


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that owns a state directory, 0 where its id is unknown; `is_gateway` says that it is a gateway."""

    process: int
    is_gateway: bool


def owner_of(home: Path) -> Owner | None:
    """The living owner of a state directory, None for none."""
    try:
        rooms = sorted(each for each in os.listdir(home / "tmp") if each.startswith("openclaw-"))
    except OSError:
        return None
    owners = (_owner(home / "tmp" / room) for room in rooms)
    return next((owner for owner in owners if owner is not None), None)


def _owner(room: Path) -> Owner | None:
    record = _record(room / LOCK)
    process = living(room / LOCK, "startTime")
    if process is None and _is_locked(room / LOCKED):
        pid = record.get("pid")
        process = pid if isinstance(pid, int) else 0
    return None if process is None else Owner(process, bool(record) and not record.get("role"))


def living(path: Path, start: str) -> int | None:
    """The process that is recorded in a file, with its start under a name; None where it no longer exists."""
    record = _record(path)
    process = record.get("pid")
    return process if isinstance(process, int) and _is_alive(process, record.get(start)) else None


def _record(path: Path) -> dict[str, Any]:
    """What an owner records about itself: JSON, followed by a line of blanks."""
    try:
        text = beginning(path, LARGEST).decode("utf-8", "replace")
        record, _ = json.JSONDecoder().raw_decode(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _is_alive(process: int, started: Any) -> bool:
    """Whether the process exists and, where that is known, began at the recorded time."""
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
    """Whether a process keeps this database locked; it may be one that cannot be seen from here."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as con:
            con.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.OperationalError as problem:
        return "locked" in str(problem)
    except sqlite3.Error:
        return False
    return False


def holder_of(home: Path, status: str) -> Holder | None:
    """Who works on a session whose row has this status, None for nobody. Times are unknown."""
    owner = owner_of(home)
    if owner is None or (owner.is_gateway and status != RUNNING):
        return None
    message = TURN if owner.is_gateway else BY_ITSELF
    prefix = f"pid={owner.process}:" if owner.process else ""
    who = f"process {owner.process}" if owner.process else "a process that does not name itself"
    return Holder(f"{prefix}agent=openclaw:", 0.0, 0.0, message.format(process=who))
