"""Turns that were stored twice, calls and all: the real Hermes is sent both, and what we say of them is what it has."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

from tests.agents.hermes import ours
from tests.agents.hermes.loaded import live
from tests.agents.hermes.model import Model
from tests.agents.hermes.real import Hermes
from viewer.stores.hermes import messages as hermes_messages
from viewer.stores.hermes import undo
from viewer.stores.hermes.known import KnownBlock
from viewer.stores.hermes.reader import open_store

TURNS = 20
SESSION = "twice"


def stored_twice(hermes: Hermes) -> None:
    hermes.create_session(SESSION, model="test-model")
    hermes.db("set_session_title", SESSION, SESSION)
    began = time.time() - 4_000
    for number in range(TURNS):
        for _ in range(2):
            at = began + 10 * number
            call = {"name": "terminal", "arguments": json.dumps({"command": "step " * 180})}
            calls = [{"id": f"call_{number}", "type": "function", "function": call}]
            hermes.append(SESSION, "user", f"Request {number}: " + "fare rules " * 40, timestamp=at)
            hermes.append(SESSION, "assistant", "", tool_calls=calls, finish_reason="tool_calls", timestamp=at + 1)
            output = f"result {number} " + "as asked " * 300
            hermes.append(
                SESSION, "tool", output, tool_call_id=f"call_{number}", tool_name="terminal", timestamp=at + 2
            )
            hermes.append(
                SESSION, "assistant", f"Reply {number}: " + "done " * 40, finish_reason="stop", timestamp=at + 3
            )


def requests(model: Model) -> list[str]:
    """The requests in what the model was sent last."""
    sent = model.requests[-1]["messages"]
    return [str(message["content"]).partition(":")[0] for message in sent if message["role"] == "user"]


def numbers(database: Path, known: list[KnownBlock]) -> tuple[int, int, int, int]:
    """Messages before and after the only compaction, those of them that it summarised or kept, and all in History."""
    with open_store(ours.store_of(database)) as reader:
        history = hermes_messages.read_history(reader, SESSION, known)
    [found] = history.boundaries
    return found.messages_before, found.messages_after, found.summarised + found.kept, len(history.entries)


def test_before_is_what_was_sent_and_undo_brings_it_back(hermes: Hermes, model: Model, database: Path) -> None:
    stored_twice(hermes)
    hermes.resume(SESSION)
    model.reply = "Here."
    hermes.turn("Are you there?")
    twice = [f"Request {number}" for number in range(TURNS) for _ in range(2)]
    assert requests(model) == [*twice, "Are you there?"]
    before = [row["id"] for row in live(hermes, SESSION)]
    assert len(before) == 2 * 4 * TURNS + 2
    done = ours.compact(database, SESSION)
    messages = 4 * TURNS + 2
    known = ours.known_of(done)
    assert numbers(database, [known]) == (len(before), len(done.messages), messages, messages)
    ours.undo(done.store, done.undoing)
    assert [row["id"] for row in live(hermes, SESSION)] == before
    with open_store(done.store) as reader:
        history = hermes_messages.read_history(reader, SESSION, [replace(known, undone=True)])
    assert (len(history.boundaries), len(history.entries)) == (0, messages)
    hermes.resume(SESSION)
    hermes.turn("Still there?")
    assert requests(model) == [*twice, "Are you there?", "Still there?"]


def test_undo_of_its_own_compaction_brings_back_all_or_nothing(hermes: Hermes, model: Model, database: Path) -> None:
    stored_twice(hermes)
    before = {row["id"] for row in live(hermes, SESSION)}
    hermes.ask("hold", session_id=SESSION, tail_tokens=2_000, protect_last=4)
    model.reply = "The earlier steps were done."
    hermes.compact()
    with open_store(ours.store_of(database)) as reader:
        history = hermes_messages.read_history(reader, SESSION)
        outlook = undo.check_undo(reader, undo.undoing_of_boundary(SESSION, history.boundaries[-1]))
    assert outlook.refusal or set(outlook.restored) == before
