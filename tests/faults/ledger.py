"""What stands in a store, to compare before and after: nothing deleted or changed, each message in context once."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewer.stores.hermes.codec import decode_content

FLAGS = ("active", "compacted")
SAID = ("role", "content", "tool_calls", "tool_call_id")
Said = tuple[Any, ...]  # role, content, tool calls and call id of one row


@dataclass(frozen=True)
class Look:
    """Every row's columns but its flags, and the live context of each session in order."""

    rows: dict[int, tuple[Any, ...]]
    live: dict[str, list[Said]]


def query(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a statement as another program would."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as con:
        return con.execute(sql, values).fetchall()


def look(path: Path) -> Look:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as con:
        con.execute("BEGIN")
        names = [row[1] for row in con.execute("PRAGMA table_info(messages)") if row[1] not in FLAGS]
        rows = {row[0]: row for row in con.execute(f"SELECT {', '.join(names)} FROM messages")}
        live: dict[str, list[Said]] = {}
        for session_id, *said in con.execute(
            f"SELECT session_id, {', '.join(SAID)} FROM messages WHERE active = 1 ORDER BY id"
        ):
            live.setdefault(session_id, []).append(tuple(said))
    return Look(rows, live)


def live(path: Path, session_id: str) -> list[Said]:
    columns = ", ".join(SAID)
    return query(path, f"SELECT {columns} FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", session_id)


def check_sound(path: Path, scratch: Path) -> None:
    """The file is sound, and on a copy its full-text index too."""
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    assert query(path, "PRAGMA foreign_key_check") == []
    copy = scratch / f"{path.stem}-copy.db"
    copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as con, closing(sqlite3.connect(copy)) as other:
        con.backup(other)
        for table in ("messages_fts", "messages_fts_trigram"):
            if other.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone():
                other.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
    copy.unlink()


def check_kept(before: Look, after: Look) -> None:
    """Every row from before is still there, word for word."""
    lost = [row_id for row_id, row in before.rows.items() if after.rows.get(row_id) != row]
    assert lost == [], f"{len(lost)} rows deleted or changed"


def check_free(path: Path) -> None:
    """Nobody holds a lock or a lease."""
    for table in ("compression_locks", "session_turn_leases"):
        if query(path, "SELECT 1 FROM sqlite_master WHERE name = ?", table):
            assert query(path, f"SELECT holder FROM {table}") == []


def handoffs(path: Path, session_id: str) -> int:
    """How many summaries of ours or the agent's are in the context."""
    marked = [said for said in live(path, session_id) if "[CONTEXT SUMMARY]" in str(decode_content(said[1]))]
    return len(marked)


def check_as_before_or_after(before: list[Said], now: list[Said], appended: list[str]) -> bool:
    """The context is as it was plus what was appended, or one handoff with what was kept, then what was appended.

    Whether it was compacted.
    """
    late = now[len(now) - len(appended) :] if appended else []
    assert [said[1] for said in late] == appended
    rest = now[: len(now) - len(appended)]
    if rest == before:
        return False
    summaries = [place for place, said in enumerate(rest) if "[CONTEXT SUMMARY]" in str(decode_content(said[1]))]
    assert len(summaries) == 1, f"{len(summaries)} summaries"
    head, tail = rest[: summaries[0]], rest[summaries[0] + 1 :]
    assert head == before[: len(head)]
    assert tail == before[len(before) - len(tail) :]
    assert tail and len(head) + len(tail) < len(before)
    assert not [said for said, count in Counter(tail).items() if count > Counter(before)[said]]
    return True
