"""The real Hermes takes a session that was created here for its own: it lists, resumes, continues and compacts it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.agents.hermes import ours
from tests.agents.hermes.loaded import live, loaded
from tests.agents.hermes.model import Model
from tests.agents.hermes.real import Hermes
from viewer.stores.hermes import writer
from viewer.stores.hermes.reader import open_store

CALL = {"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "ls"}'}}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "What is in here?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning": "I look."},
    {"role": "tool", "content": "walnuts.txt", "tool_call_id": "call_1", "name": "terminal"},
    {"role": "assistant", "content": "A list of walnuts."},
]


def created(database: Path, **wanted: Any) -> str:
    return writer.create(ours.store_of(database), now=time.time(), **wanted)


def test_it_resumes_and_continues_a_session_with_first_messages(hermes: Hermes, model: Model, database: Path) -> None:
    made = created(database, title="Walnuts", source="cli", model="gpt-4o", messages=TALK)
    assert [(role, text or "") for role, text, *_ in loaded(hermes, made)] == [
        ("user", "What is in here?"), ("assistant", ""), ("tool", "walnuts.txt"), ("assistant", "A list of walnuts."),
    ]  # fmt: skip
    hermes.resume(made)
    model.reply = "Ten of them."
    assert hermes.turn("How many?") == "Ten of them."
    sent = [message["content"] for message in model.requests[-1]["messages"] if message["role"] != "system"]
    assert sent[0] == "What is in here?" and sent[-1] == "How many?"
    assert [row["content"] for row in live(hermes, made)[-2:]] == ["How many?", "Ten of them."]
    assert hermes.session(made)["message_count"] == 6


def test_it_begins_a_session_that_was_created_empty(hermes: Hermes, model: Model, database: Path) -> None:
    made = created(database)
    assert loaded(hermes, made) == []
    hermes.resume(made)
    model.reply = "Good morning."
    assert hermes.turn("Good morning!") == "Good morning."
    assert len(live(hermes, made)) == 2


def test_it_lists_and_finds_it(hermes: Hermes, database: Path) -> None:
    made = created(database, title="Walnuts", source="api", messages=TALK)
    listed = {row["id"]: row for row in hermes.db("list_sessions_rich")}
    assert listed.keys() == {made} and listed[made]["title"] == "Walnuts"
    assert hermes.db("resolve_session_by_title", "Walnuts") == made
    assert hermes.db("get_compression_tip", made) == made
    assert made in [hit["session_id"] for hit in hermes.search("walnuts")]
    with open_store(ours.store_of(database)) as reader:
        assert reader.con.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert reader.con.execute("PRAGMA foreign_key_check").fetchone() is None
