"""*Practise on a copy*: a session of any store, copied into the demo store, where compacting it harms nobody."""

import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from viewer.stores.errors import NotFound, StoreUnavailable

from .columns import read_columns
from .database import OpenStore
from .dialect import StoreConnection
from .paths import chain, split_title, system_prompt
from .schema import Row, insert, store_prompt

TITLE_CHARACTERS = 95  # Hermes accepts 100; the newer parts of a conversation have " #2" after it
BUSY_SECONDS = 5.0

# A session's links to its owner: parents, chats, keys into tables that are not copied, the end, cool-downs, places.
_LEFT_BEHIND = {
    "parent_session_id", "session_key", "system_prompt", "system_prompt_hash", "tool_names", "ended_at", "end_reason",
    "handoff_state", "handoff_platform", "handoff_error", "compression_failure_cooldown_until",
    "compression_failure_error", "compression_fallback_streak", "compression_ineffective_count",
    "compression_recovery_deadline", "compression_overload_streak", "archived", "auto_archived", "hidden",
}  # fmt: skip
_OF_THE_OLD_PLACE = {"id", "display_order"}  # of a message: row numbers of the source


def copy_session(source: OpenStore, session_id: str, demo_path: Path, *, now: float) -> str:
    """Copy one session, with the parts it continues, into the demo store; returns the id of the copy.

    Columns that either side lacks are left out. Rows keep their order, flags and times, so the copy has the same
    History. Its newest part is open, last active `now` (epoch seconds). Raises NotFound for an unknown session and
    StoreUnavailable when there is no demo store.
    """
    if not _rows(source.con, "SELECT id FROM sessions WHERE id = ?", session_id):
        raise NotFound(f"There is no session {session_id}.")
    parts = [_Part.read(source, part) for part in chain(source, session_id)]
    copy_id = None
    with _writable(demo_path) as demo:
        title = _title(demo, split_title(parts[-1].session.get("title") or "")[0])
        for number, part in enumerate(parts, start=1):
            own = {"title": title if number == 1 else f"{title} #{number}", "parent_session_id": copy_id}
            if number < len(parts):
                own |= {name: part.session.get(name) for name in ("ended_at", "end_reason")}
            copy_id = _copy(demo, part, own, now)
    assert copy_id is not None  # a chain has at least the session itself
    return copy_id


@dataclass(frozen=True, slots=True)
class _Part:
    session: Row
    messages: list[Row]
    prompt: str

    @classmethod
    def read(cls, source: OpenStore, session_id: str) -> "_Part":
        (session,) = _rows(source.con, "SELECT * FROM sessions WHERE id = ?", session_id)
        messages = _rows(source.con, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", session_id)
        return cls(session, messages, system_prompt(source, session_id))


def _copy(demo: sqlite3.Connection, part: _Part, own: Row, now: float) -> str:
    copy_id = f"{datetime.fromtimestamp(now, UTC):%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"
    columns = read_columns(demo)
    session = _common_values(part.session, columns.sessions, _LEFT_BEHIND) | {
        "id": copy_id,
        "model_config": _without_origins(part.session.get("model_config")),
        "system_prompt_hash": store_prompt(demo, part.prompt),
        "last_activity_at": now,
        "message_count": sum(row.get("active", 1) == 1 for row in part.messages),
    }
    insert(demo, "sessions", session | own)
    for row in part.messages:
        insert(demo, "messages", _common_values(row, columns.messages, _OF_THE_OLD_PLACE) | {"session_id": copy_id})
    return copy_id


def _rows(connection: StoreConnection, query: str, value: str) -> list[Row]:
    cursor = connection.execute(query, (value,))
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _common_values(row: Row, columns: tuple[str, ...], left_behind: set[str]) -> Row:
    """The values both stores have a column for; a NULL is left out, so that the column's default applies."""
    return {name: row[name] for name in columns if row.get(name) is not None and name not in left_behind}


def _without_origins(config: Any) -> str | None:
    """A model configuration without the keys that name other sessions, such as `_delegate_from`."""
    try:
        parsed = json.loads(config)
    except (TypeError, ValueError):
        return None
    if not isinstance(parsed, dict):
        return None
    return json.dumps({name: value for name, value in parsed.items() if not name.startswith("_")})


def _title(demo: sqlite3.Connection, title: str) -> str:
    used_titles = {name for (name,) in demo.execute("SELECT title FROM sessions WHERE title IS NOT NULL").fetchall()}
    number = 1
    while True:
        ending = " (practice copy)" if number == 1 else f" (practice copy {number})"
        new_title = (title or "Untitled")[: TITLE_CHARACTERS - len(ending)] + ending
        if new_title not in used_titles:
            return new_title
        number += 1


@contextmanager
def _writable(path: Path) -> Iterator[sqlite3.Connection]:
    """The demo store within one write transaction."""
    if not path.exists():
        raise StoreUnavailable(f"The demo store {path} is not there. It is made when the site starts.")
    address = f"file:{quote(str(path))}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as demo:
        demo.execute("PRAGMA foreign_keys = ON")
        demo.execute("BEGIN IMMEDIATE")
        try:
            yield demo
        except BaseException:
            demo.execute("ROLLBACK")
            raise
        demo.execute("COMMIT")
