"""The file in which an OpenClaw before 2026.8 notes its sessions beside their files: counters of one, and a new one."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from viewer.errors import StoreUnavailable

from . import inherited
from .places import INDEX, LARGEST_INDEX, SessionPlace

_OLD = ("contextBudgetStatus", "inputTokens", "outputTokens", "cacheRead", "cacheWrite", "estimatedCostUsd")


def count(directory: Path, key: str, *, tokens: int, compactions: int, now: float) -> None:
    """Note how many tokens a session has in context now, and `compactions` more. All else stays as it is.

    `now` in epoch seconds. Raises StoreUnavailable.
    """
    with _changing(directory / INDEX) as found:
        _count(found[key], tokens, compactions, int(now * 1000))


def add(path: Path, place: SessionPlace, session_id: str, *, now: float) -> None:
    """Note a session in the file at `path` that is a branch of the one at a place, under a key of its own; `now` in
    epoch seconds. Raises StoreUnavailable, and StoreReadOnly for a session that the client restricts.
    """
    with _changing(path.parent / INDEX) as found:
        found[inherited.new_key(place)] = {
            **inherited.choices(found[place.key]),
            "sessionId": session_id,
            "sessionFile": str(path),
            "updatedAt": int(now * 1000),
            "parentSessionKey": place.key,
            "forkedFromParent": True,
            "totalTokensFresh": False,
            **inherited.title(place),
        }


@contextmanager
def _changing(path: Path) -> Iterator[dict[str, Any]]:
    """The sessions of an index by their key, which are written when this ends. Raises StoreUnavailable."""
    try:
        if os.stat(path).st_size > LARGEST_INDEX:
            raise StoreUnavailable(f"{path} is larger than any that is known.")
        found: dict[str, Any] = json.loads(path.read_bytes())
        yield found
        _replace(path, json.dumps(found, indent=2).encode())
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise StoreUnavailable(f"{path} could not be changed: {type(problem).__name__}.") from problem


def _count(entry: dict[str, Any], tokens: int, compactions: int, now: int) -> None:
    for name in _OLD:
        entry.pop(name, None)
    count = entry.get("compactionCount")
    before = count if isinstance(count, int) else 0
    entry.update(totalTokens=tokens, totalTokensFresh=True, compactionCount=max(0, before + compactions))
    entry["updatedAt"] = max(now, entry["updatedAt"] if isinstance(entry.get("updatedAt"), int) else 0)


def _replace(path: Path, data: bytes) -> None:
    """Put a file whole in the place of another one, with its rights."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, os.stat(path).st_mode & 0o777)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
