"""Sessions in OpenCode's database: what the model sees, History, what is written, and what speaks against writing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.agents.base import Json
from tests.agents.opencode.by_hand import CLEARED, OpenCodeByHand
from tests.agents.reading import history, opened, sent, shown, store_of
from tests.agents.talk import FILLING, heard, talk, turn
from tests.agents.writing import compacted, undo
from tests.listed import all_ids
from viewer.stores.changes import IN_EFFECT
from viewer.stores.errors import (
    CompactionConflict,
    NotFound,
    NotRedoable,
    NotUndoable,
    SessionBusy,
    StoreReadOnly,
    StoreUnavailable,
)
from viewer.stores.lock_owners import new_holder
from viewer.stores.message import own_words
from viewer.stores.opencode import commit as commits
from viewer.stores.opencode import presence
from viewer.stores.opencode import undo as undoing
from viewer.stores.opencode.codec import ASK, INTERRUPTED
from viewer.stores.opencode.kind import OpenCode, OpenCodeStores
from viewer.stores.recorded import Recorded
from viewer.stores.registry import all_stores, writer_of
from viewer.stores.sqlite import writing

ASKED = {"role": "user", "content": "And now?"}
PICTURE = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,iVBORw0KGgo="}


@pytest.fixture
def agent(tmp_path: Path) -> OpenCodeByHand:
    made = OpenCodeByHand(tmp_path / "opencode")
    made.write("s", talk(8))
    return made


def of_recording(place: Path, name: str) -> tuple[OpenCodeByHand, str]:
    """A database that the client wrote, and its first session."""
    made = OpenCodeByHand(place / "opencode", name)
    return made, str(made.sql("SELECT id FROM session ORDER BY time_created")[0][0])


def asks(reader: Any, session_id: str) -> list[int | None]:
    """Before which messages the client asks for a summary."""
    live = [row.id for row in reader.live(session_id)]
    return [each.before for each in reader.additions(session_id, live, end=True) if each.text == ASK]


# -- what the client wrote ---------------------------------------------------------------------------------------------


def test_a_session_of_the_client(tmp_path: Path) -> None:
    agent, session_id = of_recording(tmp_path, "plain")
    with opened(agent) as reader:
        session = reader.session(session_id)
        assert (session.title, session.model, session.cwd) == ("Fake title", "fake-1", "/home/user/work")
        assert session.first_words == "prompt 1" and not session.archived and session.last_active > 1_795_877_230
        rows = reader.live(session_id)
        roles = [row.role[0] for row in rows]
        assert "".join(roles) == "uattauatauata" and [row.id for row in rows] == sorted(row.id for row in rows)
        look = rows[1]
        assert (look.content, look.reasoning, look.finish_reason) == ("I will look.", "think a bit", "tool_calls")
        assert [call["function"]["name"] for call in look.tool_calls] == ["bash", "read"]
        assert [row.tool_call_id for row in rows[2:4]] == [call["id"] for call in look.tool_calls]
        assert rows[2].content == "one\n" and "is_error" not in rows[2].extra
        assert rows[3].content == "File not found: /home/user/work/nothere.txt" and rows[3].extra["is_error"] is True
        assert len(shown(reader, session_id)) == len(rows) == len(reader.raw(session_id, before=None, limit=99))
        usage = reader.usage(session_id)
        assert usage.tokens == 110 and usage.total == 660 and usage.cost is not None
        assert usage.cost.dollars == pytest.approx(0.00072) and sum(each for _, each in usage.spent) == pytest.approx(
            usage.cost.dollars
        )
        first = reader.raw(session_id, before=None, limit=99)[0]
        assert first.extra["model"] == {"providerID": "fake", "modelID": "fake-1"}


def test_compactions_of_the_client(tmp_path: Path) -> None:
    agent, session_id = of_recording(tmp_path, "native")
    with opened(agent) as reader:
        texts = [content for _, content in sent(reader, session_id)]
        assert texts == ["FAKE NATIVE SUMMARY", "prompt 3", "", "Wrote file successfully.", "Third done.", "next", "ok"]
        (boundary,) = history(reader, session_id).compactions
        assert shown(reader, session_id)[8:11] == ["Second done.", "|", "prompt 3"]
        assert (boundary.summarised, boundary.kept, boundary.messages_after) == (9, 4, 5)
        assert asks(reader, session_id) == [boundary.handoff_id]
        (handoff,) = reader.shown(session_id, [boundary])
        assert handoff.reported.trigger == "manual" and handoff.reported.tokens_before == 110  # type: ignore[union-attr]
        assert reader.undo_plan(session_id, boundary).refusal == undoing.NOT_OURS


def test_a_fork_and_a_compaction_that_nobody_asked_for(tmp_path: Path) -> None:
    agent, session_id = of_recording(tmp_path, "native-auto")
    with opened(agent) as reader:
        (fork,) = (each for each in all_ids(reader) if each != session_id)
        assert reader.session(fork).title == "Fake title (fork #1)" and reader.children([session_id]) == []
        *_, added, _ = reader.live(fork)
        assert own_words(added).kind == "added by OpenCode" and added.content.startswith("Continue if you have")
        (handoff,) = reader.shown(fork, history(reader, fork).compactions)
        assert handoff.reported.trigger == "auto"  # type: ignore[union-attr]
        cost = reader.usage(fork).cost
        assert cost is not None and cost.dollars - cost.inherited == pytest.approx(0.00024)
        assert [content for _, content in sent(reader, session_id)] == ["OURS near the limit", "next", "ok"]


def test_a_sub_agent(tmp_path: Path) -> None:
    agent, session_id = of_recording(tmp_path, "subsession")
    with opened(agent) as reader:
        (child,) = reader.children([session_id])
        assert (child.title, child.kind) == ("sub work (@general subagent)", "delegate")
        assert [row.sub_agents for row in reader.live(session_id) if row.sub_agents] == [(child.id,)]
        assert reader.session(child.id).delegated_from == session_id
        refusal = reader.refusal(child.id)
        assert refusal is not None and refusal.message == presence.SUB_AGENT
    with pytest.raises(StoreReadOnly, match="sub-agent"), writer_of(store_of(agent)).hold(child.id, new_holder()):
        pass


def test_rows_of_ours_that_the_client_went_on_from(tmp_path: Path) -> None:
    agent, session_id = of_recording(tmp_path, "after-ours")
    with opened(agent) as reader:
        said = sent(reader, session_id)
        assert said[0] == ("assistant", "OUR SUMMARY with a tail.") and said[1] == ("user", "prompt 3")
        assert len(history(reader, session_id).compactions) == 1


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_parts_of_messages(agent: OpenCodeByHand) -> None:
    parts: list[Json] = [
        {"type": "text", "text": "See @a.txt"},
        {"type": "text", "text": "Called the Read tool: boats", "synthetic": True},
        {"type": "text", "text": "only for people", "ignored": True},
        {"type": "file", "mime": "text/plain", "url": "file:///a.txt"},
        PICTURE,
    ]
    agent.message("s", {"role": "user", "agent": "build", "model": {}}, parts)
    state = {"status": "completed", "output": "x", "input": {}, "time": {}, "metadata": {"exit": 3, "diff": "+a"}}
    called = {"type": "tool", "tool": "bash", "callID": "c"}
    agent.reply("s", [called | {"state": state | {"attachments": [PICTURE]}}])
    agent.reply("s", [called | {"state": {"status": "running", "input": {}, "time": {}}}], "tool-calls")
    agent.reply("s", [{"type": "text", "text": "half"}], error={"name": "APIError", "data": {}})
    agent.reply("s", [{"type": "text", "text": "stopped"}], error={"name": "MessageAbortedError"})
    with opened(agent) as reader:
        *_, asked, _, result, _, stopped = reader.live("s")
        image = {"type": "image_url", "image_url": {"url": PICTURE["url"]}}
        assert asked.content == [{"type": "text", "text": "See @a.txt"}, image]
        assert asked.notes == ("Called the Read tool: boats",)
        assert result.content == [{"type": "text", "text": "x"}, image] and result.diff == "+a"
        assert result.extra["is_error"] is True and stopped.content == "stopped"
        assert shown(reader, "s")[-2:] == ["half", "stopped"]
        live = [row.id for row in reader.live("s")]
        added = [each.text for each in reader.additions("s", live, end=True) if each.is_sent]
        assert added == ["Called the Read tool: boats", INTERRUPTED]


def test_a_result_that_the_client_cleared(agent: OpenCodeByHand) -> None:
    cleared = "UPDATE part SET data = json_set(data, '$.state.time.compacted', 1) WHERE data LIKE '%call_0_0%'"
    agent.sql(cleared)
    with opened(agent) as reader:
        rows = reader.live("s")
        assert rows[2].content == CLEARED and [(row.role, row.content) for row in rows] == agent.load("s")
        assert reader.messages("s", [rows[2].id])[rows[2].id].content.startswith("result0x0")


def test_what_the_next_prompt_deletes_is_out(agent: OpenCodeByHand) -> None:
    asked = [each["id"] for each, _ in agent.messages("s") if each["role"] == "user"]
    agent.revert("s", asked[-1])
    with opened(agent) as reader:
        assert sent(reader, "s") == heard(list(talk(7))) and shown(reader, "s") == [c for _, c in heard(list(talk(7)))]
        assert len(reader.raw("s", before=None, limit=99)) == len(talk(8))
    with pytest.raises(SessionBusy, match="/undo"):
        compacted(agent)


def test_a_tail_that_is_gone_sends_all(agent: OpenCodeByHand) -> None:
    agent.compaction("s", "So far.", "msg_gone")
    with opened(agent) as reader:
        assert sent(reader, "s") == [*heard(list(talk(8))), ("assistant", "So far.")] == agent.load("s")


def test_a_summary_that_broke_off_is_none(agent: OpenCodeByHand) -> None:
    agent.compaction("s", "So f", error={"name": "APIError"})
    with opened(agent) as reader:
        assert sent(reader, "s") == heard(list(talk(8))) and history(reader, "s").compactions == ()
        assert asks(reader, "s") == [None], "the client asks all the same"


def test_numbers_stay_when_others_come_and_go(agent: OpenCodeByHand) -> None:
    with opened(agent) as reader:
        before = {row.id: row.content for row in reader.live("s")}
    commit = compacted(agent)
    undo(agent, commit)
    with opened(agent) as reader:
        assert {row.id: row.content for row in reader.live("s")} == before
        assert max(before) < 2**53


def test_text_for_an_index(agent: OpenCodeByHand) -> None:
    with opened(agent) as reader:
        first = reader.searchable("s", "")
        assert first is not None and len(first.messages) == len(talk(8)) and not first.more
    for message in turn("more"):
        agent.say("s", message)
    with opened(agent) as reader:
        second = reader.searchable("s", first.cursor)
        assert second is not None and len(second.messages) == len(turn("more"))
    agent.reply("s", [{"type": "text", "text": "typing"}], "", completes=False)
    with opened(agent) as reader:
        third = reader.searchable("s", second.cursor)
        assert third is not None and third.messages == () and third.waits
    agent.take_back("s")
    with opened(agent) as reader:
        assert reader.searchable("s", second.cursor) is None


# -- what is written ---------------------------------------------------------------------------------------------------


def test_the_rows_of_a_compaction(agent: OpenCodeByHand) -> None:
    others = {name: agent.sql(f"SELECT * FROM {name}") for name in ("session", "project", "event", "migration")}
    before = agent.messages("s")
    commit = compacted(agent)
    *same, (asked, asks_parts), (said, said_parts) = agent.messages("s")
    assert same == before and {name: agent.sql(f"SELECT * FROM {name}") for name in others} == others
    assert said["parentID"] == asked["id"] and said["summary"] is True and said["finish"] == "stop"
    assert asked["model"] == before[0][0]["model"] and said["path"] == before[-1][0]["path"]
    assert asked["time"]["created"] > before[-1][0]["time"]["created"]
    ((part,), (text,)) = asks_parts, said_parts
    assert part["type"] == "compaction" and part["tail_start_id"] in [each["id"] for each, _ in before]
    assert text["text"].startswith("[CONTEXT SUMMARY]") and commit.handoff_id < 2**53
    ids = agent.sql("SELECT id, time_created FROM message ORDER BY time_created, id")
    assert ids == sorted(ids) and all(len(each) == 30 for each, _ in ids[-2:])
    assert agent.sql("PRAGMA foreign_key_check") == [] and agent.sql("PRAGMA quick_check") == [("ok",)]


def test_a_commit_is_found_again_and_undone_and_redone(agent: OpenCodeByHand) -> None:
    before = agent.load("s")
    with opened(agent) as reader:
        token = reader.basis("s").token
    commit = compacted(agent)
    short = agent.load("s")
    with opened(agent) as reader:
        compaction = reader._messages("s").compactions[-1]  # type: ignore[attr-defined]
        assert commits.commit_of(reader.con, compaction).receipt == commit.receipt  # type: ignore[attr-defined]
        assert reader.find_commit("s", token, [], Recorded()) is None
        assert reader.commit_state("s", commit.receipt).state == "in effect"
        assert reader.context_before("s", commit.receipt) == token["ids"]
        assert reader.commit_state("s", commit.receipt).redo_refusal == IN_EFFECT
    for message in turn("later"):
        agent.say("s", message)
    undo(agent, commit)
    assert agent.load("s") == [*before, *heard(list(turn("later")))]
    with opened(agent) as reader:
        assert reader.commit_state("s", commit.receipt).undo == {"handoff": commit.handoff_id}
    writer_of(store_of(agent)).redo("s", json.loads(json.dumps(commit.receipt)), holder=new_holder())
    assert agent.load("s") == [*short, *heard(list(turn("later")))]
    undo(agent, commit)
    compacted(agent)
    with pytest.raises(NotRedoable):
        writer_of(store_of(agent)).redo("s", commit.receipt, holder=new_holder())


def test_a_kept_end_from_before_the_older_compaction_sends_its_summary_again(agent: OpenCodeByHand) -> None:
    compacted(agent)
    agent.say("s", {"role": "user", "content": "Short."})
    agent.say("s", {"role": "assistant", "content": "Yes."})
    summary, *kept = agent.load("s")
    compacted(agent)
    with opened(agent) as reader:
        assert sent(reader, "s") == agent.load("s")
        again = [each for each in sent(reader, "s")[1:] if each[0] == "assistant" and "CONTEXT SUMMARY" in each[1]]
        assert again == [summary] and sent(reader, "s")[-2:] == kept[-2:]
        first, second = history(reader, "s").compactions
        assert first.summarised and second.summarised and len(asks(reader, "s")) == 2


def test_only_the_newest_is_undone(agent: OpenCodeByHand) -> None:
    commit = compacted(agent)
    agent.compaction("s", f"Over all. {FILLING}")
    with pytest.raises(NotUndoable, match="later compaction"):
        undo(agent, commit)
    with opened(agent) as reader:
        first, _ = history(reader, "s").compactions
        assert first.handoff_id == commit.handoff_id and first.kept > 0


# -- what speaks against it --------------------------------------------------------------------------------------------


def test_while_a_turn_runs_and_after_it_was_killed(agent: OpenCodeByHand) -> None:
    agent.say("s", ASKED)
    rows = agent.rows()
    with agent.running(), pytest.raises(SessionBusy, match="a turn of this session has not ended"):
        compacted(agent)
    assert agent.rows() == rows
    compacted(agent)  # nobody has the database open: the client was killed
    with opened(agent) as reader:
        assert sent(reader, "s")[-1] == ("user", "And now?")


def test_a_client_that_rests_is_no_reason(agent: OpenCodeByHand) -> None:
    with agent.running():
        commit = compacted(agent)
        undo(agent, commit)


@pytest.mark.parametrize(
    "finish, parts",
    [("tool-calls", []), ("", []), ("stop", [{"type": "tool", "state": {"status": "pending", "input": {}}}])],
)
def test_what_an_open_turn_is(agent: OpenCodeByHand, finish: str, parts: list[Any]) -> None:
    agent.reply("s", parts, finish, completes=bool(finish))
    with agent.running(), opened(agent) as reader:
        holder = reader.presence("s").holder
        assert holder is not None and "process" in holder.says


def test_tables_of_another_version(agent: OpenCodeByHand) -> None:
    agent.sql("INSERT INTO migration VALUES ('20990101000000_next', 1)")
    rows = agent.rows()
    with opened(agent) as reader:
        assert "20990101000000_next" in str(reader.refusal(None)) and len(reader.live("s")) == len(talk(8))
    with pytest.raises(StoreReadOnly, match="another version"):
        compacted(agent)
    assert agent.rows() == rows


def test_tables_without_what_is_read(agent: OpenCodeByHand) -> None:
    agent.sql("ALTER TABLE part RENAME COLUMN data TO value")
    with pytest.raises(StoreUnavailable, match=r"no part\.data"), opened(agent):
        pass


@pytest.mark.parametrize(
    "table, field, value",
    [("part", "$.type", "hologram"), ("message", "$.role", "narrator"), ("message", "$.time.created", 5)],
)
def test_unknown_forms(agent: OpenCodeByHand, table: str, field: str, value: Any) -> None:
    agent.sql(f"UPDATE {table} SET data = json_set(data, ?, ?) WHERE rowid = 2", field, value)
    with pytest.raises(StoreReadOnly, match="not known here"):
        compacted(agent)


def test_a_database_that_may_not_be_written(agent: OpenCodeByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with opened(agent) as reader:
        assert str(reader.refusal(None)) == presence.NOT_WRITABLE


def test_what_changed_is_a_conflict(agent: OpenCodeByHand) -> None:
    with pytest.raises(CompactionConflict):
        compacted(agent, lambda: agent.overwrite("s"))


def test_what_is_written_while_the_database_is_waited_for(
    agent: OpenCodeByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is read before the transaction begins, and again in it where it is another by then."""
    plain = writing.writing

    def late(*given: Any, **named: Any) -> Any:
        for message in turn("late"):
            agent.say("s", message)
        return plain(*given, **named)

    monkeypatch.setattr("viewer.stores.opencode.writer.writing", late)
    compacted(agent)
    with opened(agent) as reader:
        assert sent(reader, "s")[-len(turn("late")) :] == heard(list(turn("late"))) and len(agent.load("s")) < len(
            talk(8)
        )
        assert sent(reader, "s") == agent.load("s")


