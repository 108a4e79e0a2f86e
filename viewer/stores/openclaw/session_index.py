"""The counters of a session in the file in which an OpenClaw before 2026.8 notes its sessions beside their files."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from viewer.errors import StoreUnavailable

from .places import INDEX, LARGEST_INDEX

_OLD = ("contextBudgetStatus", "inputTokens", "outputTokens", "cacheRead", "cacheWrite", "estimatedCostUsd")


def count(directory: Path, key: str, *, tokens: int, compactions: int, now: float) -> None:
    """Note how many tokens a session has in context now, and `compactions` more. All else stays as it is.

    `now` in epoch seconds. Raises StoreUnavailable.
    """
    path = directory / INDEX
    try:
        if os.stat(path).st_size > LARGEST_INDEX:
            raise StoreUnavailable(f"{path} is larger than any that is known.")
        found: dict[str, Any] = json.loads(path.read_bytes())
        _count(found[key], tokens, compactions, int(now * 1000))
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
