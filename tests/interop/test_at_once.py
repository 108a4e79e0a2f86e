"""The real Hermes and we write the same session at the same time: nothing is lost, doubled or out of order."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.agents.hermes import ours
from tests.agents.hermes.conversations import write_session
from tests.agents.hermes.loaded import as_loaded, live, loaded, only, states
from tests.agents.hermes.model import Model
from tests.agents.hermes.real import Hermes
from tests.factories.runs import in_thread
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.errors import CompactionConflict, SessionBusy, SessionEnded, StoreError
from viewer.stores.hermes import agent_config, presence
from viewer.stores.hermes.undo import undoing_of_boundary
from viewer.stores.hermes.writer import append
from viewer.stores.registry import get_store


def query(database: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(database, timeout=20)) as con:
        return con.execute(sql, values).fetchall()


def check_sound(hermes: Hermes, database: Path, session_id: str) -> None:
    """The file is whole, the counter is right, and nobody holds the lock."""
    assert query(database, "PRAGMA integrity_check") == [("ok",)]
    rows = live(hermes, session_id)
    assert hermes.session(session_id)["message_count"] == len(rows)
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert query(database, "SELECT * FROM compression_locks") == []


def texts(hermes: Hermes, session_id: str, start: tuple[str, ...]) -> list[str]:
    """What is in context of the messages that begin so, in order."""
    return [row["content"] for row in live(hermes, session_id) if str(row["content"]).startswith(start)]


@contextmanager
def beside(hermes: Hermes, tmp_path: Path, do: str, **arguments: Any) -> Iterator[list[Any]]:
    """Hermes does this in its process until the block ends; its answer is in the list then."""
    stop = tmp_path / "stop"
    answer: list[Any] = []
    hermes.send(do, stop=str(stop), limit=100_000, **arguments)
    try:
        yield answer
    finally:
        stop.touch()
        answer.append(hermes.receive())


def until(happened: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)


def count(database: Path, beginning: str) -> int:
    """Rows whose text begins so."""
    found: int = query(database, "SELECT COUNT(*) FROM messages WHERE content LIKE ? || '%'", beginning)[0][0]
    return found


def until_it_says_more(database: Path, answers: int = 5) -> None:
    """Wait for more answers of Hermes beside us."""
    ((newest,),) = query(database, "SELECT MAX(timestamp) FROM messages")
    since = "SELECT COUNT(*) FROM messages WHERE content LIKE 'answer %' AND timestamp > ?"
    until(lambda: query(database, since, newest)[0][0] >= answers)


# -- loops in both processes -------------------------------------------------------------------------------------------


def test_it_appends_in_a_loop_while_we_compact_and_undo(hermes: Hermes, database: Path, tmp_path: Path) -> None:
    write_session(hermes, "loop", turns=12)
    before = loaded(hermes, "loop")
    with beside(hermes, tmp_path, "append_until", session_id="loop", rewinds=False) as answer:
        for _ in range(4):
            until_it_says_more(database)
            done = ours.compact(database, "loop")
            ours.undo(done.store, done.undoing)
        last = ours.compact(database, "loop")
        until_it_says_more(database)
    (said,) = answer
    assert len(said) > 50
    check_sound(hermes, database, "loop")
    kept = texts(hermes, "loop", ("question ", "answer "))
    assert kept == said[len(said) - len(kept) :], "what is in context is the newest, in order"
    history = ours.history_of(database, "loop")
    assert len(history.boundaries) == 1 and len(history.entries) == len(before) + len(said)
    ours.undo(last.store, last.undoing)
    assert texts(hermes, "loop", ("question ", "answer ")) == said
    assert loaded(hermes, "loop")[: len(before)] == before
    check_sound(hermes, database, "loop")


@only(31)
def test_it_appends_and_takes_back_in_a_loop_while_we_compact_and_undo(
    hermes: Hermes, database: Path, tmp_path: Path
) -> None:
    """Schema 31 alone checks in its transaction that what it takes back is still what it saw, and is not being
    compacted: no plan of ours goes stale then.
    """
    write_session(hermes, "churn", turns=12)
    before = loaded(hermes, "churn")
    with beside(hermes, tmp_path, "append_until", session_id="churn", rewinds=True) as answer:
        for _ in range(2):
            until_it_says_more(database, 25)
            done = ours.compact(database, "churn")
            until_it_says_more(database, 25)  # and takes some of what we copied back
            ours.undo(done.store, done.undoing)
    (said,) = answer
    assert texts(hermes, "churn", ("question ", "answer ")) == said
    assert loaded(hermes, "churn")[: len(before)] == before
    assert hermes.session("churn")["rewind_count"] > 0
    check_sound(hermes, database, "churn")


def test_it_compacts_in_a_loop_while_we_do(hermes: Hermes, database: Path, tmp_path: Path) -> None:
    """The lock keeps the two apart: whoever has it is alone, and no message is lost."""
    write_session(hermes, "both", turns=12)
    ours_done, busy = 0, 0
    with beside(hermes, tmp_path, "compact_until", session_id="both") as answer:
        end = time.monotonic() + 60
        while ours_done < 4 or count(database, "[CONTEXT SUMMARY]: by Hermes") < 4:
            assert time.monotonic() < end, (ours_done, busy)
            turn = [{"role": role, "content": f"more {ours_done} {role} " * 40} for role in ("user", "assistant")]
            try:
                planned = ours.plan(database, "both")
                time.sleep(0.1)  # a summary is being made
                ours.commit(planned)
            except SessionBusy as refused:
                assert "agent=loop" in refused.message
                busy += 1
            else:
                ours_done += 1
                append(planned.store, "both", turn * 8, now=time.time())
            time.sleep(0.03)
    ((its, sat_out),) = answer
    assert its >= 4 and sat_out and busy, (ours_done, busy, its, sat_out)
    check_sound(hermes, database, "both")
    said = query(database, "SELECT COUNT(DISTINCT timestamp) FROM messages WHERE content LIKE 'more %'")
    assert said == [(ours_done * 16,)]


# -- between plan and commit -------------------------------------------------------------------------------------------


def rewrites(schema: int) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {"all": {}, "live": {"active_only": True}}
    return found | ({"archived": {"archive_dropped": True}} if schema == 31 else {})


def test_a_transcript_it_rewrites_while_we_summarise_is_a_conflict(hermes: Hermes, schema: int, database: Path) -> None:
    for name, how in rewrites(schema).items():
        write_session(hermes, name)
        planned = ours.plan(database, name)
        conversation = hermes.conversation(name)
        hermes.db("replace_messages", name, [*conversation[:20], *conversation[25:]], **how)
        before = states(hermes, name)
        with pytest.raises(CompactionConflict, match="Nothing was written"):
            ours.commit(planned)
        assert states(hermes, name) == before
        ours.compact(database, name)
        check_sound(hermes, database, name)


def test_its_own_compaction_while_we_hold_no_lock_is_a_conflict(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "without")
    planned = ours.plan(database, "without")
    presence.release_lock(planned.store, "without", planned.holder)  # lost: we slept beyond its time
    hermes.resume("without")
    model.reply = "## Goal\nFinish."
    hermes.compact()
    before = states(hermes, "without")
    with pytest.raises(SessionBusy, match="lost"):
        ours.commit(planned)
    presence.take_lock(planned.store, "without", planned.holder)
    with pytest.raises(CompactionConflict):
        ours.commit(planned)
    assert states(hermes, "without") == before
    check_sound(hermes, database, "without")


def test_a_write_of_its_that_takes_seconds_is_waited_for(hermes: Hermes, database: Path, tmp_path: Path) -> None:
    write_session(hermes, "slow")
    planned, held = ours.plan(database, "slow"), tmp_path / "held"
    hermes.send("hold_write_lock", seconds=2.0, held=str(held))
    while not held.exists():
        time.sleep(0.01)
    done = ours.commit(planned)
    hermes.receive()
    assert loaded(hermes, "slow") == [as_loaded(message) for message in done.messages]
    check_sound(hermes, database, "slow")


# -- undo --------------------------------------------------------------------------------------------------------------


def test_after_its_rewrite_a_compaction_of_its_own_is_not_undone(
    hermes: Hermes, schema: int, model: Model, database: Path
) -> None:
    for name, how in rewrites(schema).items():
        write_session(hermes, name)
        hermes.resume(name)
        model.reply = "## Goal\nFinish."
        hermes.compact()
        history = ours.history_of(database, name)
        undoing = undoing_of_boundary(name, history.boundaries[-1])
        conversation = hermes.conversation(name)
        hermes.db("replace_messages", name, conversation[:-3], **how)
        before = states(hermes, name)
        if name == "archived":  # its way of taking the last three back
            ours.undo(ours.store_of(database), undoing)
            assert len(loaded(hermes, name)) == len(live(hermes, name))
            assert [row["id"] for row in live(hermes, name)] == sorted(undoing.originals)[:-3]
            continue
        with pytest.raises(StoreError) as refused:
            ours.undo(ours.store_of(database), undoing)
        assert refused.value.code == "not_undoable" and states(hermes, name) == before


# -- what we append ----------------------------------------------------------------------------------------------------


def test_it_loads_what_we_append_and_goes_on(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "appended", distinct_ids=True)
    before, counted = loaded(hermes, "appended"), hermes.session("appended")
    call = {"id": "call_new", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
    turn: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "a picture \ud800"}]},
        {"role": "assistant", "content": "", "tool_calls": [call], "reasoning": "Let me look."},
        {"role": "tool", "content": "seen", "tool_call_id": "call_new", "name": "terminal"},
        {"role": "assistant", "content": "It is a marmoset.", "finish_reason": "stop"},
    ]
    append(ours.store_of(database), "appended", turn, now=time.time())
    assert loaded(hermes, "appended")[len(before) :] == [
        ("user", [{"type": "text", "text": "a picture \ud800"}], [], ""),
        ("assistant", "", [call], ""),
        ("tool", "seen", [], "call_new"),
        ("assistant", "It is a marmoset.", [], ""),
    ]
    session = hermes.session("appended")
    assert session["message_count"] == counted["message_count"] + 4
    assert session["tool_call_count"] == counted["tool_call_count"] + 1
    (hit,) = hermes.search("marmoset")
    assert hit["id"] == live(hermes, "appended")[-1]["id"]
    hermes.resume("appended")
    model.reply = "Going on."
    hermes.turn("And now?")
    assert [message["role"] for message in model.requests[-1]["messages"]][-5:] == [
        "user", "assistant", "tool", "assistant", "user",
    ]  # fmt: skip


@only(31)
def test_we_append_nothing_while_it_runs_a_turn(hermes: Hermes, model: Model, database: Path) -> None:
    write_session(hermes, "running")
    hermes.resume("running")
    message = [{"role": "user", "content": "from outside"}]
    with model.held():
        hermes.send("turn", text="A long one.")
        model.wait_for(1)
        ((holder,),) = query(database, "SELECT holder FROM session_turn_leases")
        with pytest.raises(SessionBusy, match=re.escape(holder)):
            append(ours.store_of(database), "running", message, now=time.time())
        assert query(database, "SELECT holder FROM session_turn_leases") == [(holder,)]
    hermes.receive()
    append(ours.store_of(database), "running", message, now=time.time())
    assert loaded(hermes, "running")[-1] == ("user", "from outside", [], "")


def test_we_append_nothing_to_a_session_it_split(hermes: Hermes, database: Path) -> None:
    write_session(hermes, "split", turns=1)
    hermes.db("end_session", "split", "compression")
    with pytest.raises(SessionEnded):
        append(ours.store_of(database), "split", [{"role": "user", "content": "x"}], now=time.time())


# -- a run -------------------------------------------------------------------------------------------------------------


@only(31)
@pytest.mark.django_db(transaction=True)
def test_a_run_waits_for_its_turn_to_end_and_says_so(
    hermes: Hermes, model: Model, database: Path, settings: Settings
) -> None:
    settings.STORES = {"hermes": f"sqlite:///{database}"}
    write_session(hermes, "waited")
    hermes.resume("waited")
    run = service.start(get_store("hermes"), "waited", Options("summary", keep_last=8), apply=True)
    with model.held():
        hermes.send("turn", text="A long one.")
        model.wait_for(1)
        ((holder,),) = query(database, "SELECT holder FROM session_turn_leases")
        worker = in_thread(run)
        until(lambda: _shown(run).get("holder") == holder)
        assert query(database, "SELECT holder FROM session_turn_leases") == [(holder,)]
    hermes.receive()
    worker.join(60)
    run.refresh_from_db()
    assert (run.status, run.error_message) == ("applied", "")
    assert texts(hermes, "waited", ("A long one.",)) == ["A long one."]
    check_sound(hermes, database, "waited")


def _shown(run: Run) -> dict[str, Any]:
    run.refresh_from_db()
    progress: dict[str, Any] = run.progress
    return progress


@pytest.mark.django_db(transaction=True)
def test_a_candidate_is_kept_when_it_takes_a_message_back(
    hermes: Hermes, database: Path, settings: Settings, at_once: None
) -> None:
    settings.STORES = {"hermes": f"sqlite:///{database}"}
    write_session(hermes, "kept")
    store = get_store("hermes")
    run = service.start(store, "kept", Options("summary", keep_last=8), apply=False)
    hermes.append("kept", "user", "One more thing.")
    hermes.take_back("kept", [row["id"] for row in live(hermes, "kept") if row["role"] == "user"][-2])
    before = states(hermes, "kept")
    with pytest.raises(CompactionConflict):
        service.apply(run)
    run.refresh_from_db()
    assert (run.status, run.error_code) == ("conflict", "compaction_conflict") and run.summary
    assert states(hermes, "kept") == before
    again = service.start(store, "kept", Options("summary", keep_last=8), apply=True)
    assert again.status == "applied"
    check_sound(hermes, database, "kept")


# -- its threshold -----------------------------------------------------------------------------------------------------


def test_we_know_when_it_compacts_by_itself(hermes: Hermes, schema: int, database: Path) -> None:
    windows = [64_000, 70_000, 80_000, 100_000, 128_000, 200_000, 511_999, 512_000, 1_000_000]
    store = ours.store_of(database)
    for share in (0.3, 0.5, 0.8, 0.95):
        database.with_name("config.yaml").write_text(f"compression: {{threshold: {share}}}\n# {schema}")
        for window in windows:
            told, known = (
                agent_config.threshold(store, "gpt-5", window),
                hermes.ask("threshold", window=window, share=share),
            )
            assert told == known or schema == 22 and window < 76_000, (share, window)  # it floors small ones elsewhere
