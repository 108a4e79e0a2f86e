"""Which clients have a session open: each records it in `sessions/<process>.json`, and deletes that file
when it ends.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewer.stores.base import Store
from viewer.stores.jsonl.files import beginning
from viewer.stores.lock_owners import Holder, own_namespace

LARGEST = 100_000  # bytes; the rest of such a file is not read
TRUSTED_SECONDS = 600.0  # for which a client in another container, whose process cannot be seen, counts as open
LATEST = 10**14  # milliseconds: the year 5138
_NAMESPACE = re.compile(r"pid:\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Client:
    """An open client; `since` in epoch seconds, `is_busy` while it runs a turn."""

    process: int
    since: float
    is_busy: bool

    @property
    def holder(self) -> Holder:
        turn = "is running a turn of" if self.is_busy else "has"
        says = (
            f"Claude Code (process {self.process}) {turn} this session"
            f"{'' if self.is_busy else ' open'} and would go on with what it has in memory. Close it first."
        )
        return Holder(f"pid={self.process}:agent=claude-code:", self.since, self.since, says)


def clients_of(store: Store, session_id: str) -> list[Client]:
    """The open clients of a session."""
    return [client for each in _entries(store.path / "sessions") if (client := _client(each, session_id)) is not None]


def open_sessions(store: Store) -> Collection[str] | None:
    """The sessions that a client has open; None where no client ever recorded that, as older ones do not."""
    directory = store.path / "sessions"
    if not directory.is_dir():
        return None
    named = ((entry, str(entry.get("sessionId"))) for entry in _entries(directory))
    return {session_id for entry, session_id in named if _client(entry, session_id)}


def _entries(directory: Path) -> Iterator[dict[str, Any]]:
    try:
        paths = list(directory.glob("*.json"))
    except OSError:
        return
    for path in paths:
        try:
            entry = json.loads(beginning(path, LARGEST))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            yield entry


def _client(entry: dict[str, Any], session_id: str) -> Client | None:
    process, since = entry.get("pid"), entry.get("startedAt")
    if entry.get("sessionId") != session_id or not isinstance(process, int) or not _is_alive(entry, process):
        return None
    return Client(process, _seconds(since), entry.get("status") == "busy")


def _seconds(milliseconds: Any) -> float:
    """The time in epoch seconds, 0.0 for a value that is not a time."""
    is_time = isinstance(milliseconds, (int, float)) and 0 < milliseconds < LATEST
    return milliseconds / 1000 if is_time else 0.0


def _is_alive(entry: dict[str, Any], process: int) -> bool:
    namespace = _NAMESPACE.search(str(entry.get("pidDomain")))
    if namespace and own_namespace() and namespace[1] != own_namespace():
        return time.time() - _seconds(entry.get("updatedAt")) < TRUSTED_SECONDS
    if sys.platform != "linux":
        return _exists(process)
    try:  # the 22nd field, counted after the name, which may contain anything
        start = Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return False
    return entry.get("procStart") in (None, start)


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
