"""The names of sessions in the client's `session_index.jsonl`, where it keeps them if there is no database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock

from cachetools import LRUCache

from viewer.stores.jsonl.files import FileState, plainly, state_of
from viewer.stores.jsonl.lines import lines_from

NAME = "session_index.jsonl"
LARGEST = 64_000_000  # bytes; a larger file is not read

_read: LRUCache[str, tuple[FileState, Mapping[str, str]]] = LRUCache(32)
_lock = Lock()


def names(home: Path) -> Mapping[str, str]:
    """The name of each session, by its last line; none where there is no such file, or it cannot be read."""
    path = home / NAME
    try:
        state = state_of(path)
        with _lock:
            cached = _read.get(str(path))
        if cached is not None and cached[0] == state:
            return cached[1]
        names = _names(path) if state.size <= LARGEST else {}
    except OSError:
        return {}
    with _lock:
        _read[str(path)] = state, names
    return names


def _names(path: Path) -> dict[str, str]:
    """Raises OSError."""
    names = {}
    with plainly(path) as file:
        for line in lines_from(file, 0):
            value = line.value() or {}
            session, name = value.get("id"), value.get("thread_name")
            if isinstance(session, str) and isinstance(name, str):
                names[session] = name
    return names
