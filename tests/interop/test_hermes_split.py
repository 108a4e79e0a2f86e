"""The real Hermes takes a session that we split for one it split itself: it follows the chain and goes on there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.hermes import ours
from tests.agents.hermes.conversations import FILLING, words, write_session
from tests.agents.hermes.loaded import as_loaded, handoffs, live, loaded, only
from tests.agents.hermes.model import Model
from tests.agents.hermes.ours import PROMPT, compact_on_top, split
from tests.agents.hermes.real import Hermes, HermesError


def written(hermes: Hermes, session_id: str, **columns: Any) -> None:
    """A session with a system prompt of its own."""
    write_session(hermes, session_id, turns=9, distinct_ids=True)
    hermes.db("update_system_prompt", session_id, PROMPT)


def test_the_old_id_leads_to_the_new_session(hermes: Hermes, database: Path) -> None:
    written(hermes, "old")
    rows = hermes.rows("old")
    done = split(database, "old")
    assert hermes.db("get_compression_tip", "old") == done.part
    assert hermes.db("resolve_resume_session_id", "old") == done.part
    assert hermes.db("resolve_session_by_title", "old") == done.part
    assert [row["id"] for row in hermes.db("list_sessions_rich")] == [done.part]
    assert hermes.rows("old") == rows
    old = hermes.session("old")
    assert (old["end_reason"], old["title"], hermes.session(done.part)["title"]) == ("compression", "old", "old #2")
    assert old["ended_at"] == hermes.session(done.part)["started_at"]


def test_it_resumes_exactly_our_context_and_goes_on(hermes: Hermes, model: Model, database: Path) -> None:
    written(hermes, "resumed")
    done = split(database, "resumed")
    assert [as_loaded(message) for message in hermes.resume(done.part)] == [as_loaded(each) for each in done.messages]
    (at,) = handoffs(hermes, hermes.conversation(done.part))
    assert hermes.previous_summary(hermes.conversation(done.part))["index"] == at
    model.reply = "Going on."
    hermes.turn("Please go on.")
    said = [
        words(message["role"], message["content"], message.get("tool_calls"))
        for message in model.requests[-1]["messages"]
    ]
    assert (said[0], said[-1], len(said)) == (
        ("system", PROMPT),
        ("user", "Please go on."),
        len(done.messages) + 2,
    )
    rows = live(hermes, done.part)
    assert [row["id"] for row in rows[:-2]] == list(done.commit.block_ids)
    assert hermes.session(done.part)["message_count"] == len(rows)


def test_it_compacts_on_top_and_carries_our_summary(hermes: Hermes, model: Model, database: Path) -> None:
    written(hermes, "on top")
    done = split(database, "on top")
    compact_on_top(hermes, model, done)
    assert hermes.db("get_compression_tip", "on top") == done.part, "its own compactions are made in place"


def test_what_it_appends_meanwhile_goes_along(hermes: Hermes, database: Path) -> None:
    written(hermes, "busy")
    planned = ours.plan(database, "busy")
    hermes.append("busy", "user", "While you were thinking.")
    done = split(database, "busy", planned)
    assert loaded(hermes, done.part)[-1][:2] == ("user", "While you were thinking.")


def test_our_history_shows_each_message_once(hermes: Hermes, database: Path) -> None:
    written(hermes, "told")
    said = len(live(hermes, "told"))
    done = split(database, "told")
    history = ours.history_of(database, done.part)
    assert (len(history.entries), len(history.boundaries)) == (said, 1)


@only(31)
def test_the_old_session_takes_no_more_messages(hermes: Hermes, database: Path) -> None:
    written(hermes, "closed")
    done = split(database, "closed")
    with pytest.raises(HermesError, match="CompressionSessionClosedError"):
        hermes.append("closed", "user", "Too late.")
    assert hermes.db("find_live_compression_child", "closed")["id"] == done.part


@only(31)
def test_a_turn_of_the_new_session_is_leased_as_one_of_the_conversation(hermes: Hermes, database: Path) -> None:
    written(hermes, "leased")
    done = split(database, "leased")
    assert hermes.db("_session_turn_lease_key", done.part) == "leased"
    assert hermes.db("try_acquire_session_turn_lease", done.part, "one")
    assert not hermes.db("try_acquire_session_turn_lease", "leased", "another")


def test_a_terminal_that_has_the_old_session_open(hermes: Hermes, schema: int, model: Model, database: Path) -> None:
    """Schema 31 goes on in the new one by itself; schema 22 knows nothing of it until it is resumed."""
    written(hermes, "open")
    hermes.resume("open")
    done = split(database, "open")
    model.reply = "Here."
    hermes.turn("Still there?")
    where = done.part if schema == 31 else "open"
    assert [row["content"] for row in live(hermes, where)[-2:]] == ["Still there?", "Here."]
    newest = ours.history_of(database, done.part).entries[-1]
    assert newest.state == ("live" if schema == 31 else "under"), "shown in either case"


def test_a_gateways_chat_goes_on_in_the_new_session(hermes: Hermes) -> None:
    """The gateway remembers the old session for the chat; with the next message it follows the conversation."""
    database = hermes.log.with_name("state.db")  # a gateway has the one of its home
    hermes.open(database)
    old = hermes.ask("chat", chat_id="7")["session_id"]
    for number in range(10):
        hermes.append(old, "user", f"Question {number}: {FILLING}")
        hermes.append(old, "assistant", f"Answer {number}: {FILLING}")
    done = split(database, old)
    found = hermes.ask("chat", chat_id="7")
    assert found["session_id"] == done.part
    assert [as_loaded(message) for message in found["transcript"]] == [as_loaded(each) for each in done.messages]


def test_a_chat_that_was_forgotten_is_found_in_the_new_session(hermes: Hermes, database: Path) -> None:
    """By what its row says of the chat."""
    written(hermes, "chat")
    peer = {"user_id": "7", "session_key": "agent:main:telegram:dm:7", "chat_id": "7", "chat_type": "dm"}
    hermes.db("record_gateway_session_peer", "chat", source="telegram", **peer)
    done = split(database, "chat")
    found = hermes.db("find_latest_gateway_session_for_peer", source="telegram", **peer)
    assert found["id"] == done.part
