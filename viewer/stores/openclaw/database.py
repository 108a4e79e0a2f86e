"""An agent's database: read-only connections to it, its sessions, and the known schemas.

Only `agents/*/agent/openclaw-agent.sqlite` is opened. The client's shared `state/openclaw.sqlite` holds secrets and is
never opened.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from cachetools import LRUCache

from viewer.stores.errors import StoreUnanswered, StoreUnavailable
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.links import leads_away
from viewer.stores.sqlite import reading
from viewer.stores.sqlite.tables import table_columns
from viewer.stores.trees.paths import SessionFields

from .session_fields import FIELDS, noted_of

NAME = "openclaw-agent.sqlite"
KNOWN_SCHEMAS = (19, 21, 23)  # OpenClaw 2026.8.1 to 2026.9.6
NEEDED = ("session_nodes", "transcript_events")  # without these tables nothing can be read
BUSY_SECONDS, LIST_SECONDS = 5.0, 0.2  # how long a locked one is waited for, and how long in a list of several stores
REMEMBERED = 20_000  # session entries
_OLDEST_WITH_OCTET_LENGTH = (3, 43)

_noted: LRUCache[tuple[str, str, Any], SessionFields] = LRUCache(REMEMBERED)
_lock = Lock()


@dataclass(frozen=True, slots=True)
class StoredWindow:
    """A transcript in a database. `previous` is the session that its key had before it, `forked_from` the one that it
    is a fork of, "" for none; `reason` says why it was begun. `is_current` says that its key continues in it,
    `is_copied` that the next transcript of the key began as a copy of it, `is_cold` that its entries are in an archive.
    `changed` and `began` in milliseconds; `events` is the number that the next entry would get.
    """

    id: str
    key: str
    previous: str
    forked_from: str
    reason: str
    changed: int
    began: int
    events: int
    model: str
    generation: str
    fields: SessionFields
    is_current: bool
    is_copied: bool
    is_cold: bool


def databases(home: Path) -> list[tuple[str, Path]]:
    """(agent, file) of the agents of a state directory that have a database, by name."""
    try:
        names = sorted(os.listdir(home / "agents"))
    except OSError:
        return []
    paths = ((name, home / "agents" / name / "agent" / NAME) for name in names)
    return [(name, path) for name, path in paths if os.path.isfile(path) and not leads_away(path)]


def state_text(path: Path) -> str:
    """A text that differs after every write to the database."""
    states = []
    for each in (str(path), f"{path}-wal"):
        try:
            status = os.stat(each)
            states.append(f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns}")
        except OSError:
            states.append("")
    return ", ".join(states)


def sizes(paths: Sequence[Path]) -> int:
    """Bytes of these databases."""
    size = 0
    for path in paths:
        with suppress(OSError):
            size += os.stat(path).st_size
    return size


@contextmanager
def connected(path: Path, patience: float = BUSY_SECONDS) -> Iterator[sqlite3.Connection]:
    """A read-only connection. Raises StoreUnavailable, also for the errors of statements inside the `with` block."""
    try:
        with closing(reading.without_files(path, patience)) as con:
            yield prepared(con)
    except sqlite3.Error as problem:
        raise unavailable(path, problem) from problem


def prepared(con: sqlite3.Connection) -> sqlite3.Connection:
    """A connection that reads any text, and has the functions that the client's tables need."""
    reading.read_any_text(con)
    if sqlite3.sqlite_version_info < _OLDEST_WITH_OCTET_LENGTH:
        con.create_function("octet_length", 1, octet_length, deterministic=True)
    return con


def octet_length(value: Any) -> int | None:
    """The result of SQLite's function of this name, which versions before 3.43 lack; schema 23 needs it."""
    if value is None:
        return None
    return len(value if isinstance(value, bytes) else str(value).encode("utf-8", "replace"))


def unavailable(path: Path, problem: sqlite3.Error) -> StoreUnavailable:
    """The error as a sentence with the file's name."""
    message = str(problem)
    if "locked" in message or "busy" in message:
        return StoreUnanswered(f"{path} is locked by another program just now. Try again in a moment.")
    return StoreUnavailable(f"{path} cannot be read: SQLite reports: {message}.")


def columns(con: sqlite3.Connection, table: str) -> frozenset[str]:
    """The columns of a table, none where there is no such table."""
    return frozenset(table_columns(con, table))


@lru_cache(maxsize=200)
def schema(path: Path, text: str) -> tuple[int, bool]:
    """The schema number of a database in this `state_text`, and whether it has the tables that are read. Raises
    StoreUnavailable.
    """
    with connected(path) as con:
        ((version,),) = con.execute("PRAGMA user_version").fetchall()
        return int(version), all(columns(con, table) for table in NEEDED)


def status_of(path: Path, key: str) -> str:
    """The status of a conversation's newest run in its row, "" for none. Raises StoreUnavailable."""
    with connected(path) as con:
        if "status" not in columns(con, "session_nodes"):
            return ""
        rows = con.execute("SELECT status FROM session_nodes WHERE session_key = ?", (key,))
        return next((str(row[0] or "") for row in rows), "")


# -- sessions ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=200)
def windows(path: Path, text: str, patience: float = BUSY_SECONDS) -> tuple[StoredWindow, ...]:
    """All transcripts of a database in this `state_text`. Raises StoreUnavailable."""
    with connected(path, patience) as con:
        if not all(columns(con, table) for table in NEEDED):
            raise StoreUnavailable(f"{path} has no sessions in a form that is known here.")
        return tuple(_windows(con, path))


