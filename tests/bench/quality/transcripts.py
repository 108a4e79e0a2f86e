"""Real transcripts in two halves: one to tune the engine on, one held out. Those of the project where these are absent.

A transcript belongs to a half by a hash of its session's name, so that no session stands in both.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from tests.bench.quality.messages import Message, is_request, whole_until, words

Half = Literal["tuning", "held out"]
HALVES: tuple[Half, ...] = ("tuning", "held out")
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
_DESKS = "Airline desk, week "


@dataclass(frozen=True)
class Transcript:
    """Messages of a session, oldest first, without earlier summaries. `kind` is coding or chat.

    `goal` are a person's words at its start that say what all of it is for, "" where it has none: it begins in the
    middle, or is the work of a day for many people.
    """

    name: str
    kind: Literal["coding", "chat"]
    messages: list[Message] = field(repr=False)
    goal: str = ""
    session: str = ""  # whose hash says the half, where it is not `name`

    @property
    def half(self) -> Half:
        return half_of(self.session or self.name)


def half_of(session: str) -> Half:
    """The half to which a session of this name belongs."""
    return HALVES[hashlib.sha256(f"half {session}".encode()).digest()[-1] % 2]


def whole(half: Half) -> list[Transcript]:
    """The long sessions of a half, whole."""
    return [each for each in _all() if each.half == half]


def parts(half: Half) -> list[Transcript]:
    """The long sessions of a half, and the second halves of coding sessions as transcripts of their own."""
    found = whole(half)
    second = [
        Transcript(f"{each.name}, 2nd half", each.kind, each.messages[whole_until(each.messages, 0.5) :], "", each.name)
        for each in found
        if each.kind == "coding"
    ]
    return [*found, *second]


def claude_code_rows(path: Path) -> Iterator[Message]:
    """The messages of a Claude Code session, an answer of several rows as one; its own summaries are left out."""
    answer = ""
    last: Message = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("type") not in ("user", "assistant") or row.get("isMeta") or row.get("isCompactSummary"):
            continue
        content, id_ = row["message"].get("content"), row["message"].get("id") or ""
        if row["type"] == "assistant" and id_ and id_ == answer:
            last["content"].extend(content)
            continue
        if last:
            yield last
        answer = id_ if row["type"] == "assistant" else ""
        last = {"role": row["type"], "content": content if isinstance(content, str) else list(content)}
        last["timestamp"] = row.get("timestamp")
    if last:
        yield last


def hermes_rows(path: Path) -> dict[str, list[Message]]:
    """The messages of the sessions of a Hermes database, by title."""
    return dict(_sessions(path))


@cache
def _all() -> list[Transcript]:
    return [*_claude_code(), *_hermes()] if SHARED.exists() else list(_demo())


def _claude_code() -> Iterator[Transcript]:
    for path in sorted((SHARED / "claude-code").glob("*-*-*-*.jsonl")):
        rows = list(claude_code_rows(path))
        yield Transcript(path.stem[:8], "coding", rows, next(words(row) for row in rows if is_request(row)), path.stem)


def _hermes() -> Iterator[Transcript]:
    sessions: dict[str, list[Message]] = {}
    for path in sorted(SHARED.glob("hermes-v*.db")):
        for title, rows in _sessions(path):
            if len(rows) > len(sessions.get(title, ())):
                sessions[title] = rows
    for title, rows in sessions.items():
        if not title.startswith(_DESKS):
            continue
        if len(rows) < 800:
            yield Transcript(title, "chat", rows)
            continue
        middle = whole_until(rows, 0.5)
        yield Transcript(f"{title} (1)", "chat", rows[:middle], "", f"{title} (1)")
        yield Transcript(f"{title} (2)", "chat", rows[middle:], "", f"{title} (1)")
    tasks = [rows for title, rows in sorted(sessions.items()) if title.startswith("SWE ")]
    yield Transcript("SWE in a row", "coding", [row for rows in tasks for row in rows if row["role"] != "system"])


def _sessions(path: Path) -> Iterator[tuple[str, list[Message]]]:
    """Title and messages of the sessions of a Hermes database, each message once, without summaries."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as con:
        con.row_factory = sqlite3.Row
        for id_, title in con.execute("SELECT id, title FROM sessions ORDER BY id").fetchall():
            rows = con.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", [id_]).fetchall()
            once = list({_identity(row): row for row in reversed(rows)}.values())[::-1]
            yield title or id_, [_message(row) for row in once if not _is_summary(row)]


def _identity(row: sqlite3.Row) -> tuple[Any, ...]:
    """Equal for a message and the copies that a compaction made of it."""
    return tuple(row[key] for key in ("role", "content", "tool_calls", "tool_call_id", "timestamp"))


def _is_summary(row: sqlite3.Row) -> bool:
    flagged = "_compressed_summary" in row.keys() and row["_compressed_summary"]  # noqa: SIM118 (rows iterate values)
    return bool(flagged) or "[CONTEXT COMPACTION" in str(row["content"])


def _message(row: sqlite3.Row) -> Message:
    found: Message = {"role": row["role"], "content": row["content"]}
    if isinstance(row["content"], str) and row["content"].startswith("\0json:"):
        found["content"] = json.loads(row["content"][6:])
    if row["tool_calls"]:
        found["tool_calls"] = json.loads(row["tool_calls"])
    if row["tool_call_id"]:
        found["tool_call_id"] = row["tool_call_id"]
    return found


def _demo() -> Iterator[Transcript]:
    """The sessions of the demo store, for where the shared ones are not here."""
    from viewer.demo import ensure_demo

    with TemporaryDirectory() as place:
        store = Path(place) / "demo.db"
        ensure_demo(store, now=1_795_293_751.0)
        for title, rows in _sessions(store):
            if len(rows) >= 40:
                yield Transcript(title, "chat", rows)
