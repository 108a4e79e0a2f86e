"""Sessions the real Hermes compacted, read by our History: every message once, in order, boundaries in place."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pytest

from compaction.handoff import END_MARKER, PRIOR_HEADER
from tests.agents.hermes import ours
from tests.agents.hermes.conversations import FILLING, Said, words, write_session
from tests.agents.hermes.model import Model
from tests.agents.hermes.real import Hermes
from viewer.stores.base import Store
from viewer.stores.hermes import messages as hermes_messages
from viewer.stores.hermes.reader import open_store
from viewer.stores.message import HistoryMessage
from viewer.stores.transcript import TranscriptIndex

SUMMARY = "## Goal\nFinish every step.\n\n## Completed Actions\n1. RAN the steps so far."


def read(hermes: Hermes, database: Path, session_id: str) -> tuple[TranscriptIndex, list[Said]]:
    """Our History of a session and the messages it shows; what it calls in context is what Hermes has live."""
    with open_store(Store("hermes", f"sqlite:///{database}", "configured")) as reader:
        history = hermes_messages.read_history(reader, session_id)
        shown = hermes_messages.history_messages(reader, history.entries)
    in_context = [entry.newest_id for entry in history.entries if entry.state == "live"]
    assert in_context == live_messages(hermes, session_id)
    messages = [item for item in shown if isinstance(item, HistoryMessage)]
    return history, [words(message.row.role, message.content, message.row.tool_calls) for message in messages]


def talk(hermes: Hermes, model: Model, label: str, count: int = 3) -> list[Said]:
    """Real turns of the resumed agent; their messages."""
    said: list[Said] = []
    for number in range(count):
        model.reply = f"Reply {label}.{number}"
        hermes.turn(f"Question {label}.{number}")
        said += [("user", f"Question {label}.{number}"), ("assistant", model.reply)]
    return said


def compact(hermes: Hermes, model: Model) -> None:
    model.reply = SUMMARY
    before = len(model.requests)
    hermes.compact()
    assert len(model.requests) > before, "Hermes did not compact"


def live_rows(hermes: Hermes, session_id: str) -> list[int]:
    return [row["id"] for row in hermes.rows(session_id) if row["active"]]


def live_messages(hermes: Hermes, session_id: str) -> list[int]:
    """Live rows but for handoffs; a row that a handoff was merged into is a message still."""
    rows = [row for row in hermes.rows(session_id) if row["active"]]
    return [row["id"] for row in rows if not (hermes.is_summary(row["content"]) and _standalone(row["content"]))]


def _standalone(content: str) -> bool:
    return content.endswith(END_MARKER) and not content.startswith(PRIOR_HEADER)


def test_a_session_hermes_never_compacted(hermes: Hermes, database: Path) -> None:
    said = write_session(hermes, "plain", turns=4)
    history, shown = read(hermes, database, "plain")
    assert shown == said
    assert history.boundaries == ()


def test_one_compaction(hermes: Hermes, model: Model, database: Path) -> None:
    said = write_session(hermes, "once")
    before = live_rows(hermes, "once")
    hermes.resume("once")
    compact(hermes, model)
    history, shown = read(hermes, database, "once")
    assert shown == said
    (boundary,) = history.boundaries
    assert list(boundary.before_ids) == before
    assert list(boundary.block_ids) == live_rows(hermes, "once")
    assert len(boundary.summarised_ids) + len(boundary.kept_ids) == len(said)
    assert not set(boundary.summarised_ids) & set(boundary.kept_ids)


def test_compacted_twice_by_the_agent_that_kept_it_open(hermes: Hermes, model: Model, database: Path) -> None:
    """Schema 22 gives turns of its own process a new time when it copies them: only their words tell."""
    said = write_session(hermes, "twice")
    hermes.resume("twice")
    compact(hermes, model)
    said += talk(hermes, model, "first")
    compact(hermes, model)
    said += talk(hermes, model, "second")
    history, shown = read(hermes, database, "twice")
    assert shown == said
    assert len(history.boundaries) == 2


def test_compacted_again_by_another_process(hermes: Hermes, model: Model, database: Path) -> None:
    said = write_session(hermes, "resumed")
    for label in ("first", "second"):
        hermes.resume("resumed")
        said += talk(hermes, model, label)
        compact(hermes, model)
    history, shown = read(hermes, database, "resumed")
    assert shown == said
    assert len(history.boundaries) == 2


def test_a_message_that_came_while_hermes_summarised(hermes: Hermes, model: Model, database: Path) -> None:
    """Schema 31 moves it behind the block and keeps it live; schema 22 archives it unread."""
    said = write_session(hermes, "late")
    hermes.resume("late")
    model.reply = SUMMARY
    with model.held():
        asked = len(model.requests)
        hermes.send("compact")
        model.wait_for(asked + 1)
        with sqlite3.connect(database, timeout=10) as elsewhere:
            insert = "INSERT INTO messages(session_id, role, content, timestamp) VALUES ('late', 'user', ?, ?)"
            elsewhere.execute(insert, ["One more thing", time.time()])
        elsewhere.close()
    hermes.receive()
    history, shown = read(hermes, database, "late")
    assert shown == [*said, ("user", "One more thing")]
    assert len(history.boundaries) == 1


@pytest.mark.parametrize("compacted", [False, True])
def test_messages_taken_back_are_not_shown(hermes: Hermes, model: Model, database: Path, compacted: bool) -> None:
    said = write_session(hermes, "undo")
    hermes.resume("undo")
    if compacted:
        compact(hermes, model)
    kept = talk(hermes, model, "kept")
    taken = talk(hermes, model, "taken", count=1)
    hermes.take_back("undo", live_rows(hermes, "undo")[-len(taken)])
    history, shown = read(hermes, database, "undo")
    assert shown == said + kept
    assert len(history.boundaries) == int(compacted)


def test_compacted_from_memory_over_ours(hermes: Hermes, schema: int, model: Model, database: Path) -> None:
    """Its copies reach back behind our cut, to messages that lay under our boundary.

    Schema 31 takes our whole block for superseded copies, so nothing of that compaction stands any more.
    """
    said = write_session(hermes, "over ours")
    hermes.resume("over ours")
    said += talk(hermes, model, "before")
    ours.compact(database, "over ours")
    said += talk(hermes, model, "after")
    compact(hermes, model)
    history, shown = read(hermes, database, "over ours")
    assert shown == said
    assert len(history.boundaries) == (1 if schema == 31 else 2)


def test_our_handoff_kept_as_one_of_its_first_messages(hermes: Hermes, model: Model, database: Path) -> None:
    """After a restart schema 22 keeps the first three messages, a handoff of ours among them, and adds its own."""
    hermes.create_session("chat", model="test-model")
    hermes.db("set_session_title", "chat", "chat")
    said = [(role, f"{role} {number}: {FILLING}") for number in range(24) for role in ("user", "assistant")]
    for role, text in said:
        hermes.append("chat", role, text)
    ours.compact(database, "chat")
    hermes.resume("chat")
    said += talk(hermes, model, "after", count=6)
    compact(hermes, model)
    history, shown = read(hermes, database, "chat")
    assert shown == said
    assert len(history.boundaries) == 2
