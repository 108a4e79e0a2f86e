"""What Claude Code does not write today is read and shown, and nothing is written behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.agents.claude_code.by_hand import ClaudeByHand, agent, reader, record
from tests.agents.claude_code.recorded import RECORDED
from tests.agents.talk import talk
from tests.listed import newest_ids
from viewer.stores.base import Store
from viewer.stores.errors import StoreReadOnly
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
from viewer.stores.registry import open_store, writer_of

__all__ = ["agent", "reader"]

Line = dict[str, Any]
BOUNDARY, SUMMARY = "0199c0de-1111-4222-8333-444455556666", "0199c0de-1111-4222-8333-444455557777"


def end(agent: ClaudeByHand) -> str:
    """The last record of the session "s"."""
    return str(next(line["uuid"] for line in reversed(agent.lines("s")) if "uuid" in line))


def hang(agent: ClaudeByHand, line: Line) -> None:
    """Put a line behind the end, and let the talk go on behind it."""
    agent.hang("s", end(agent), line)
    agent.hang("s", end(agent), record({"role": "user", "content": "and on"}))


def boundary(agent: ClaudeByHand, subtype: str = "compact_boundary", **metadata: Any) -> None:
    """A compaction as the client writes it, and a request behind its summary."""
    kept = [line["uuid"] for line in agent.lines("s") if "uuid" in line][-2:]
    lines: list[Line] = [
        {
            "type": "system", "subtype": subtype, "content": "Conversation compacted", "uuid": BOUNDARY,
            "parentUuid": None, "logicalParentUuid": kept[-1],
            "compactMetadata": metadata or {"preservedMessages": {"anchorUuid": SUMMARY, "uuids": kept}},
        },
        {
            "type": "user", "message": {"role": "user", "content": "Summary."}, "isCompactSummary": True,
            "uuid": SUMMARY, "parentUuid": BOUNDARY,
        },
    ]  # fmt: skip
    for line in lines:
        agent._append("s", line)
    agent.hang("s", kept[-1], record({"role": "user", "content": "and on"}))


UNKNOWN: dict[str, tuple[Callable[[ClaudeByHand], None], str]] = {
    "a type in the chain": (
        lambda agent: hang(agent, {"type": "context_reset"}), "a record of the type “context_reset”"
    ),
    "a type behind the end": (
        lambda agent: agent.hang("s", end(agent), {"type": "context_reset"}), "a record of the type “context_reset”"
    ),
    "no type": (lambda agent: hang(agent, {"type": None}), "a record of the type that is not named"),
    "a message that is none": (
        lambda agent: hang(agent, {"type": "user", "message": ["x"]}), "a record of the type “user” without a message"
    ),
    "a content that is none": (
        lambda agent: hang(agent, {"type": "assistant", "message": {"content": 7}}),
        "a record of the type “assistant” without a message",
    ),
    "another boundary": (lambda agent: boundary(agent, "compact_boundary_v2"), "a boundary “compact_boundary_v2”"),
    "another boundary by what it has": (lambda agent: boundary(agent, "fold"), "a boundary “fold”"),
    "kept by another name": (
        lambda agent: boundary(agent, keptMessages={"uuids": [SUMMARY]}), "a compaction with “keptMessages”"
    ),
    "kept in another shape": (
        lambda agent: boundary(agent, preservedMessages=[SUMMARY]),
        "a compaction with “preservedMessages.preservedMessages”",
    ),
    "kept, and more": (
        lambda agent: boundary(agent, preservedMessages={"anchorUuid": SUMMARY, "uuids": [], "foldedUuids": [SUMMARY]}),
        "a compaction with “preservedMessages.foldedUuids”",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNKNOWN)
def test_a_session_in_a_form_that_is_not_known_is_read_and_not_written(
    agent: ClaudeByHand, reader: Reader, case: str
) -> None:
    write, what = UNKNOWN[case]
    agent.write("s", talk(12))
    write(agent)
    session_id, before = agent.id_of("s"), agent.rows()
    assert reader.live(session_id) and reader.raw(session_id, before=None, limit=5)
    refused = reader.refusal(session_id)
    said = (
        f"This session has {what}, which is not known here; what Claude Code sends because of it is not known either."
    )
    assert refused is not None and refused.message == f"{said} It can be read, and is not changed."
    writer = writer_of(reader.store)
    assert reader.refusal(session_id, "branch") is not None
    with pytest.raises(StoreReadOnly, match="not known here"):
        writer.apply(session_id, reader.basis(session_id).token, [], mode="in_place", holder="me", now=0.0)
    with pytest.raises(StoreReadOnly, match="not known here"):
        writer.rename(session_id, "a name")
    for each in reader.index(session_id, Recorded(), reader.change_token(session_id)).compactions:
        plan = reader.undo_plan(session_id, each)
        with pytest.raises(StoreReadOnly, match="not known here"):
            writer.undo(plan, holder="me")
    assert agent.rows() == before


def test_what_was_left_out_of_the_context_refuses_nothing_and_an_undo_that_brings_it_back_does(
    agent: ClaudeByHand, reader: Reader
) -> None:
    agent.write("s", talk(6))
    agent.hang("s", end(agent), {"type": "user", "message": 7})
    for message in talk(6):
        agent.say("s", message)
    session_id = agent.id_of("s")
    assert reader.refusal(session_id) is not None
    boundary(agent)
    assert reader.refusal(session_id) is None
    (made,) = reader.index(session_id, Recorded(), reader.change_token(session_id)).compactions
    assert "not known here" in reader.undo_plan(session_id, made).refusal


def test_beside_the_way_and_in_lines_without_an_id_anything_may_stand(agent: ClaudeByHand, reader: Reader) -> None:
    agent.write("s", talk(2))
    early = next(line["uuid"] for line in agent.lines("s") if "uuid" in line)
    agent._append("s", {"type": "a-new-note", "about": early})
    hang(agent, {"type": "attachment", "attachment": {"type": "a_new_attachment"}})
    hang(agent, {"type": "system", "subtype": "a_new_note"})
    boundary(agent, trigger="auto", somethingCounted=7)
    agent.hang("s", "a record that is not there", {"type": "a-new-record"})
    assert reader.refusal(agent.id_of("s")) is None


@pytest.mark.parametrize("recorded", sorted(RECORDED.glob("*/")), ids=lambda path: path.name)
def test_all_that_the_clients_wrote_is_known(recorded: Any) -> None:
    with open_store(Store("work", f"claude-code:///{recorded}", "configured")) as found:
        for session_id in newest_ids(found):
            refused = found.refusal(session_id)
            assert refused is None or "sub-agent" in refused.message
