"""Appending messages on copies of real databases: what a row holds, what is counted, what is refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.factories.messages import HANDOFF
from tests.factories.stores import WEEK_29, reader_of, store_at
from tests.store.commits import committed, everything_else, live, path, planned, query, small, steps_for
from viewer.stores import lock_owners
from viewer.stores.errors import NotFound, SessionBusy, SessionEnded, StoreReadOnly
from viewer.stores.hermes import encode, paths, presence
from viewer.stores.hermes import messages as hermes_messages
from viewer.stores.hermes.writer import append

__all__ = ["path", "small"]

CALL = {"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
TURN: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "look \ud800"}, {"type": "image_url", "image_url": {}}]},
    {"role": "assistant", "content": "a lone \udfff half", "tool_calls": [CALL], "reasoning": "hm \ud800"},
    {"role": "tool", "content": "done", "tool_call_id": "call_1", "name": "terminal", "reasoning": "not a tool's"},
]


def counters(path: Path, session_id: str = WEEK_29) -> tuple[int, int]:
    return query(path, "SELECT message_count, tool_call_count FROM sessions WHERE id = ?", session_id)[0]


def test_a_turn_is_appended_as_the_agent_would_write_it(path: Path) -> None:
    before, others, (messages, calls) = live(path), everything_else(path), counters(path)
    ids = append(store_at(path), WEEK_29, TURN, now=1.7957e9)
    assert live(path)[:-3] == before and everything_else(path) == others
    assert [row[0] for row in live(path)[-3:]] == ids
    stored = query(
        path,
        "SELECT role, content, tool_name, tool_call_id, reasoning, timestamp, active, compacted FROM messages "
        "WHERE id >= ? ORDER BY id",
        ids[0],
    )
    listed = '\x00json:[{"type": "text", "text": "look \\ud800"}, {"type": "image_url", "image_url": {}}]'
    assert stored == [
        ("user", listed, None, None, None, 1.7957e9, 1, 0),
        ("assistant", "a lone \ufffd half", None, None, "hm \ufffd", 1.7957e9 + 1e-6, 1, 0),
        ("tool", "done", "terminal", "call_1", None, 1.7957e9 + 2e-6, 1, 0),
    ]
    assert counters(path) == (messages + 3, calls + 1)
    with reader_of(path) as reader:
        rows = hermes_messages.live_context(reader, WEEK_29)[-3:]
        assert rows[1].tool_calls == [CALL]
        assert paths.get_session(reader, WEEK_29).last_active == pytest.approx(1.7957e9)
        if "message_uid" in reader.columns.messages:
            assert all(len(row.extra["message_uid"]) == 32 for row in rows)
    assert query(path, "SELECT rowid FROM messages_fts WHERE messages_fts MATCH 'lone AND half'") == [(ids[1],)]
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_times_that_are_given_are_kept_and_those_that_are_not_go_on_from_them(small: Path) -> None:
    given = [("a", 50.0), ("b", None), ("c", "never")]
    messages = [{"role": "user", "content": content, "timestamp": at} for content, at in given]
    append(store_at(small), "s1", messages, now=40.0)
    times = query(small, "SELECT timestamp FROM messages WHERE id > 8 ORDER BY id")
    assert [row[0] for row in times] == pytest.approx([50.0, 50.000001, 50.000002], abs=1e-9)


def test_a_column_nobody_knows_is_written_and_what_the_owner_keeps_is_not_taken(small: Path) -> None:
    query(small, "ALTER TABLE messages ADD COLUMN novelty TEXT")
    forged = {"id": 1, "session_id": "s2", "active": 0, "compacted": 1, "message_uid": "u", "display_order": 1}
    message = {"role": "user", "content": "x", "novelty": {"new": 1}, "no_such_column": 1, **forged}
    (row_id,) = append(store_at(small), "s1", [message], now=40.0)
    names = "novelty, session_id, active, compacted, display_order, message_uid <> 'u'"
    assert query(small, f"SELECT {names} FROM messages WHERE id = ?", row_id) == [('{"new": 1}', "s1", 1, 0, None, 1)]


def test_what_says_nothing_hides_nothing_and_missing_counters_begin_at_nought(small: Path) -> None:
    query(small, "UPDATE sessions SET message_count = NULL, tool_call_count = NULL")
    message = {"role": "tool", "content": "done", "tool_name": None, "name": "terminal"}
    (row_id,) = append(store_at(small), "s1", [message], now=40.0)
    assert query(small, "SELECT tool_name FROM messages WHERE id = ?", row_id) == [("terminal",)]
    assert counters(small, "s1") == (1, 0)


def test_messages_appended_while_a_summary_is_made_stay_live_behind_it(path: Path) -> None:
    snapshot = planned(path)
    append(store_at(path), WEEK_29, TURN, now=1.7957e9)
    committed(path, snapshot, steps_for(snapshot))
    assert [row[2] for row in live(path)[-3:]] == ["user", "assistant", "tool"]
    assert counters(path)[0] == len(live(path)) == 36


def test_a_compression_lock_is_no_hindrance_and_a_running_turn_is(small: Path) -> None:
    store, message = store_at(small), [{"role": "user", "content": "x"}]
    presence.take_lock(store, "s1", lock_owners.new_holder())
    append(store, "s1", message, now=40.0)
    query(small, "INSERT INTO session_turn_leases VALUES ('s1', 'pid=1:turn=9', ?, ?)", time.time(), time.time() + 60)
    before = query(small, "SELECT * FROM messages")
    with pytest.raises(SessionBusy, match="pid=1:turn=9"):
        append(store, "s1", message, now=41.0)
    assert query(small, "SELECT * FROM messages") == before
    assert query(small, "SELECT holder FROM session_turn_leases") == [("pid=1:turn=9",)]
    query(small, "UPDATE session_turn_leases SET expires_at = 1")
    append(store, "s1", message, now=41.0)


def test_a_session_that_went_on_elsewhere_takes_no_more(small: Path) -> None:
    query(small, "UPDATE sessions SET ended_at = 3, end_reason = 'compression'")
    with pytest.raises(SessionEnded):
        append(store_at(small), "s1", [HANDOFF], now=40.0)
    query(small, "UPDATE sessions SET end_reason = 'cli_close'")
    append(store_at(small), "s1", [HANDOFF], now=40.0)
    with pytest.raises(NotFound):
        append(store_at(small), "s2", [HANDOFF], now=40.0)


def test_all_or_none(small: Path) -> None:
    query(small, "CREATE TRIGGER breaks AFTER INSERT ON messages WHEN new.content = 'cjk' "
                 "BEGIN SELECT RAISE(ABORT, 'no such tokenizer: cjk_unicode61'); END")  # fmt: skip
    before = query(small, "SELECT * FROM messages"), counters(small, "s1")
    with pytest.raises(StoreReadOnly, match="tokenizer"):
        append(store_at(small), "s1", [{"role": "user", "content": word} for word in ("plain", "cjk")], now=40.0)
    assert (query(small, "SELECT * FROM messages"), counters(small, "s1")) == before


def test_schema_16_is_appended_to_although_it_cannot_compact(small_hermes_copy: Callable[[int], Path]) -> None:
    path = small_hermes_copy(16)
    session_id = query(path, "SELECT id FROM sessions WHERE title = 'Airline desk, week 29'")[0][0]
    before = counters(path, session_id)
    append(store_at(path), session_id, TURN, now=1.7957e9)
    assert counters(path, session_id) == (before[0] + 3, before[1] + 1)


def test_a_handoff_with_a_lone_surrogate_is_written(small: Path) -> None:
    snapshot = planned(small, "s1")
    message = HANDOFF | {"content": "[CONTEXT SUMMARY]: \ud800", "tool_name": "\udfff"}
    done = committed(small, snapshot, [encode.New(message)])
    assert query(small, "SELECT content, tool_name FROM messages WHERE id = ?", done.handoff_id) == [
        ("[CONTEXT SUMMARY]: \ufffd", "\ufffd")
    ]
