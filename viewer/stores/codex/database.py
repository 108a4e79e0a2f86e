"""What the client itself notes of sessions: names, and the file that each goes on in. Nothing depends on it.

It stands in its database; names also in a file of their own (`session_index`), where the database has none.
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
from viewer.stores.tables import table_columns

from . import session_index

_NAME = re.compile(r"state_(\d{1,6})\.sqlite")
WAIT = 1.0  # seconds for a client that writes
LONGEST_TITLE = 500  # characters


@dataclass(frozen=True, slots=True)
class NotedThread:
    """What is noted of a session, "" for nothing; `title` is a name that somebody or a model gave to it."""

    rollout_path: str = ""
    title: str = ""
    model: str = ""


NOTHING = NotedThread()
_COLUMNS = ("id", "rollout_path", "name", "title", "first_user_message", "preview", "model")

_read: LRUCache[str, tuple[str, Mapping[str, NotedThread]]] = LRUCache(32)
_lock = Lock()


@dataclass(frozen=True, slots=True)
class NotedThreads:
    """What is noted of all sessions of a store: in the database, and the names beside it."""

    threads: Mapping[str, NotedThread]
    names: Mapping[str, str]

    def of(self, session_id: str) -> NotedThread:
        found = self.threads.get(session_id, NOTHING)
        name = "" if found.title else _title(self.names.get(session_id, ""))
        return replace(found, title=name) if name else found


def thread_rows(store: Store) -> NotedThreads:
    """What is noted of sessions; nothing where it cannot be read."""
    return NotedThreads(_in_database(store), session_index.names(store.path))


def _in_database(store: Store) -> Mapping[str, NotedThread]:
    """What the database has of each session; nothing where there is none, or it cannot be read."""
    path = _newest(store.path)
    if path is None:
        return {}
    state = _state(path)
    with _lock:
        known = _read.get(str(path))
    if known is not None and known[0] == state:
        return known[1]
    try:
        found = _threads(path)
    except sqlite3.Error:
        return known[1] if known else {}
    with _lock:
        _read[str(path)] = state, found
    return found


def _newest(home: Path) -> Path | None:
    """The database of the newest version, by the number in its name."""
    places = [Path(os.environ["CODEX_SQLITE_HOME"])] if os.environ.get("CODEX_SQLITE_HOME") else []
    for place in (home, home / "sqlite", *places):
        try:
            named = [(int(found[1]), name) for name in os.listdir(place) if (found := _NAME.fullmatch(name))]
        except OSError:
            continue
        if named:
            return place / max(named)[1]
    return None


def _state(path: Path) -> str:
    said = []
    for each in (path, Path(f"{path}-wal")):
        try:
            found = each.stat()
            said.append(f"{found.st_ino} {found.st_size} {found.st_mtime_ns}")
        except OSError:
            said.append("")
    return " ".join(said)


def _threads(path: Path) -> dict[str, NotedThread]:
    """Read as it is where nobody writes: opening it otherwise would make files beside it. Raises sqlite3.Error."""
    immutable = "" if os.path.exists(f"{path}-wal") else "&immutable=1"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{immutable}", uri=True, timeout=WAIT)) as con:
        con.text_factory = lambda data: data.decode("utf-8", "replace")
        there = set(table_columns(con, "threads"))
        if not {"id", "rollout_path"} <= there:
            return {}
        wanted = ", ".join(name if name in there else f"NULL AS {name}" for name in _COLUMNS)
        return {row[0]: _noted(*row[1:]) for row in con.execute(f"SELECT {wanted} FROM threads")}


def _noted(path: object, name: object, title: object, first: object, preview: object, model: object) -> NotedThread:
    """The client's title is the first request until there is a better one."""
    given = title if title not in (first, preview) else ""
    return NotedThread(_text(path), _title(_text(name) or _text(given)), _text(model))


def _title(name: str) -> str:
    return " ".join(name.split())[:LONGEST_TITLE]


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
