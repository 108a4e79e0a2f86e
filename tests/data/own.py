"""Databases of our own in the shapes of schemas 16, 21 and 31, for where there is no sample data
(CONTRIBUTING.md).

They hold invented talk under the titles, ids and row counts of the real ones, so that the same tests run on them:
"week 29" compacted twice in place, "week 30" (on schema 16 as a chain of four parts), two merged carriers, and short
sessions. The small ones, for all that is not about size, have the same sessions with some forty messages in context.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from compaction.handoff import (
    CURRENT_HEADER,
    END_MARKER,
    LONG_DIRECTIVE_END,
    LONG_DIRECTIVE_START,
    MERGE_DELIMITER,
    PRIOR_HEADER,
)
from viewer.stores.hermes import schema

START = 1_784_000_000.0
MADE = 1_795_293_751.0  # when the agent "ran": times of sessions and of its handoffs
WEEK_29, WEEK_30 = "20260714_043320_a80629", "20260714_065627_8ed879"
PARTS = ["20260715_061655_653e8e", "20260715_062730_23c8ec", "20260715_063924_8490d0"]
CARRIER_92, CARRIER_98 = "20260806_083000_00005c", "20260806_070640_000062"
PROMPT = "You work at the desk of an airline. Book, change and cancel what is asked for.\n\n" + (
    "Ask for the reservation before anything else, and say what a change costs before it is made. " * 12
)
DIRECTIVE = (
    f"{CURRENT_HEADER} {LONG_DIRECTIVE_START} into the summary below; it is background. Answer the "
    f"latest message. What was done is done, {LONG_DIRECTIVE_END}"
)

_USAGE = """
CREATE TABLE session_model_usage (session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
  model TEXT NOT NULL, input_tokens INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (session_id, model));
"""
_OLD_TABLES = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT, system_prompt TEXT,
  parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0,
  tool_call_count INTEGER DEFAULT 0, cwd TEXT, title TEXT,
  rewind_count INTEGER NOT NULL DEFAULT 0, archived INTEGER NOT NULL DEFAULT 0);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL REFERENCES sessions(id),
  role TEXT NOT NULL, content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL,
  token_count INTEGER, finish_reason TEXT, reasoning TEXT, platform_message_id TEXT, observed INTEGER DEFAULT 0,
  active INTEGER NOT NULL DEFAULT 1 {compacted});
CREATE TABLE state_meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE compression_locks (session_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL,
  expires_at REAL NOT NULL);
CREATE INDEX idx_messages_session_active ON messages(session_id, active, timestamp);
CREATE UNIQUE INDEX idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL;
CREATE VIRTUAL TABLE messages_fts USING fts5(content);
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
  INSERT INTO messages_fts(rowid, content) VALUES (new.id, COALESCE(new.content, '')); END;
CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN DELETE FROM messages_fts WHERE rowid = old.id; END;
CREATE TRIGGER messages_fts_update AFTER UPDATE ON messages BEGIN DELETE FROM messages_fts WHERE rowid = old.id;
  INSERT INTO messages_fts(rowid, content) VALUES (new.id, COALESCE(new.content, '')); END;
"""


@dataclass(frozen=True)
class Row:
    role: str
    content: str | None
    time: float = 0.0
    calls: tuple[str, ...] = ()
    call: str = ""
    state: tuple[int, int] = (1, 0)
    flagged: bool = False
    uid: str = ""


