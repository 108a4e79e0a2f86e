"""Claude Code's own compactions: what their lines say, what long files lose by them, and what no request has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude_code.by_hand import ClaudeByHand, agent, reader, record
from tests.agents.claude_code.recorded import RECORDED
from tests.agents.talk import talk, turn
from viewer.stores.base import Store
from viewer.stores.claude_code.replay import SKIPPED_ABOVE
from viewer.stores.message import Handoff, ReportedCompaction
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.registry import open_store, writer_of

__all__ = ["agent", "reader"]

SUMMARY = {"type": "user", "message": {"role": "user", "content": "What was said."}, "isCompactSummary": True}


def boundary(**facts: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "content": "", "compactMetadata": facts}


def compact(agent: ClaudeByHand, summary: dict[str, Any] | None = None, **facts: Any) -> None:
    """A boundary that keeps nothing, and its summary."""
    agent.hang("s", None, boundary(**facts))
    agent.hang("s", agent.lines("s")[-1]["uuid"], SUMMARY | (summary or {}))


def reported(reader: Reader, session_id: str) -> list[ReportedCompaction | None]:
    index = reader.index(session_id, Recorded(), reader.change_token(session_id))
    return [item.reported for item in reader.shown(session_id, index.boundaries) if isinstance(item, Handoff)]


def said(reader: Reader, session_id: str) -> list[Any]:
    return [row.content for row in reader.live(session_id)]


# -- what is noted -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "summary", "noted"),
    [
        ({"trigger": "auto", "preTokens": 167_094}, {}, ReportedCompaction("auto", 167_094, None, "")),
        ({"trigger": "manual", "preTokens": 9, "postTokens": 5}, {}, ReportedCompaction("manual", 9, 5, "")),
        ({}, {"summarizeMetadata": {"direction": "up_to"}}, ReportedCompaction("", None, None, "up_to")),
        ({"trigger": ["x"], "preTokens": -1, "postTokens": 1e308}, {"summarizeMetadata": "from"}, None),
        ({"trigger": "t" * 1000}, {}, ReportedCompaction("t" * 40, None, None, "")),
    ],
)
def test_what_the_client_notes_of_a_compaction(
    agent: ClaudeByHand, reader: Reader, facts: Any, summary: Any, noted: ReportedCompaction | None
) -> None:
    agent.write("s", talk(1))
    compact(agent, summary, **facts)
    assert reported(reader, agent.id_of("s")) == [noted]


COMPACTED = [
    path
    for path in sorted(RECORDED.iterdir())
    if any(b'"compact_boundary"' in file.read_bytes() for file in path.glob("projects/*/*.jsonl"))
]


@pytest.mark.parametrize("recorded", COMPACTED, ids=lambda path: path.name)
def test_the_real_client_notes_what_started_each(recorded: Path) -> None:
    (session_id,) = [path.stem for path in recorded.glob("projects/*/*.jsonl")]
    with open_store(Store("work", f"claude-code:///{recorded}", "configured")) as reader:
        noted = reported(reader, session_id)
    if recorded.name.endswith("restated"):  # its boundary is a note by now, and its summary stands alone
        assert noted == [None]
    else:
        assert noted and all(each is not None and each.trigger in ("auto", "manual") for each in noted)


# -- long files --------------------------------------------------------------------------------------------------------


NOTHING: dict[str, Any] = {"preservedMessages": {"anchorUuid": None, "uuids": []}}


@pytest.mark.parametrize(("is_long", "facts"), [(False, {}), (True, {}), (True, NOTHING)])
def test_of_a_long_file_nothing_is_read_before_a_boundary_that_keeps_nothing(
    agent: ClaudeByHand, reader: Reader, is_long: bool, facts: dict[str, Any]
) -> None:
    agent.write("s", [{"role": "user", "content": "the first request"}])
    first = agent.lines("s")[-1]["uuid"]
    agent.write("s", [{"role": "user", "content": "the second request"}])
    compact(agent, trigger="auto", **facts)
    filling = {"type": "tag", "tag": "x" * SKIPPED_ABOVE * is_long}
    path = agent.project / f"{agent.id_of('s')}.jsonl"
    with path.open("a") as file:
        file.write(json.dumps({"type": "last-prompt", "leafUuid": first}) + "\n" + json.dumps(filling) + "\n")
    is_cut = is_long and not facts
    assert said(reader, agent.id_of("s")) == (["What was said."] if is_cut else ["the first request"])


def test_a_file_that_grows_long_is_read_as_a_long_one(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", [{"role": "user", "content": "the first request"}])
    session_id, first = agent.id_of("s"), agent.lines("s")[-1]["uuid"]
    compact(agent, trigger="auto")
    path = agent.project / f"{session_id}.jsonl"
    with path.open("a") as file:
        file.write(json.dumps({"type": "last-prompt", "leafUuid": first}) + "\n")
    assert said(reader, session_id) == ["the first request"]
    with path.open("a") as file:
        file.write(json.dumps({"type": "tag", "tag": "x" * SKIPPED_ABOVE}) + "\n")
    assert said(reader, session_id) == ["What was said."]
    agent.hang("s", agent.lines("s")[-3]["uuid"], {"type": "user", "message": {"role": "user", "content": "more"}})
    assert said(reader, session_id) == ["What was said.", "more"]


@pytest.mark.parametrize(("room", "is_refused"), [(5_000, False), (100, True), (0, True)])
def test_no_undo_takes_a_file_over_what_the_client_reads_whole(
    agent: ClaudeByHand, reader: Reader, room: int, is_refused: bool
) -> None:
    agent.write("s", [{"role": "user", "content": "the first request"}])
    agent.hang("s", None, boundary(trigger="auto") | {"logicalParentUuid": agent.lines("s")[-1]["uuid"]})
    agent.hang("s", agent.lines("s")[-1]["uuid"], SUMMARY)
    path = agent.project / f"{agent.id_of('s')}.jsonl"
    with path.open("a") as file:
        filling = {"type": "tag", "tag": ""}
        length = SKIPPED_ABOVE - room - path.stat().st_size - len(json.dumps(filling)) - 1
        file.write(json.dumps(filling | {"tag": "x" * length}) + "\n")
    assert path.stat().st_size == SKIPPED_ABOVE - room
    session = agent.id_of("s")
    index = reader.index(session, Recorded(), reader.change_token(session))
    plan = reader.undo_plan(session, index.boundaries[-1])
    assert ("larger than 5 MB" in plan.refusal, bool(plan.restored)) == (is_refused, not is_refused)
    if not is_refused:
        writer_of(Store("claude", agent.url, "configured")).undo(plan, holder="h")
        assert said(reader, session) == ["the first request"]


# -- what no request has -----------------------------------------------------------------------------------------------


def test_a_call_without_a_result_is_shown_and_not_sent(agent: ClaudeByHand, reader: Reader) -> None:
    session_id, messages = agent.id_of("s"), turn("a")
    agent.write("s", messages[:3])  # a request, two calls, the result of one of them
    called = [call["id"] for call in messages[1]["tool_calls"]]

    def sent() -> list[str]:
        return [call["id"] for row in reader.live(session_id) for call in row.tool_calls]

    def added() -> list[str]:
        return [
            each.name for each in reader.additions(session_id, [row.id for row in reader.live(session_id)], end=True)
        ]

    assert sent() == called and added() == ["results of calls that were not finished"]
    agent.say("s", {"role": "user", "content": "go on"})
    assert sent() == called[:1] and added() == []
    shown = reader.messages(session_id, [row.id for row in reader.live(session_id)])
    assert [call["id"] for row in shown.values() for call in row.tool_calls] == called


def test_of_a_response_the_lines_that_are_kept_are_sent(agent: ClaudeByHand, reader: Reader) -> None:
    """The client's own segments keep one of two parallel calls, where the other one hangs on it."""
    request, calling, *results, reply = turn("a")
    agent.write("s", [request])
    asked = agent.lines("s")[-1]["uuid"]
    uuids = [asked]
    for call in calling["tool_calls"]:  # a line each, of one response
        line = record({**calling, "tool_calls": [call]})
        line["message"] |= {"id": "msg_1", "content": line["message"]["content"][1:]}
        agent.hang("s", uuids[-1], line)
        uuids.append(agent.lines("s")[-1]["uuid"])
    for parent, result in zip(uuids[:0:-1], reversed(results), strict=True):
        agent.hang("s", parent, record(result))
    agent.hang("s", agent.lines("s")[-1]["uuid"], record(reply))
    end = agent.lines("s")[-1]["uuid"]
    assert sum(len(row.tool_calls) for row in reader.live(agent.id_of("s"))) == 2
    agent.hang("s", None, boundary())
    agent.hang("s", agent.lines("s")[-1]["uuid"], SUMMARY)
    lines = agent.lines("s")
    kept = {"headUuid": asked, "anchorUuid": lines[-1]["uuid"], "tailUuid": end}
    lines[-2]["compactMetadata"] = {"preservedSegment": kept}
    path = agent.project / f"{agent.id_of('s')}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    sent = reader.live(agent.id_of("s"))
    assert [row.role for row in sent] == ["user", "user", "assistant", "tool", "assistant"]
    assert [call["id"] for row in sent for call in row.tool_calls] == [calling["tool_calls"][0]["id"]]
    whole = reader.messages(agent.id_of("s"), [row.id for row in sent])
    assert sum(len(row.tool_calls) for row in whole.values()) == 2, "History has both"