def test_what_it_cannot_do_is_said(agent: OpenCodeByHand) -> None:
    writer = writer_of(store_of(agent))
    with pytest.raises(StoreReadOnly, match="renamed in OpenCode"):
        writer.rename("s", "other")
    with pytest.raises(StoreReadOnly, match="in place"):
        writer.apply("s", {}, [], mode="split", holder=new_holder(), now=0.0)
    with pytest.raises(NotFound):
        writer.branch("nobody", [], now=0.0)
    with opened(agent) as reader:
        assert str(reader.refusal("s", "prune")) == presence.NO_PRUNE


# -- where it is -------------------------------------------------------------------------------------------------------


def test_databases_are_found(agent: OpenCodeByHand, settings: Settings, tmp_path: Path) -> None:
    settings.OPENCODE_HOME, settings.STORES = agent.database.parent, {}
    (agent.database.parent / "opencode-beta.db").write_bytes(agent.database.read_bytes())
    stores = {store.name: store for store in all_stores()}
    assert stores["opencode"].url == agent.url and OpenCodeStores().is_here(stores["opencode-beta"])
    settings.OPENCODE_HOME = tmp_path / "nothing"
    assert OpenCodeStores().discover() == []


def test_a_link_to_a_database_elsewhere_is_not_followed(agent: OpenCodeByHand, tmp_path: Path) -> None:
    linked = OpenCodeByHand(tmp_path / "linked")
    linked.database.unlink()
    linked.database.symlink_to(agent.database)
    with pytest.raises(StoreUnavailable, match="a link to a file elsewhere"), opened(linked):
        pass


def test_how_a_session_is_resumed(agent: OpenCodeByHand) -> None:
    client = OpenCode(store_of(agent))
    assert client.resume_command("s") == "cd /home/user/work && opencode -s s"
    assert client.resume_command("nobody") == "opencode -s nobody"
    assert client.untried_version("s") == "" == client.untried_version("nobody")
    agent.sql("UPDATE session SET version = '1.99.0'")
    assert "1.99.0" in client.untried_version("s")
