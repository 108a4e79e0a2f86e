"""Sessions that this site makes, and those of its own stores that it deletes."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.factories.stores import WEEK_30_TIP, add_row, add_session, reader_of, store_at
from viewer.stores.base import Store
from viewer.stores.errors import (
    NotFound,
    NotManaged,
    SessionBusy,
    SessionEnded,
    StoreReadOnly,
    StoreUnavailable,
    TitleTaken,
)
from viewer.stores.hermes import messages, paths, schema, writer

NOW = 1_790_000_000.5
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Begin with \x00 and \ud800."},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "sh", "arguments": "{}"}}]},
    {"role": "tool", "content": [{"type": "text", "text": "done"}], "tool_call_id": "c1", "name": "sh"},
]


def query(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as con:
        return con.execute(sql, values).fetchall()


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.db"
    schema.create(path)
    return path


def ours(path: Path) -> Store:
    return replace(store_at(path), origin="demo")


@pytest.mark.parametrize("version", [16, 21, 31])
def test_a_session_is_made_in_the_owners_form(small_hermes_copy: Callable[[int], Path], version: int) -> None:
    path = small_hermes_copy(version)
    before = query(path, "SELECT * FROM sessions ORDER BY id"), query(path, "SELECT * FROM messages ORDER BY id")
    made = writer.create(
        store_at(path), now=NOW, title="  A new\ttalk ", source="cron", model="m", cwd="/x", messages=TALK
    )
    assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", made)
    with reader_of(path) as reader:
        found = paths.get_session(reader, made)
        assert (found.title, found.source, found.model, found.cwd) == ("A new talk", "cron", "m", "/x")
        assert (found.started_at, found.ended_at, found.parent) == (NOW, None, "")
        rows = messages.live_context(reader, made)
    assert [row.role for row in rows] == ["user", "assistant", "tool"]
    assert rows[0].content == "Begin with \x00 and \ufffd." and rows[2].tool_name == "sh"
    assert [row.timestamp for row in rows] == pytest.approx([NOW, NOW + 1e-6, NOW + 2e-6], abs=1e-7)
    assert query(path, "SELECT message_count, tool_call_count FROM sessions WHERE id = ?", made) == [(3, 1)]
    after = (
        query(path, "SELECT * FROM sessions WHERE id <> ? ORDER BY id", made),
        query(path, "SELECT * FROM messages WHERE session_id <> ? ORDER BY id", made),
    )
    assert after == before, "nothing else was touched"
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    hits = query(path, "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'begin'")
    assert rows[0].id in [row[0] for row in hits], "the owner's triggers index it"


def test_an_empty_session_is_made_too(own: Path) -> None:
    ids = {writer.create(store_at(own), now=NOW) for _ in range(5)}
    assert len(ids) == 5, "two sessions of one second have two ids"
    assert query(own, "SELECT DISTINCT title, model, cwd, message_count FROM sessions") == [(None, None, None, 0)]


def test_what_is_said_of_a_session_is_kept_where_the_owner_looks_for_it(
    small_hermes_copy: Callable[[int], Path],
) -> None:
    path = small_hermes_copy(31)
    sql = "SELECT source, created_source, title, title_source FROM sessions WHERE id = ?"
    made = writer.create(store_at(path), now=NOW, source=" cron\x00 job\n", title="A title")
    assert query(path, sql, made) == [("cron job", "cron job", "A title", "user")]
    made = writer.create(store_at(path), now=NOW, source=" \x00")
    assert query(path, sql, made) == [("api", "api", None, None)]


def test_a_title_that_is_taken_is_refused(own: Path) -> None:
    writer.create(store_at(own), now=NOW, title="Taken")
    with pytest.raises(TitleTaken, match="already named 'Taken'"):
        writer.create(store_at(own), now=NOW, title=" Taken ", messages=TALK)
    assert query(own, "SELECT COUNT(*) FROM sessions") == [(1,)] and not query(own, "SELECT 1 FROM messages")


def test_what_cannot_be_written_is_refused_and_nothing_is_written(own: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        writer.create(store_at(tmp_path / "none.db"), now=NOW)
    with closing(sqlite3.connect(own)) as con:
        con.execute("CREATE TRIGGER messages_fts_cjk_insert AFTER INSERT ON messages BEGIN SELECT 1; END")
    with pytest.raises(StoreReadOnly, match="tokenizer"):
        writer.create(store_at(own), now=NOW)
    assert not query(own, "SELECT 1 FROM sessions")


def test_a_failure_in_the_middle_leaves_nothing(own: Path) -> None:
    with closing(sqlite3.connect(own)) as con:
        con.execute(
            "CREATE TRIGGER fail BEFORE INSERT ON messages WHEN NEW.role = 'tool' "
            "BEGIN SELECT RAISE(ABORT, 'no tool'); END"
        )
    with pytest.raises(StoreUnavailable, match="no tool"):
        writer.create(store_at(own), now=NOW, title="Half", messages=TALK)
    assert not query(own, "SELECT 1 FROM sessions") and not query(own, "SELECT 1 FROM messages")


# -- deleting ----------------------------------------------------------------------------------------------------------


def test_only_a_store_of_ours_loses_sessions(own: Path) -> None:
    add_session(own)
    add_row(own)
    with pytest.raises(NotManaged, match="belongs to its agent"):
        writer.delete(store_at(own), "s1")
    assert query(own, "SELECT COUNT(*) FROM messages") == [(1,)]
    assert writer.delete(ours(own), "s1") == ["s1"]
    assert not query(own, "SELECT 1 FROM sessions") and not query(own, "SELECT 1 FROM messages")
    with pytest.raises(NotFound):
        writer.delete(ours(own), "s1")


def test_a_conversation_goes_as_a_whole_and_its_branches_stay(small_hermes_copy: Callable[[int], Path]) -> None:
    path = small_hermes_copy(16)
    with reader_of(path) as reader:
        parts = paths.chain(reader, WEEK_30_TIP)
    assert len(parts) > 1
    with pytest.raises(SessionEnded, match="goes on in another session"):
        writer.delete(ours(path), parts[0])
    config = json.dumps({"_branched_from": parts[-1]})
    query(
        path,
        "INSERT INTO sessions (id, source, started_at, parent_session_id, model_config) VALUES ('b', 'cli', 1, ?, ?)",
        parts[-1],
        config,
    )
    others = query(
        path,
        "SELECT COUNT(*) FROM messages WHERE session_id NOT IN (SELECT value FROM json_each(?))",
        json.dumps(parts),
    )
    assert writer.delete(ours(path), WEEK_30_TIP) == parts
    assert query(path, "SELECT COUNT(*) FROM messages") == others
    assert query(path, "SELECT parent_session_id, model_config FROM sessions WHERE id = 'b'") == [(None, config)]
    assert query(path, "PRAGMA foreign_key_check") == [] and query(path, "PRAGMA integrity_check") == [("ok",)]


def test_what_the_owner_counted_of_a_session_goes_with_it(small_hermes_copy: Callable[[int], Path]) -> None:
    path = small_hermes_copy(31)
    found = query(path, "SELECT DISTINCT session_id FROM session_model_usage")
    session_id = found[0][0] if found else writer.create(store_at(path), now=NOW)
    if not found:
        query(path, "INSERT INTO session_model_usage (session_id, model) VALUES (?, 'm')", session_id)
    writer.delete(ours(path), session_id)
    assert not query(path, "SELECT 1 FROM session_model_usage WHERE session_id = ?", session_id)


@pytest.mark.parametrize("table", ["compression_locks", "session_turn_leases"])
def test_a_session_that_is_being_worked_on_stays(own: Path, table: str) -> None:
    add_session(own)
    query(own, f"INSERT INTO {table} VALUES ('s1', 'pid=1:platform=telegram', unixepoch(), unixepoch() + 300)")
    with pytest.raises(SessionBusy):
        writer.delete(ours(own), "s1")
    query(own, f"UPDATE {table} SET expires_at = 1")
    assert writer.delete(ours(own), "s1") == ["s1"] and not query(own, f"SELECT 1 FROM {table}")