def _windows(con: sqlite3.Connection, path: Path) -> Iterator[StoredWindow]:
    rows = _window_rows(con)
    nodes = {row["session_key"]: row for row in _node_rows(con)}
    known_ids = {row["session_id"] for row in rows}
    rows += [
        _NOTHING | {"session_id": node["current_session_id"], "session_key": key, "updated_at": node["updated_at"]}
        for key, node in nodes.items()
        if node["current_session_id"] not in known_ids
    ]
    cold = _ids(con, "session_transcript_cold_archives")
    next_of = {row["previous_session_id"]: row for row in rows if row["previous_session_id"]}
    for row in rows:
        session_id, key = row["session_id"], row["session_key"]
        node = nodes.get(key)
        if not isinstance(session_id, str):
            continue
        newer = next_of.get(session_id)
        is_current = node is not None and node["current_session_id"] == session_id
        yield StoredWindow(
            id=session_id,
            key=str(key or ""),
            previous=str(row["previous_session_id"] or ""),
            forked_from=str((node or {}).get("fork_source_session_id") or "") if is_current else "",
            reason=str(row["reason"] or ""),
            changed=max(_whole(row["transcript_updated_at"]), _whole(row["updated_at"])),
            began=_whole(row["created_at"]),
            events=_events(con, session_id),
            model=str(row["model"] or ""),
            generation=_generation(con, session_id),
            fields=_noted_of(con, path, node) if is_current and node is not None else SessionFields(),
            is_current=is_current,
            is_copied=newer is not None and _is_copy(con, row, newer),
            is_cold=session_id in cold,
        )


_WINDOW = (
    "session_id", "session_key", "previous_session_id", "reason", "updated_at", "transcript_updated_at", "created_at",
    "model",
)  # fmt: skip
# Columns of a key's row that repeat fields of its entry, with the names of those fields.
_AS_NOTED = {
    "label": "label", "display_name": "displayName", "pinned_at": "pinnedAt", "archived_at": "archivedAt",
    "spawned_by": "spawnedBy", "parent_session_key": "parentSessionKey",
}  # fmt: skip
_NODE = ("session_key", "current_session_id", "updated_at", "fork_source_session_id", *_AS_NOTED)
_NOTHING: dict[str, Any] = dict.fromkeys(_WINDOW)


def _window_rows(con: sqlite3.Connection) -> list[dict[str, Any]]:
    return _rows(con, "session_windows", _WINDOW) if columns(con, "session_windows") else []


def _node_rows(con: sqlite3.Connection) -> list[dict[str, Any]]:
    return _rows(con, "session_nodes", _NODE)


def _rows(con: sqlite3.Connection, table: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table with these columns, NULL for those that it does not have."""
    there = columns(con, table)
    selection = ", ".join(name if name in there else f"NULL AS {name}" for name in names)
    return [dict(zip(names, row, strict=True)) for row in con.execute(f"SELECT {selection} FROM {table}")]


def _ids(con: sqlite3.Connection, table: str) -> frozenset[str]:
    if "session_id" not in columns(con, table):
        return frozenset()
    return frozenset(row[0] for row in con.execute(f"SELECT session_id FROM {table}"))


def _events(con: sqlite3.Connection, session_id: str) -> int:
    ((newest,),) = con.execute("SELECT max(seq) FROM transcript_events WHERE session_id = ?", (session_id,)).fetchall()
    return newest + 1 if isinstance(newest, int) else 0


def _generation(con: sqlite3.Connection, session_id: str) -> str:
    """A text that the client changes whenever it rewrites or deletes an entry, "" where there is none."""
    if "generation" not in columns(con, "transcript_rewrite_watermarks"):
        return ""
    rows = con.execute("SELECT generation FROM transcript_rewrite_watermarks WHERE session_id = ?", (session_id,))
    return next((str(row[0]) for row in rows), "")


def _is_copy(con: sqlite3.Connection, older: dict[str, Any], newer: dict[str, Any]) -> bool:
    """Whether the newer of two transcripts of a key began as a copy of the older one, as after a rewind."""
    if older["session_key"] != newer["session_key"]:
        return False
    first = _first_entry(con, older["session_id"])
    return first is not None and first == _first_entry(con, newer["session_id"])


def _first_entry(con: sqlite3.Connection, session_id: str) -> Any:
    if not columns(con, "transcript_event_identities"):
        return None
    query = (
        "SELECT event_id FROM transcript_event_identities WHERE session_id = ? AND event_type IS NOT 'session'"
        " ORDER BY seq LIMIT 1"
    )
    return next((row[0] for row in con.execute(query, (session_id,))), None)


def _noted_of(con: sqlite3.Connection, path: Path, node: dict[str, Any]) -> SessionFields:
    """The named fields of a session's entry; read anew when its time changed."""
    key = str(path), str(node["session_key"]), (node["updated_at"], node["current_session_id"])
    with _lock:
        cached = _noted.get(key)
    if cached is not None:
        return cached
    paths = ", ".join(f"'$.{name}'" for name in FIELDS)
    query = (
        f"SELECT CASE WHEN json_valid(entry_json) THEN json_extract(entry_json, {paths}) END"
        " FROM session_nodes WHERE session_key = ?"
    )
    values_json = next((row[0] for row in con.execute(query, (node["session_key"],))), None)
    decoded_object = decoded(f'{{"values": {values_json}}}'.encode("utf-8", "replace"))
    values = (decoded_object or {}).get("values") or []
    from_columns = {name: node[column] for column, name in _AS_NOTED.items() if node[column] is not None}
    result = noted_of(dict(zip(FIELDS, values, strict=False)) | from_columns)
    with _lock:
        _noted[key] = result
    return result


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and 0 < value < 2**53 else 0
