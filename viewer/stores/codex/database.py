"""The client's own records of sessions: names, and the current file of each. Nothing depends on them.

They are in its database; names are also in `session_index.jsonl` where it has no database.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from cachetools import LRUCache

from viewer.stores.base import Store
from viewer.stores.jsonl.files import FileState, plainly, state_of
from viewer.stores.jsonl.lines import lines_from
from viewer.stores.sqlite.reading import without_files
from viewer.stores.sqlite.tables import table_columns

_NAME = re.compile(r"state_(\d{1,6})\.sqlite")
WAIT = 1.0  # seconds to wait for a client that writes
LONGEST_TITLE = 500  # characters
INDEX = "session_index.jsonl"
LARGEST_INDEX = 64_000_000  # bytes; a larger file is not read


@dataclass(frozen=True, slots=True)
class ClientThread:
    """The records of a session, "" for none; `title` is a name from a person or a model."""

    rollout_path: str = ""
    title: str = ""
    model: str = ""


NO_THREAD = ClientThread()
_COLUMNS = ("id", "rollout_path", "name", "title", "first_user_message", "preview", "model")

_read: LRUCache[str, tuple[str, Mapping[str, ClientThread]]] = LRUCache(32)
_lock = Lock()


@dataclass(frozen=True, slots=True)
class ClientThreads:
    """The records of all sessions of a store: from the database, and the names from the separate file."""

    threads: Mapping[str, ClientThread]
    names: Mapping[str, str]

    def of(self, session_id: str) -> ClientThread:
        thread = self.threads.get(session_id, NO_THREAD)
        name = "" if thread.title else _title(self.names.get(session_id, ""))
        return replace(thread, title=name) if name else thread


def thread_rows(store: Store) -> ClientThreads:
    """The client's records of sessions; none where they cannot be read."""
    return ClientThreads(_in_database(store), names_in_index(store.path))


def _in_database(store: Store) -> Mapping[str, ClientThread]:
    """The database's records of each session; none where there is no database, or it cannot be read."""
    path = _newest(store.path)
    if path is None:
        return {}
    state = _state(path)
    with _lock:
        cached = _read.get(str(path))
    if cached is not None and cached[0] == state:
        return cached[1]
    try:
        rows = _threads(path)
    except sqlite3.Error:
        return cached[1] if cached else {}
    with _lock:
        _read[str(path)] = state, rows
    return rows


def _newest(home: Path) -> Path | None:
    """The database of the newest version, by the number in its name."""
    extra_directories = [Path(os.environ["CODEX_SQLITE_HOME"])] if os.environ.get("CODEX_SQLITE_HOME") else []
    for directory in (home, home / "sqlite", *extra_directories):
        try:
            named = [(int(match[1]), name) for name in os.listdir(directory) if (match := _NAME.fullmatch(name))]
        except OSError:
            continue
        if named:
            return directory / max(named)[1]
    return None


def _state(path: Path) -> str:
    states = []
    for each in (path, Path(f"{path}-wal")):
        try:
            status = each.stat()
            states.append(f"{status.st_ino} {status.st_size} {status.st_mtime_ns}")
        except OSError:
            states.append("")
    return " ".join(states)


def _threads(path: Path) -> dict[str, ClientThread]:
    """Raises sqlite3.Error."""
    with closing(without_files(path, WAIT)) as con:
        there = set(table_columns(con, "threads"))
        if not {"id", "rollout_path"} <= there:
            return {}
        selection = ", ".join(name if name in there else f"NULL AS {name}" for name in _COLUMNS)
        return {row[0]: _thread(*row[1:]) for row in con.execute(f"SELECT {selection} FROM threads")}


def _thread(path: object, name: object, title: object, first: object, preview: object, model: object) -> ClientThread:
    """The client's title is the first request until there is a better one."""
    own_title = title if title not in (first, preview) else ""
    return ClientThread(_text(path), _title(_text(name) or _text(own_title)), _text(model))


def _title(name: str) -> str:
    return " ".join(name.split())[:LONGEST_TITLE]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# -- names in `session_index.jsonl` ------------------------------------------------------------------------------------


_read_index: LRUCache[str, tuple[FileState, Mapping[str, str]]] = LRUCache(32)


def names_in_index(home: Path) -> Mapping[str, str]:
    """The name of each session, by its last line; none where there is no such file, or it cannot be read."""
    path = home / INDEX
    try:
        state = state_of(path)
        with _lock:
            cached = _read_index.get(str(path))
        if cached is not None and cached[0] == state:
            return cached[1]
        names = _read_names(path) if state.size <= LARGEST_INDEX else {}
    except OSError:
        return {}
    with _lock:
        _read_index[str(path)] = state, names
    return names


def _read_names(path: Path) -> dict[str, str]:
    """Raises OSError."""
    names = {}
    with plainly(path) as file:
        for line in lines_from(file, 0):
            value = line.value() or {}
            session, name = value.get("id"), value.get("thread_name")
            if isinstance(session, str) and isinstance(name, str):
                names[session] = name
    return names
