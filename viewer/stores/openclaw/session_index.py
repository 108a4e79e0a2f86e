"""The file in which an OpenClaw before 2026.8 lists its sessions: updating counters of one, and adding one."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from viewer.stores.errors import StoreUnavailable
from viewer.stores.jsonl.files import FileState, state_of
from viewer.stores.trees.paths import SessionLocation

from . import session_fields
from .paths import INDEX, LARGEST_INDEX

TRIES = 5  # because the client writes it too
_OLD = ("contextBudgetStatus", "inputTokens", "outputTokens", "cacheRead", "cacheWrite", "estimatedCostUsd")


def count(directory: Path, key: str, *, tokens: int, compactions: int, now: float) -> None:
    """Record how many tokens a session has in context now, and add to its count of compactions. Everything else stays
    unchanged.

    `now` in epoch seconds. Raises StoreUnavailable.
    """
    _change(directory, lambda sessions: _count(sessions[key], tokens, compactions, int(now * 1000)))


def add(path: Path, location: SessionLocation, session_id: str, *, now: float) -> None:
    """Record a session in the file at `path` that is a branch of the one at `location`, under a new key; `now` in epoch
    seconds. Raises StoreUnavailable, and StoreReadOnly for a session that the client restricts.
    """

    def added(sessions: dict[str, Any]) -> None:
        sessions[session_fields.new_key(location)] = {
            **session_fields.choices(sessions[location.key]),
            "sessionId": session_id,
            "sessionFile": str(path),
            "updatedAt": int(now * 1000),
            "parentSessionKey": location.key,
            "forkedFromParent": True,
            "totalTokensFresh": False,
            **session_fields.title(location),
        }

    _change(path.parent, added)


def _change(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the sessions of the index in a directory, in one process of this site at a time. What the client writes
    meanwhile is not lost: the index is read again then. Raises StoreUnavailable.
    """
    path = directory / INDEX
    try:
        with _alone(directory):
            for _ in range(TRIES):
                state = state_of(path)
                if state.size > LARGEST_INDEX:
                    raise StoreUnavailable(f"{path} is larger than any that is known.")
                sessions: dict[str, Any] = json.loads(path.read_bytes())
                change(sessions)
                if _replace(path, json.dumps(sessions, indent=2).encode(), state):
                    return
        raise StoreUnavailable(f"{path} is written to by OpenClaw all the time. Try again in a moment.")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise StoreUnavailable(f"{path} could not be changed: {type(problem).__name__}.") from problem


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _count(entry: dict[str, Any], tokens: int, compactions: int, now: int) -> None:
    for name in _OLD:
        entry.pop(name, None)
    count = entry.get("compactionCount")
    before = count if isinstance(count, int) else 0
    entry.update(totalTokens=tokens, totalTokensFresh=True, compactionCount=max(0, before + compactions))
    entry["updatedAt"] = max(now, entry["updatedAt"] if isinstance(entry.get("updatedAt"), int) else 0)


def _replace(path: Path, data: bytes, expected: FileState) -> bool:
    """Replace a whole file, keeping its rights, if it still has the `expected` state; returns whether it
    was replaced.
    """
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        old = os.stat(path)
        os.chmod(draft, old.st_mode & 0o777)
        with suppress(PermissionError):
            os.chown(draft, old.st_uid, old.st_gid)
        if state_of(path) != expected:
            os.unlink(draft)
            return False
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    return True