def test_a_result_without_its_call_is_not_sent(agent: ClaudeByHand, reader: Reader) -> None:
    messages = turn("a")
    agent.write("s", [messages[0], messages[2], messages[4]])
    assert [row.role for row in reader.live(agent.id_of("s"))] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"preTokens": 90_000, "tokensSaved": 40_000}, "sends: 90,000 tokens before, 40,000 tokens saved."),
        ({"pre_tokens": "many"}, "sends."),
        ([], "sends."),
    ],
)
def test_a_microcompaction_is_a_mark_that_no_model_is_sent(
    agent: ClaudeByHand, reader: Reader, facts: Any, text: str
) -> None:
    session_id = agent.id_of("s")
    agent.write("s", talk(1))
    before = len(reader.live(session_id))
    mark = {"type": "system", "subtype": "microcompact_boundary", "content": "", "microcompactMetadata": facts}
    agent.hang("s", agent.lines("s")[-1]["uuid"], mark)
    agent.say("s", {"role": "user", "content": "go on"})
    assert len(reader.live(session_id)) == before + 1
    index = reader.index(session_id, Recorded(), reader.change_token(session_id))
    assert index.messages == before + 2 and len(index.live) == before + 1 and index.records == 1
    (shown,) = reader.shown(session_id, [index.entry(before)])
    assert not isinstance(shown, Handoff) and str(shown.content).endswith(text)
