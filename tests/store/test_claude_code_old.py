"""Claude Code's older sessions: summaries without a boundary, words that only its queue kept, sub-agents elsewhere."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.agents.claude_code.by_hand import ClaudeByHand, agent, reader, record
from tests.agents.talk import talk
from tests.listed import activity_of, newest_ids
from viewer.stores.claude_code import paths, sidechains
from viewer.stores.errors import NotFound
from viewer.stores.message import Handoff, HistoryMessage
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.registry import open_store, version_of
from viewer.stores.transcript import TranscriptIndex

__all__ = ["agent", "reader"]

CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. The conversation is "
    "summarized below:\nThe harbour was surveyed."
)


def index_of(reader: Reader, session_id: str) -> TranscriptIndex:
    return reader.index(session_id, Recorded(), reader.change_token(session_id))


def handoffs(reader: Reader, session_id: str) -> list[Handoff]:
    items = reader.shown(session_id, index_of(reader, session_id).boundaries)
    return [item for item in items if isinstance(item, Handoff)]


# -- summaries without a boundary --------------------------------------------------------------------------------------

TEXTS: list[Any] = [CONTINUED, [{"type": "text", "text": CONTINUED}]]


@pytest.mark.parametrize("content", TEXTS, ids=["text", "block"])
@pytest.mark.parametrize("flags", [{"isCompactSummary": True}, {}], ids=["flagged", "unflagged"])
def test_a_session_that_begins_with_a_summary_was_continued(
    agent: ClaudeByHand, reader: Reader, flags: dict[str, Any], content: Any
) -> None:
    agent.hang("s", None, {"type": "user", "message": {"role": "user", "content": content}, **flags})
    for message in talk(12):
        agent.say("s", message)
    session_id = agent.id_of("s")
    index = index_of(reader, session_id)
    (boundary,) = index.boundaries
    (shown,) = handoffs(reader, session_id)
    assert boundary.inherited and "The harbour was surveyed." in shown.summary
    assert len(index.prompts) == 12 and reader.session(session_id).first_words.startswith("request0")
    searched = reader.searchable(session_id, "")
    assert searched is not None and "harbour was surveyed" in searched.messages[0].text
    assert reader.live(session_id)[0].flagged
    assert "no boundary" in reader.undo_plan(session_id, boundary).refusal
    assert reader.refusal(session_id) is None


def test_a_summary_in_the_middle_sums_up_what_it_does_not_hang_on(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(3))
    summary = {"type": "user", "message": {"role": "user", "content": CONTINUED}, "isCompactSummary": True}
    agent.hang("s", None, summary)
    agent.say("s", {"role": "user", "content": "and on"})
    session_id = agent.id_of("s")
    index = index_of(reader, session_id)
    (boundary,) = index.compactions
    assert boundary.summarised == len(talk(3)) and index.in_context == 1
    assert [row.state for row in reader.messages(session_id, list(boundary.before_ids)).values()] == ["under"] * len(
        talk(3)
    )


def test_a_summary_that_hangs_on_what_it_sums_up_drops_nothing(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(3))
    agent.say("s", {"role": "user", "content": CONTINUED})
    agent.say("s", {"role": "user", "content": "and on"})
    session_id = agent.id_of("s")
    index = index_of(reader, session_id)
    (boundary,) = index.compactions
    assert (boundary.summarised, index.in_context) == (0, len(talk(3)) + 1)
    assert [row.content for row in reader.live(session_id)][-2:] == [CONTINUED, "and on"]


# -- sub-agents --------------------------------------------------------------------------------------------------------

PROMPTS = ("Survey the harbour.", "Count the boats.")
USAGE = {"input_tokens": 1_000_000, "output_tokens": 0}


def reply(text: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    said = record({"role": "assistant", "content": text})
    said["message"] |= {"model": "claude-opus-4-8", "usage": USAGE}
    said["message"]["content"] += blocks
    return said


def task(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": "Task", "input": {"prompt": PROMPTS[number]}}


def answer(number: int, **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"answer {number}"}
    return {"type": "user", "message": {"role": "user", "content": [block]}, **more}


def of_sub_agent(agent: ClaudeByHand, number: int) -> list[dict[str, Any]]:
    """What one is asked and says, in a row."""
    around = {"isSidechain": True, "sessionId": agent.id_of("s"), "version": "1.0.51"}
    asked, said = str(uuid4()), str(uuid4())
    prompt = {"type": "user", "message": {"role": "user", "content": PROMPTS[number]}}
    return [
        {**prompt, "uuid": asked, "parentUuid": None, **around},
        {**reply(f"found {number}"), "uuid": said, "parentUuid": asked, **around},
    ]


def within(agent: ClaudeByHand) -> list[str]:
    """A session of 1.0 with two sub-agents that spoke in its file at once; their ids."""
    agent._append("s", {"type": "user", "version": "1.0.51", "uuid": "u", "parentUuid": None, **PROMPT})
    agent.hang("s", "u", reply("I ask two.", task(0), task(1)))
    caller = agent.lines("s")[-1]["uuid"]
    both = [of_sub_agent(agent, number) for number in (1, 0)]
    for lines in zip(*both, strict=True):
        for line in lines:
            agent._append("s", line)
    agent.hang("s", caller, answer(0))
    agent.hang("s", agent.lines("s")[-1]["uuid"], answer(1))
    agent.hang("s", agent.lines("s")[-1]["uuid"], reply("Done."))
    return [f"{agent.id_of('s')}/sidechain-{lines[0]['uuid']}" for lines in reversed(both)]


PROMPT = {"message": {"role": "user", "content": "Ask two."}}


def beside(agent: ClaudeByHand) -> list[str]:
    """A session of 2.0 with two sub-agents in files beside its own; their ids."""
    agent.hang("s", None, {"type": "user", **PROMPT})
    agent.hang("s", agent.lines("s")[-1]["uuid"], reply("I ask two.", task(0), task(1)))
    for number in (0, 1):
        lines = "".join(json.dumps(line) + "\n" for line in of_sub_agent(agent, number))
        (agent.project / f"agent-a{number}.jsonl").write_text(lines)
        found = answer(number, toolUseResult={"agentId": f"a{number}"})
        agent.hang("s", agent.lines("s")[-1]["uuid"], found)
    agent.hang("s", agent.lines("s")[-1]["uuid"], reply("Done."))
    return [f"{agent.id_of('s')}/agent-a{number}" for number in (0, 1)]


@pytest.mark.parametrize("write", [within, beside])
def test_sub_agents_of_older_clients_are_sessions_that_calls_lead_to(
    agent: ClaudeByHand, reader: Reader, write: Callable[[ClaudeByHand], list[str]]
) -> None:
    ids, session_id = write(agent), agent.id_of("s")
    for path in agent.project.iterdir():
        os.utime(path, (1_000, 1_000))  # long ago: no more lines of a reply are waited for
    (agent.project / "agent-of-nobody.jsonl").write_text('{"type": "user"}\n')
    assert sorted(newest_ids(reader)) == sorted([session_id, *ids])
    assert {child.id: child.title for child in reader.children([session_id])} == dict(zip(ids, PROMPTS, strict=True))
    rows = reader.live(session_id)
    assert [row.content for row in rows] == ["Ask two.", "I ask two.", "answer 0", "answer 1", "Done."]
    assert [row.sub_agents for row in rows if row.role == "tool"] == [(ids[0],), (ids[1],)]
    for number, each in enumerate(ids):
        assert [row.content for row in reader.live(each)] == [PROMPTS[number], f"found {number}"]
        assert len(reader.raw(each, before=None, limit=9)) == 2
        session = reader.session(each)
        assert (session.parent, session.delegated_from) == (session_id, session_id)
        assert session.first_words == PROMPTS[number]
        facts = reader.listing.sessions([each])[each]
        assert facts.delegated and facts.parent == session_id
        searched = reader.searchable(each, "")
        assert searched is not None
        assert [said.text for said in searched.messages] == [PROMPTS[number], f"found {number}"]
        assert "sub-agent" in str(reader.refusal(each))
    one = reader.usage(ids[0]).cost
    own = reader.usage(session_id).cost
    assert one is not None and own is not None and own.dollars == 2 * one.dollars > 0


def test_a_sub_agents_file_beside_is_found_once_it_says_whose_it_is(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1))
    path = agent.project / "agent-late.jsonl"
    path.touch()
    assert not reader.children([agent.id_of("s")])
    with path.open("a") as file:
        file.write(json.dumps(of_sub_agent(agent, 0)[0]) + "\n")
    assert [child.id for child in reader.children([agent.id_of("s")])] == [f"{agent.id_of('s')}/agent-late"]


def test_what_tells_whether_anything_was_written_reads_no_file(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(1))
    (agent.project / "agent-1234.jsonl").write_text(json.dumps({"sessionId": agent.id_of("s")}) + "\n")
    read = [each.cache_info() for each in (sidechains.in_file, paths._owner)]
    before = version_of(reader.store)
    assert [each.cache_info() for each in (sidechains.in_file, paths._owner)] == read
    for path in agent.project.glob("*.jsonl"):
        path.write_text(path.read_text() + "{}\n")
        before, last = version_of(reader.store), before
        assert before != last, path.name


def test_only_what_a_session_has_can_be_asked_for(agent: ClaudeByHand, reader: Reader) -> None:
    one, session_id = within(agent)[0], agent.id_of("s")
    for wrong in (
        f"{session_id}/sidechain-{uuid4()}",
        f"{session_id}/sidechain-u",
        f"{session_id}/agent-a0",
        f"{one}/x",
    ):
        with pytest.raises(NotFound):
            reader.session(wrong)


# -- one id twice ------------------------------------------------------------------------------------------------------


def test_of_a_session_in_two_directories_the_newest_file_counts_everywhere(agent: ClaudeByHand, reader: Reader) -> None:
    session_id = agent.id_of("s")
    elsewhere = agent.root / "projects" / "-home-user-elsewhere"
    elsewhere.mkdir()
    agent.write("s", talk(1))
    first = agent.project / f"{session_id}.jsonl"
    second = elsewhere / first.name
    second.write_text(first.read_text().replace("request0", "elsewhere0"))
    for newer, older, word in ((first, second, "request0"), (second, first, "elsewhere0")):
        os.utime(older, (1_000, 1_000))
        os.utime(newer, (2_000, 2_000))
        with open_store(reader.store) as fresh:
            assert fresh.session(session_id).first_words.startswith(word)
            assert activity_of(fresh, session_id).first_words.startswith(word)
            assert fresh.listing.sessions([session_id])[session_id].mark.newest == 2_000 * 10**9
            assert len(newest_ids(fresh)) == 1
            searched = fresh.searchable(session_id, "")
            assert searched is not None and searched.messages[0].text.startswith(word)


# -- words that only the queue kept ------------------------------------------------------------------------------------

STEERING = "Steering: the parser first, please."


def queue(agent: ClaudeByHand, operation: str, content: str | None = None) -> None:
    line = {"type": "queue-operation", "operation": operation, "timestamp": "2026-11-18T11:07:01.002Z"}
    agent._append("s", line if content is None else {**line, "content": content})


def begun(agent: ClaudeByHand) -> None:
    agent.hang("s", None, record({"role": "user", "content": "Please start the migration."}))
    answered(agent, "I start.")


def answered(agent: ClaudeByHand, text: str) -> None:
    agent.hang("s", last(agent), record({"role": "assistant", "content": text}))


@pytest.mark.parametrize("content", [STEERING, None])
def test_words_that_only_the_queue_kept_are_the_persons_and_not_sent(
    agent: ClaudeByHand, reader: Reader, content: str | None
) -> None:
    begun(agent)
    queue(agent, "enqueue", STEERING)
    queue(agent, "remove", content)
    answered(agent, "The parser first.")
    os.utime(agent.project / f"{agent.id_of('s')}.jsonl", (1_000, 1_000))
    session_id = agent.id_of("s")
    index = index_of(reader, session_id)
    shown = [item for item in reader.shown(session_id, index.window().items) if isinstance(item, HistoryMessage)]
    assert [item.content for item in shown] == [
        "Please start the migration.",
        "I start.",
        STEERING,
        "The parser first.",
    ]
    assert [item.entry.state for item in shown] == ["live", "live", "lost", "live"]
    assert shown[2].row.role == "user" and len(index.prompts) == 2
    assert STEERING not in [row.content for row in reader.live(session_id)]
    searched = reader.searchable(session_id, "")
    assert searched is not None and STEERING in [message.text for message in searched.messages]
    assert reader.refusal(session_id) is None


def test_words_that_a_request_has_or_that_were_taken_back_are_not_shown_twice(
    agent: ClaudeByHand, reader: Reader
) -> None:
    begun(agent)
    session_id = agent.id_of("s")
    prompt = {"type": "queued_command", "prompt": "as an attachment"}
    queue(agent, "enqueue", "first line\nsecond line")
    queue(agent, "enqueue", "third line")
    queue(agent, "enqueue", "as an attachment")
    queue(agent, "enqueue", "<task-notification>\n<task-id>b</task-id></task-notification>")
    queue(agent, "enqueue", "/mcp")
    assert len(reader.messages(session_id, list(index_of(reader, session_id).ids))) == 5
    for _ in range(5):
        queue(agent, "dequeue")
    agent.hang("s", last(agent), {"type": "attachment", "attachment": prompt})
    agent.hang("s", last(agent), record({"role": "user", "content": "first line\nsecond line\nthird line"}))
    queue(agent, "enqueue", "taken back")
    queue(agent, "popAll")
    agent.hang("s", last(agent), record({"role": "user", "content": "said otherwise"}))
    index = index_of(reader, session_id)
    assert index.unlinked == 0 and len(index.ids) == 5


def last(agent: ClaudeByHand) -> str:
    return str(next(line["uuid"] for line in reversed(agent.lines("s")) if "uuid" in line))
