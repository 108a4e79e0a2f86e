"""No value in a column of a Hermes store, of any type SQLite takes, stops a reader, or keeps other sessions from it."""

from __future__ import annotations

import json
import math
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

import compaction
from tests.factories.stores import reader_of, small_talk
from tests.listed import activity_of
from tests.slow import slow
from tests.store.malformed import ask_everything
from viewer.stores.errors import StoreError
from viewer.stores.hermes.messages import read_history
from viewer.stores.hermes.reader import HermesReader
from viewer.stores.listing import HIGHEST
from viewer.stores.message import message_of
from viewer.stores.search.pages import PageRequest, SearchFilter
from viewer.stores.search.query import parse

DEEP = "[" * 100_000
VALUES: dict[str, Any] = {
    "null": None,
    "7": 7,
    "the largest": 2**63 - 1,
    "the smallest": -(2**63),
    "1.5": 1.5,
    "1e308": 1e308,
    "inf": math.inf,
    "-inf": -math.inf,
    "nothing": "",
    "text": "bees",
    "a NUL": "a\0bees",
    "cut JSON": '{"bees": ',
    "a list": '[null, 1, "x", {}]',
    "an object": '{"id": [], "function": 7, "_branched_from": {}, "_delegate_from": [1], "_reset_from": 2}',
    "calls": '[{"id": 7, "function": {"name": [], "arguments": {}}}, {"function": "x"}, {"id": null}]',
    "surrogates": '["\\ud800", {"id": "\\udc00"}]',
    "deep": DEEP,
    "cut content": '\0json:{"type":',
    "odd content": '\0json:[1, null, {"type": "text", "text": 5}, {"type": [], "text": {}}, [], {"type": "image_url"}]',
    "an object as content": '\0json:{"type": "tool_result", "content": [7]}',
    "a number as content": "\0json:7",
    "deep content": f"\0json:{DEEP}",
    "a handoff": "[CONTEXT SUMMARY]: bees",
    "bytes": b"\xff\x00bees\xfe",
    "many bytes": bytes(70_000),
    "a long text": "bees " * 60_000,
}


FEW = ("null", "inf", "deep", "bytes", "an object")  # for columns that nothing here reads but as a value to show
READ = {
    "id", "source", "model", "title", "parent_session_id", "started_at", "ended_at", "end_reason", "cwd",
    "model_config",
    "system_prompt_hash", "estimated_cost_usd", "input_tokens",
    "session_id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "active", "compacted",
    "_compressed_summary", "display_kind", "display_metadata", "reasoning", "reasoning_details", "message_uid",
    "absorbed_message_uids",
}  # fmt: skip


def columns_of(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as con:
        return [row[1] for row in con.execute(f"PRAGMA table_info({table})")]


def spoilt(path: Path, table: str, step: int) -> list[str]:
    """A store with a session for each value in each column of the table, or one in so many, as far as its constraints
    take it; their ids, that of a sound one first.
    """
    small_talk(path, 3)
    ids = ["s1"]
    with closing(sqlite3.connect(path)) as con:
        con.execute("PRAGMA foreign_keys = OFF")
        names = [name for name in columns_of(path, "sessions") if name != "id"]
        said = [name for name in columns_of(path, "messages") if name not in ("id", "session_id", "message_uid")]
        # behind the largest id no row can be inserted
        for at, column in reversed([*enumerate(columns_of(path, table))]):
            for number, (name_of_it, value) in enumerate(VALUES.items()):
                if (at + number) % step or (column not in READ and name_of_it not in FEW):
                    continue
                session_id = f"{column} {number}"
                with suppress(sqlite3.IntegrityError, sqlite3.OperationalError), con:
                    con.execute(
                        f"INSERT INTO sessions (id, {', '.join(names)}) SELECT ?, "
                        f"{', '.join(name if name != 'title' else 'NULL' for name in names)} FROM sessions "
                        "WHERE id = 's1'",
                        [session_id],
                    )
                    con.execute(
                        f"INSERT INTO messages (session_id, {', '.join(said)}) SELECT ?, {', '.join(said)} "
                        "FROM messages WHERE session_id = 's1' ORDER BY id",
                        [session_id],
                    )
                    if table == "sessions":
                        con.execute(f'UPDATE sessions SET "{column}" = ? WHERE id = ?', [value, session_id])
                    else:
                        one = f"(SELECT MIN(id) + {number % 3} FROM messages WHERE session_id = ?)"
                        changed = f'UPDATE messages SET "{column}" = ? WHERE id = {one}'
                        con.execute(changed, [value, session_id])
                    ids.append(session_id)
        with con:
            con.execute("UPDATE messages SET content = 'a lighthouse' WHERE session_id = 's1' AND role = 'assistant'")
    return ids


@pytest.mark.parametrize("step", [17, *slow(3)])
@pytest.mark.parametrize("table", ["sessions", "messages"])
def test_no_value_stops_a_reader_or_takes_another_session_with_it(tmp_path: Path, table: str, step: int) -> None:
    path = tmp_path / "state.db"
    ids = spoilt(path, table, step)
    assert len(ids) > 200 / step
    failed: list[str] = []
    with reader_of(path) as reader:
        there = {row[0] for row in reader.con.execute("SELECT id FROM sessions").fetchall()}
        for session_id in ids:
            if session_id in there:
                try:
                    asked(reader, session_id)
                except Exception as failure:  # all of them are wanted
                    failed.append(f"{session_id} ({[*VALUES][int(session_id.split()[-1])]}): {failure!r}"[:300])
    assert not failed, "\n".join(failed)
    with reader_of(path) as reader:
        for q in ("lighthouse", "bees", "ghthou", "x", "message -bees"):
            hits = reader.search(parse(q), SearchFilter(), PageRequest(500)).hits
            assert "s1" in {hit.session.id for hit in hits} or q in ("bees", "x", "message -bees")
        rows, row = 0, HIGHEST
        while found := reader.listing.page(row, 100):
            rows, row = rows + len(found), found[-1][0] - 1
            reader.listing.sessions([name for _, name in found if name])
        assert rows == len(ids)


def asked(reader: HermesReader, session_id: str) -> None:
    ask_everything(reader, session_id)
    reader.system_prompt(session_id)
    reader.suspected_handoff(session_id, [row.id for row in reader.live(session_id)])
    activity_of(reader, session_id)
    history = read_history(reader, session_id)
    assert sum(len(entry.rows) for entry in history.entries) + len(history.boundaries) <= 4
    messages = [message_of(row) for row in reader.live(session_id)]
    with suppress(compaction.NothingToCompact):
        compaction.plan(messages * 12, compaction.Policy(context_window=2_000), len)
    json.dumps([row.content if not isinstance(row.content, bytes) else "" for row in reader.live(session_id)])
    with suppress(StoreError):
        reader.basis(session_id)
