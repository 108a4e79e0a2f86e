"""The real Hermes takes our compactions and undoings for its own: it resumes, finds, goes on and compacts on top."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.hermes import ours
from tests.agents.hermes.conversations import words, write_session
from tests.agents.hermes.loaded import as_loaded, handoffs, live, loaded, only, states
from tests.agents.hermes.model import Model
from tests.agents.hermes.real import Hermes, HermesError
from tests.factories.locks import turn_lease
from viewer.stores.errors import CompactionConflict, NotUndoable, SessionBusy
from viewer.stores.hermes import presence
from viewer.stores.hermes.reader import open_store
from viewer.stores.hermes.undo import undoing_of_boundary

# -- resuming ----------------------------------------------------------------------------------------------------------


def test_it_resumes_exactly_our_live_context(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "resumed", distinct_ids=True)
    done = ours.compact(database, "resumed")
    expected = [as_loaded(message) for message in done.messages]
    assert [as_loaded(message) for message in hermes.resume("resumed")] == expected
    model.reply = "Going on."
    hermes.turn("Please go on.")
    sent = [message for message in model.requests[-1]["messages"] if message["role"] != "system"]
    assert [words(message["role"], message["content"], message.get("tool_calls")) for message in sent] == [
        *(words(message["role"], message["content"], message.get("tool_calls")) for message in done.messages),
        ("user", "Please go on."),
    ]


def test_it_recognises_one_handoff(hermes: Hermes, schema: int, database: Path) -> None:
    write_session(hermes, "recognised")
    ours.compact(database, "recognised")
    conversation = hermes.conversation("recognised")
    (at,) = handoffs(hermes, conversation)
    assert [index for index, message in enumerate(conversation) if message.get("_compressed_summary")] == (
        [at] if schema == 31 else []
    )
    found = hermes.previous_summary(conversation)
    assert found["index"] == at
    assert ours.SUMMARY in found["body"]


def test_it_appends_behind_our_context(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "appended")
    done = ours.compact(database, "appended")
    assert hermes.session("appended")["message_count"] == len(done.messages)
    hermes.resume("appended")
    model.reply = "Here I am."
    hermes.turn("Are you there?")
    rows = live(hermes, "appended")
    assert [row["id"] for row in rows[:-2]] == list(done.commit.block_ids)
    assert [(row["role"], row["content"]) for row in rows[-2:]] == [
        ("user", "Are you there?"),
        ("assistant", "Here I am."),
    ]
    assert hermes.session("appended")["message_count"] == len(rows)


def test_it_finds_every_message_once(hermes: Hermes, database: Path) -> None:
    """Superseded originals are hidden from its search; summarised messages and copies are not."""
    write_session(hermes, "searched", turns=24)
    ours.compact(database, "searched")
    by_id = {row["id"]: row for row in hermes.rows("searched")}
    for turn in (0, 5, 23):  # in the head, the middle, the tail
        (hit,) = hermes.search(f"walnut{turn}")
        assert by_id[hit["id"]]["active"] == (turn != 5)


def test_it_compacts_on_top_and_carries_our_summary(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "on top")
    ours.compact(database, "on top")
    hermes.resume("on top")
    for number in range(6):
        hermes.turn(f"Question {number}: {'more to say ' * 60}")
    model.reply = "## Goal\nAll of it, by the second summary."
    transcript = hermes.compact()
    asked = model.requests[-1]["messages"][-1]["content"]
    assert ours.SUMMARY in asked[asked.index("PREVIOUS SUMMARY:") :]
    (at,) = handoffs(hermes, transcript)
    assert "by the second summary" in str(transcript[at]["content"])
    assert [as_loaded(message) for message in transcript] == loaded(hermes, "on top")
    history = ours.history_of(database, "on top")
    assert len(history.boundaries) == 2


def test_it_goes_on_from_memory_until_it_reads_again(hermes: Hermes, model: Model, database: Path) -> None:
    """A terminal does not notice: its next turn sends the old context, and lands behind ours. A gateway reads again."""
    said = write_session(hermes, "open", distinct_ids=True)
    hermes.resume("open")
    done = ours.compact(database, "open")
    model.reply = "From memory."
    hermes.turn("And now?")
    assert len(model.requests[-1]["messages"]) == len(said) + 2  # system prompt and question
    assert [row["content"] for row in live(hermes, "open")[len(done.messages) :]] == ["And now?", "From memory."]
    hermes.reload()
    hermes.turn("And then?")
    assert len(model.requests[-1]["messages"]) == len(done.messages) + 4
    assert len(ours.history_of(database, "open").entries) == len(said) + 4


# -- undo --------------------------------------------------------------------------------------------------------------


def test_after_an_undo_it_resumes_the_old_context(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "undone", distinct_ids=True)
    before = {"loaded": loaded(hermes, "undone"), "rows": states(hermes, "undone")}
    session = hermes.session("undone")
    done = ours.compact(database, "undone")
    outlook = ours.undo(done.store, done.undoing)
    assert loaded(hermes, "undone") == before["loaded"]
    assert states(hermes, "undone")[: len(before["rows"])] == before["rows"]
    assert list(outlook.hidden) == list(done.commit.block_ids)
    assert hermes.session("undone") == session
    (hit,) = hermes.search("walnut23")
    assert hit["id"] in outlook.restored
    hermes.resume("undone")
    hermes.turn("Where were we?")
    assert len(model.requests[-1]["messages"]) == len(before["loaded"]) + 2


def test_an_undo_keeps_what_was_said_since(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "since")
    before = loaded(hermes, "since")
    done = ours.compact(database, "since")
    hermes.resume("since")
    model.reply = "Said since."
    hermes.turn("Asked since.")
    ours.undo(done.store, done.undoing)
    assert loaded(hermes, "since") == [
        *before,
        ("user", "Asked since.", [], ""),
        ("assistant", "Said since.", [], ""),
    ]


def test_an_undo_keeps_what_was_taken_back_since(hermes: Hermes, database: Path) -> None:
    write_session(hermes, "taken back")
    before = loaded(hermes, "taken back")
    done = ours.compact(database, "taken back")
    hermes.take_back("taken back", next(row["id"] for row in live(hermes, "taken back")[::-1] if row["role"] == "user"))
    ours.undo(done.store, done.undoing)
    assert loaded(hermes, "taken back") == before[:-5]  # the last turn of five messages
    assert hermes.session("taken back")["message_count"] == len(before) - 5


def test_an_undo_of_its_own_compaction(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "its own")
    before = loaded(hermes, "its own")
    hermes.resume("its own")
    model.reply = "## Goal\nFinish."
    hermes.compact()
    assert len(loaded(hermes, "its own")) < len(before)
    history = ours.history_of(database, "its own")
    (boundary,) = history.boundaries
    ours.undo(ours.store_of(database), undoing_of_boundary("its own", boundary))
    assert loaded(hermes, "its own") == before
    assert ours.history_of(database, "its own").boundaries == ()


def test_no_undo_below_its_later_compaction(hermes: Hermes, database: Path) -> None:
    write_session(hermes, "below")
    done = ours.compact(database, "below")
    hermes.resume("below")
    for number in range(6):
        hermes.turn(f"Question {number}: {'more to say ' * 60}")
    hermes.compact()
    with pytest.raises(NotUndoable, match="later compaction"):
        ours.undo(done.store, done.undoing)


def test_no_undo_after_it_rewrote_the_transcript(hermes: Hermes, database: Path) -> None:
    write_session(hermes, "rewritten")
    done = ours.compact(database, "rewritten")
    hermes.db("replace_messages", "rewritten", hermes.conversation("rewritten"))
    after = states(hermes, "rewritten")
    with pytest.raises(NotUndoable):
        ours.undo(done.store, done.undoing)
    assert states(hermes, "rewritten") == after


# -- at the same time --------------------------------------------------------------------------------------------------


def test_a_message_it_appends_while_we_summarise(hermes: Hermes, database: Path) -> None:
    write_session(hermes, "meanwhile")
    planned = ours.plan(database, "meanwhile")
    hermes.append("meanwhile", "user", "One more thing.")
    done = ours.commit(planned)
    assert loaded(hermes, "meanwhile") == [
        *(as_loaded(message) for message in done.messages),
        ("user", "One more thing.", [], ""),
    ]
    assert hermes.session("meanwhile")["message_count"] == len(done.messages) + 1
    (hit,) = hermes.search("One more thing")
    assert hit["id"] == done.commit.block_ids[-1]


def test_a_message_it_takes_back_while_we_summarise_is_a_conflict(hermes: Hermes, database: Path) -> None:
    write_session(hermes, "conflict")
    planned = ours.plan(database, "conflict")
    presence.release_lock(
        planned.store, "conflict", planned.holder
    )  # schema 31 takes nothing back under a foreign lock
    hermes.take_back("conflict", next(row.id for row in planned.basis.sent[::-1] if row.role == "user"))
    presence.take_lock(planned.store, "conflict", planned.holder)
    before = states(hermes, "conflict")
    with pytest.raises(CompactionConflict):
        ours.commit(planned)
    assert states(hermes, "conflict") == before


def test_we_refuse_while_it_compacts(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "its turn")
    hermes.resume("its turn")
    with model.held():
        hermes.send("compact")
        model.wait_for(1)
        holder = _only_holder(database, "compression_locks")
        with pytest.raises(SessionBusy, match=re.escape(holder)):
            ours.plan(database, "its turn")
    hermes.receive()
    ours.plan(database, "its turn")


def test_it_sits_out_while_we_compact(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "our turn")
    ours.plan(database, "our turn")
    hermes.resume("our turn")
    before = states(hermes, "our turn")
    hermes.compact()
    assert model.requests == []
    assert states(hermes, "our turn") == before


@only(31)
def test_it_takes_nothing_back_while_we_compact(hermes: Hermes, database: Path) -> None:
    write_session(hermes, "held")
    planned = ours.plan(database, "held")
    before = states(hermes, "held")
    with pytest.raises(HermesError, match="being compressed by another writer"):
        hermes.take_back("held", planned.basis.sent[-5].id)
    assert states(hermes, "held") == before


@only(31)
def test_we_do_not_commit_while_it_runs_a_turn(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "running")
    planned = ours.plan(database, "running")
    hermes.resume("running")
    model.reply = "Not disturbed."
    with model.held():
        hermes.send("turn", text="A long one.")
        model.wait_for(1)
        before, holder = _rows(database, "running"), _only_holder(database, "session_turn_leases")
        with pytest.raises(SessionBusy, match=re.escape(holder)):
            ours.commit(planned)
        assert _rows(database, "running") == before
        assert _only_holder(database, "session_turn_leases") == holder
    assert hermes.receive() == "Not disturbed."
    done = ours.compact(database, "running")
    assert loaded(hermes, "running") == [as_loaded(message) for message in done.messages]


@only(31)
def test_its_turn_waits_for_our_commit_and_is_sent_the_result(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "waiting", distinct_ids=True)
    hermes.resume("waiting")
    planned = ours.plan(database, "waiting")
    with turn_lease(planned.store, "waiting") as lease:
        told = len(hermes.log.read_text())
        hermes.send("turn", text="Hello?")
        _until(lambda: "is using this session" in hermes.log.read_text()[told:])
        done = ours.commit_leased(planned, lease)
    hermes.receive()
    (asked,) = model.requests
    assert len(asked["messages"]) == len(done.messages) + 2  # system prompt and question


@only(22)
def test_a_turn_that_runs_without_a_lease_lands_behind_our_commit(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "unleased")
    hermes.resume("unleased")
    model.reply = "Done meanwhile."
    with model.held():
        hermes.send("turn", text="A long one.")
        model.wait_for(1)
        done = ours.compact(database, "unleased")
    hermes.receive()
    assert loaded(hermes, "unleased") == [
        *(as_loaded(message) for message in done.messages),
        ("assistant", "Done meanwhile.", [], ""),
    ]


def _until(happened: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.05)


def _rows(database: Path, session_id: str) -> list[Any]:
    with open_store(ours.store_of(database)) as reader:
        return reader.con.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", [session_id]).fetchall()


def _only_holder(database: Path, table: str) -> str:
    with open_store(ours.store_of(database)) as reader:
        ((holder,),) = reader.con.execute(f"SELECT holder FROM {table}").fetchall()
    return str(holder)