@dataclass
class Talk:
    """Rows of one session as an agent writes them; `live` are the places of those in context."""

    rows: list[Row] = field(default_factory=list)
    said: int = 0
    large_each: int = 9

    def say(self, row: Row) -> None:
        self.said += 1
        stamped = replace(row, time=START + 7.3 * self.said, uid=f"{id(self):x}-{self.said}")
        self.rows.append(stamped)

    def turns(self, count: int) -> None:
        """Exactly `count` rows, whole turns of five, four or two rows."""
        while count:
            size = 5 if count % 2 and count >= 5 else 4 if count >= 4 and count != 5 else 2
            self._turn(size)
            count -= size

    def _turn(self, size: int) -> None:
        number = self.said
        asked = f"Look at the flight of reservation R{number:05d} and move it to the {number % 28 + 1}th of May."
        self.say(Row("user", asked))
        calls = tuple(f"call_{number}_{at}" for at in range({5: 2, 4: 1, 2: 0}[size]))
        if calls:
            self.say(Row("assistant", "", calls=calls))
            for call in calls:
                self.say(Row("tool", _result(number, number % self.large_each == 0), call=call))
        self.say(Row("assistant", f"Done: R{number:05d} is moved, seat {number}A stays yours. Anything else I can do?"))

    def live(self) -> list[int]:
        return [at for at, row in enumerate(self.rows) if row.state == (1, 0)]

    def compact(self, head: int, tail: int, *, keeps_flag: bool, merge: str = "") -> None:
        """The agent's own compaction; `merge` is "summary" or "prior" for a handoff merged into the first tail row."""
        places = self.live()
        kept = places[len(places) - tail :]
        copies = [self.rows[at] for at in (*places[:head], *kept)]
        for at in places:
            under = not (keeps_flag and at in kept)
            self.rows[at] = replace(self.rows[at], state=(0, 1) if under else (0, 0))
        body = (
            f"## Goal\nMove the reservations, {self.said} said so far.\n\n## Constraints\nNever charge a certificate."
        )
        text = f"{DIRECTIVE}\n{body}\n\n{END_MARKER}"
        self.rows += copies[:head]
        if not merge:
            self.rows.append(Row("assistant", text, MADE + self.said / 1000, flagged=keeps_flag))
        for number, copy in enumerate(copies[head:]):
            if merge and not number:
                live = copy.content or ""
                prior = f"{PRIOR_HEADER}\n{live}\n\n{MERGE_DELIMITER}\n\n{text}"
                copy = replace(copy, content=f"{text}\n\n{live}" if merge == "summary" else prior, flagged=keeps_flag)
            elif copy.role == "tool" and number < 40:
                copy = replace(copy, content=f"[tool] shortened ({len(copy.content or '')} chars result)")
            self.rows.append(copy)


def _result(number: int, is_large: bool) -> str:
    """What a tool returns: some 400 characters, or 2,900."""
    flights = [
        {"flight": f"HAT{(number + at) % 300:03d}", "origin": "JFK", "destination": "SEA", "seat": f"{number % 30}A",
         "fare": 120 + (7 * number + at) % 400, "refund": "none after check-in"}
        for at in range(24 if is_large else 3)
    ]  # fmt: skip
    return json.dumps({"reservation_id": f"R{number:05d}", "status": "confirmed", "flights": flights})


@dataclass(frozen=True)
class Sizes:
    """Rows of the sessions: of week 29 before its first compaction and behind it, and its end; of week 30; how many
    short sessions there are.
    """

    first: int
    first_tail: int
    second: int
    second_tail: int
    last: int
    week_30: int
    short: int
    large_each: int  # of so many results of tools one is large


REAL = {
    16: Sizes(998, 191, 0, 0, 0, 0, 22, 9),
    21: Sizes(998, 191, 198, 190, 46, 416, 22, 9),
    31: Sizes(998, 157, 198, 151, 46, 416, 22, 9),
}
SMALL = Sizes(80, 25, 18, 24, 16, 40, 6, 3)


