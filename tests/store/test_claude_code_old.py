"""Claude Code's older sessions: summaries without a boundary, words that only its queue kept, sub-agents elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.claude_code import ClaudeByHand
from tests.contract.talk import talk
from tests.support.claude_code import agent, reader
from viewer.stores.message import Handoff
from viewer.stores.reader import Reader
from viewer.stores.recorded import Recorded
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
    assert "stands alone" in reader.undo_plan(session_id, boundary).refusal
    assert reader.compact_refusal(session_id) is None


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