def write(version: int, path: Path, *, small: bool = False) -> None:
    """Make the database of this schema (16, 21 or 31) at `path`."""
    if version == 31:
        schema.create(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        if version != 31:
            compacted = ", compacted INTEGER NOT NULL DEFAULT 0" if version == 21 else ""
            con.executescript(_OLD_TABLES.format(compacted=compacted))
            con.execute("INSERT INTO schema_version VALUES (?)", [version])
        if version > 16:
            con.execute(_USAGE)
        con.execute("BEGIN")
        for number, (session_id, columns, talk) in enumerate(_sessions(version, SMALL if small else REAL[version])):
            _insert(con, version, session_id, {"started_at": MADE + number, **columns}, talk)
        con.execute("COMMIT")


def _sessions(version: int, sizes: Sizes) -> Iterator[tuple[str, dict[str, Any], Talk]]:
    desk = {"title": "Airline desk, week 29", "source": "telegram", "system_prompt": PROMPT}
    yield WEEK_29, desk, _week_29(version, sizes)
    if version == 16:
        yield from _week_30_in_parts()
    else:
        week_30 = Talk()
        week_30.turns(sizes.week_30)
        yield WEEK_30, {"title": "Airline desk, week 30", "source": "discord"}, week_30
        in_user = _carrier((10, 18), 2, 18, version) if version == 21 else _carrier((10, 17), 2, 17, version)
        yield CARRIER_92, {"title": "Merged carrier 92"}, in_user
        in_call = _carrier((4, 16), 3, 15, version) if version == 21 else _carrier((12, 4, 5), 3, 8, version)
        yield CARRIER_98, {"title": "Merged carrier 98"}, in_call
    for number in range(20, 20 + 2 * sizes.short, 2):
        short = Talk()
        short.turns(9 + number % 30)
        made_by = {"source": "cron" if number % 8 == 0 else "webui" if number % 20 == 2 else "cli"}
        made_by["model"] = "gpt-4" if number < 40 and made_by["source"] == "cli" else "gpt-4o"
        yield f"20260714_{number:02d}0000_a{number:05d}", {"title": f"Airline request {number}/2", **made_by}, short


def _week_29(version: int, sizes: Sizes) -> Talk:
    talk = Talk(large_each=sizes.large_each)
    talk.turns(2)
    talk.turns(sizes.first + 2 - sizes.first_tail)
    talk.turns(sizes.first_tail)
    if version == 16:
        return talk
    talk.compact(3, sizes.first_tail, keeps_flag=version == 31)
    talk.turns(max(sizes.second - sizes.second_tail, 0))
    talk.turns(sizes.second_tail)
    if version == 21:
        talk.compact(3, sizes.second_tail, keeps_flag=False)
    else:
        talk.compact(0, sizes.second_tail, keeps_flag=True, merge="summary")
    talk.turns(sizes.last)
    return talk


def _carrier(turns: tuple[int, ...], head: int, tail: int, version: int) -> Talk:
    """A handoff merged, prior context first, into the first row of the tail."""
    talk = Talk()
    for count in turns:
        talk.turns(count)
    talk.compact(head, tail, keeps_flag=version == 31, merge="prior")
    return talk


def _week_30_in_parts() -> Iterator[tuple[str, dict[str, Any], Talk]]:
    """The old way: each compaction ends its session and starts the next with the compacted rows."""
    shared = Talk()
    shared.turns(416 - 122)
    shared.turns(122)
    title, parent, previous = "Airline desk, week 30", None, WEEK_30
    handoffs: list[Row] = []
    for number, (tail, carried, more, next_tail) in enumerate([(122, 0, 108, 117), (117, 1, 124, 73), (73, 2, 110, 0)]):
        ended = {"ended_at": MADE + 90, "end_reason": "compression", "parent_session_id": parent}
        part = Talk(list(shared.rows), shared.said)
        yield previous, {"title": title + (f" #{number + 1}" if number else ""), "source": "discord"} | ended, part
        before = len(shared.rows)
        shared.compact(3, tail, keeps_flag=False)
        block = shared.rows[before:]
        shared.rows = [*block, *handoffs[:carried]]
        handoffs.insert(0, block[3]) if carried else handoffs.append(block[3])
        rest = min(next_tail, more)
        shared.turns(more - rest)
        shared.turns(rest)
        parent, previous = previous, PARTS[number]
    yield previous, {"title": f"{title} #4", "source": "discord", "parent_session_id": parent}, shared


def _insert(con: sqlite3.Connection, version: int, session_id: str, columns: dict[str, Any], talk: Talk) -> None:
    live = [talk.rows[at] for at in talk.live()]
    session = {
        "id": session_id, "source": "cli", "model": "gpt-4o", "message_count": len(live),
        "tool_call_count": sum(len(row.calls) for row in live), **columns,
    }  # fmt: skip
    _put(con, "sessions", session)
    for row in talk.rows:
        calls = [
            {"id": call, "type": "function", "function": {"name": "get_reservation", "arguments": '{"id": "R1"}'}}
            for call in row.calls
        ]
        values: dict[str, Any] = {
            "session_id": session_id, "role": row.role, "content": row.content, "timestamp": row.time,
            "tool_calls": json.dumps(calls) if calls else None, "tool_call_id": row.call or None,
            "tool_name": "get_reservation" if row.call else None, "active": row.state[0],
        }  # fmt: skip
        if version != 16:
            values["compacted"] = row.state[1]
        if version == 31:
            values |= {"_compressed_summary": int(row.flagged), "message_uid": row.uid or None}
        _put(con, "messages", values)


def _put(con: sqlite3.Connection, table: str, values: dict[str, Any]) -> None:
    con.execute(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", list(values.values())
    )
