"""A plan and a summary to edits: what is written, what stays, what is refused."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

import compaction
from compaction import Insert, Keep, Message, Policy, Result, Rewrite, SummaryRejected, apply, plan, split
from compaction import messages as m
from compaction.handoff import (
    CURRENT_HEADER,
    END_MARKER,
    MEDIA_STUB,
    MERGE_DELIMITER,
    NOTE,
    PRIOR_HEADER,
    UNANSWERED_STUB,
    handoff_text,
)
from compaction.messages import patched
from tests.compaction.transcripts import (
    SMALL,
    call,
    compacted_by,
    count,
    exchange,
    handoff,
    image,
    reply,
    result,
    system,
    tool_turn,
    user,
    words,
)

BODY = "## Goal\nShip it."


def compacted(messages: list[Message], policy: Policy = SMALL, summary: str = BODY) -> Result:
    before = copy.deepcopy(messages)
    made = apply(plan(messages, policy, count), summary)
    assert messages == before, "the input is never mutated"
    assert [patched_by(messages, edit) for edit in made.edits] == made.messages
    return made


def patched_by(messages: list[Message], edit: Keep | Rewrite | Insert) -> Message:
    if isinstance(edit, Insert):
        return edit.message
    return patched(messages[edit.index], edit.changes if isinstance(edit, Rewrite) else {})


def rewrites(made: Result) -> dict[int, Rewrite]:
    return {edit.index: edit for edit in made.edits if isinstance(edit, Rewrite)}


def merging(last: Message, *more: Message) -> list[Message]:
    """A transcript whose handoff must go into `last`: it leads, and the row before `last` is too large to keep."""
    return [handoff("older"), *exchange(20), reply("long " + words(900)), last, *more]


def merged_at(messages: list[Message], at: int) -> Result:
    """The result if the tail begins with this message and the handoff cannot stand by itself."""
    made = plan(messages, SMALL, count)
    tail = tuple(range(at, len(messages)))
    return apply(replace(made, role=None, head=tuple(i for i in made.head if i < at), tail=tail), BODY)


def test_a_standalone_handoff_between_head_and_tail() -> None:
    messages = exchange(30)
    made = compacted(messages)
    keeps = [edit.index for edit in made.edits if isinstance(edit, Keep)]
    at = next(i for i, edit in enumerate(made.edits) if isinstance(edit, Insert))
    assert keeps[:2] == [0, 1] and at == 2 and keeps[2:] == list(range(keeps[2], 60))
    assert made.messages[2] == {"role": "user", "content": handoff_text(BODY), "_compressed_summary": True}
    assert (made.summary, made.handoff) == (BODY, made.messages[2]["content"])
    assert made.report.kept == tuple(keeps) and made.report.summarised == tuple(range(2, keeps[2]))
    assert not (made.report.repairs or made.report.notes or made.report.shortened)
    assert made.tokens_after < made.tokens_before


def test_unknown_keys_travel_with_the_messages() -> None:
    messages = [{**row, "platform_message_id": i, "reasoning": {"x": 1}} for i, row in enumerate(exchange(30))]
    made = compacted(messages)
    assert made.messages[0] == messages[0] and made.messages[-1] == messages[-1]
    made.messages[-1]["content"] = "changed by the caller"
    assert messages[-1]["content"] != "changed by the caller"


def test_the_system_message_gets_the_note_once() -> None:
    made = compacted([system("Be kind."), *exchange(30)])
    assert rewrites(made)[0].why == "noted"
    assert made.messages[0]["content"] == f"Be kind.\n\n{NOTE}"
    again = compacted([*made.messages, *exchange(10, first=30)])
    assert again.messages[0]["content"] == made.messages[0]["content"] and 0 not in rewrites(again)
    blocks = compacted([system([{"type": "text", "text": "Be kind."}]), *exchange(30)])  # type: ignore[arg-type]
    assert blocks.messages[0]["content"][1] == {"type": "text", "text": NOTE}


def test_a_handoff_merged_into_the_message_to_answer_stands_before_its_text() -> None:
    live = "last question " + words(300)
    messages = merging({**user(live), "api_content": "sent bytes", "extra": 1}, reply("ok"), reply("done"))
    made = merged_at(messages, len(messages) - 3)
    row = made.messages[0]
    assert row == {
        "role": "user",
        "content": f"{handoff_text(BODY)}\n\n{live}",
        "extra": 1,
        "_compressed_summary": True,
    }
    [edit] = rewrites(made).values()
    assert edit.why == "merged" and edit.changes["api_content"] is None and edit.index == len(messages) - 3
    assert not any(isinstance(edit, Insert) for edit in made.edits)
    assert [(p.kind, p.text) for p in split(row["content"])] == [("summary", BODY), ("live", live)]
    assert edit.index in made.report.kept and made.report.notes == (
        f"The summary stands in front of the text of message {edit.index + 1}.",
    )


@pytest.mark.parametrize("kind", ["text", "input_text"])
def test_a_merged_handoff_leads_a_list_in_the_lists_own_dialect(kind: str) -> None:
    live: list[Any] = [{"type": kind, "text": "look " + words(300)}, image()]
    messages = merging(user(live), reply("ok"), reply("done"))
    made = merged_at(messages, len(messages) - 3)
    content = made.messages[0]["content"]
    assert content[0] == {"type": kind, "text": f"{handoff_text(BODY)}\n\n"} and content[1:] == live
    assert split(content)[1].content == live


@pytest.mark.parametrize("live", ["old question " + words(300), [{"type": "input_text", "text": "look " + words(300)}]])
def test_old_text_does_not_stand_behind_the_end_marker_as_if_it_were_new(live: Any) -> None:
    """hermes-agent #56372: a message that was answered is prior context, and the handoff stands behind it."""
    made = compacted(merging(user(live), reply("ok"), user("thanks"), reply("done")))
    row = made.messages[0]
    prior, summary = split(row["content"], flagged=True)
    assert (prior.kind, prior.content) == ("prior", live) and (summary.kind, summary.text) == ("summary", BODY)
    text = row["content"] if isinstance(live, str) else "".join(block["text"] for block in row["content"])
    assert text.startswith(PRIOR_HEADER) and text.endswith(END_MARKER)
    assert m.live_content(row) == live and row["_compressed_summary"] is True
    assert made.report.notes[-1].startswith("The summary stands behind the text of message ")


def test_a_handoff_in_front_of_calls_is_a_message_of_its_own() -> None:
    big = [row for i in range(4) for row in (reply("", f"c{i}"), result(f"c{i}", words(900)))]
    messages = [system(), user("go"), *big, reply(None, "b"), result("b", words(400)), reply("Done.")]
    made = compacted(messages, Policy(context_window=4_000, protect_first_n=2, handoff="hermes"))
    assert [row["role"] for row in made.messages] == ["system", "user", "assistant", "assistant", "tool", "assistant"]
    assert made.messages[2]["content"] == handoff_text(BODY)
    assert made.messages[3:] == messages[-3:]


def test_earlier_handoffs_are_unwrapped_and_only_one_remains() -> None:
    messages = [*exchange(20), handoff("older", live="And now?"), reply("Now this."), handoff("newest"), *exchange(1)]
    messages[40]["api_content"] = "sent bytes"
    made = compacted(messages)
    [edit] = rewrites(made).values()
    assert (edit.index, edit.why) == (40, "unwrapped")
    assert edit.changes == {"content": "And now?", "_compressed_summary": False, "api_content": None}
    assert [row["content"] for row in made.messages if compaction.is_handoff(row)] == [handoff_text(BODY)]
    assert 42 in made.report.summarised


def test_a_prior_first_carrier_is_unwrapped_to_its_own_words() -> None:
    text = f"{PRIOR_HEADER}\nAnd now?\n\n{MERGE_DELIMITER}\n\n{CURRENT_HEADER}\nolder\n\n{END_MARKER}"
    made = compacted([*exchange(20), user(text), reply("Now this.")])
    assert "And now?" in [row["content"] for row in made.messages]


def test_images_before_the_newest_image_of_a_user_become_stubs() -> None:
    def look(text: str) -> Message:
        return user([{"type": "text", "text": text}, image()])

    shot: Message = {"role": "tool", "tool_call_id": "c", "content": [{"type": "input_image", "image_url": "x"}]}
    last = [look("first"), reply("I see.", "c"), shot, reply("A shot."), look("second"), reply("I see."), user("and?")]
    made = compacted([*exchange(30), *last], Policy(context_window=4_000, keep_last=8))
    contents = [row["content"] for row in made.messages[-7:]]
    assert contents[0] == [{"type": "text", "text": "first"}, {"type": "text", "text": MEDIA_STUB}]
    assert contents[2] == [{"type": "input_text", "text": MEDIA_STUB}]
    assert contents[4] == last[4]["content"]
    assert made.report.shortened == (60, 62) and made.report.notes == ("2 earlier images left out.",)
    assert rewrites(made)[60].why == "shortened"


def test_images_inside_tool_results_become_stubs_too() -> None:
    use = {"type": "tool_use", "id": "t", "name": "shot", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "page"}, image()]}
    newest = user([{"type": "text", "text": "look"}, image()])
    last = [reply([use]), user([answer]), reply("A shot."), newest, reply("I see.")]
    made = compacted([*exchange(30), *last], Policy(context_window=4_000, keep_last=5))
    assert made.messages[-4]["content"][0]["content"] == [
        {"type": "text", "text": "page"},
        {"type": "text", "text": MEDIA_STUB},
    ]


def test_tool_groups_stay_whole_and_need_no_repair() -> None:
    messages = [system(), *(row for i in range(30) for row in tool_turn(i, parallel=3))]
    for window in range(2_000, 20_000, 500):
        assert compacted(messages, Policy(context_window=window)).report.repairs == ()


def test_calls_in_flight_at_the_very_end_stay() -> None:
    made = compacted([*exchange(30), user("go"), reply("", "a", "b"), result("a")])
    assert made.messages[-2]["tool_calls"] == [call("a"), call("b")] and made.report.repairs == ()


def test_orphans_inside_the_tail_are_left_out_and_said() -> None:
    orphans = [
        reply("Both.", "a", "b"),
        result("a"),
        user("never mind"),
        reply("", "c"),
        user("stop"),
        result("nowhere"),
        reply("Stopped."),
    ]
    made = compacted([*exchange(30), *orphans], Policy(context_window=4_000, keep_last=7))
    tail = made.messages[-6:]
    assert tail[0]["tool_calls"] == [call("a")] and tail[0]["content"] == "Both."
    assert tail[3] == {"role": "assistant", "content": UNANSWERED_STUB}
    assert [row["role"] for row in tail] == ["assistant", "tool", "user", "assistant", "user", "assistant"]
    assert made.report.repairs == (
        "Message 61: a tool call without a result was left out.",
        "Message 64: a tool call without a result was left out.",
        "Message 66: a tool result without its call was left out.",
    )
    assert 65 in made.report.summarised and {60, 63} == set(made.report.shortened)


def test_orphan_calls_as_json_text_and_orphan_result_blocks() -> None:
    text_calls: Message = {"role": "assistant", "content": "x", "tool_calls": '[{"id":"a"},{"id":"b"}]'}
    blocks = user([{"type": "tool_result", "tool_use_id": "nowhere"}, {"type": "text", "text": "go on"}])
    use = reply([{"type": "tool_use", "id": "t", "name": "f"}, {"type": "text", "text": "Trying."}])
    last = [text_calls, result("b"), user("so?"), use, blocks, reply("Done.")]
    made = compacted([*exchange(30), *last], Policy(context_window=4_000, keep_last=6))
    tail = made.messages[-6:]
    assert tail[0]["tool_calls"] == '[{"id":"b"}]'
    assert tail[3]["content"] == [{"type": "text", "text": "Trying."}]
    assert tail[4]["content"] == [{"type": "text", "text": "go on"}]


@pytest.mark.parametrize(
    ("summary", "code"), [("", "empty"), (" \n", "empty"), (None, "not_text"), (words(5_000), "not_smaller")]
)
def test_a_summary_that_is_none_is_refused(summary: Any, code: str) -> None:
    made = plan(exchange(30), SMALL, count)
    with pytest.raises(SummaryRejected) as caught:
        apply(made, summary)
    assert caught.value.code == code and caught.value.reason.endswith(".")


def test_a_summary_that_repeats_the_markers_is_taken_by_its_body() -> None:
    assert compacted(exchange(30), summary=handoff_text(BODY)).handoff == handoff_text(BODY)
    with pytest.raises(SummaryRejected):
        compacted(exchange(30), summary=handoff_text(""))


def test_compact_is_the_three_in_one() -> None:
    messages = exchange(30)
    made = compacted_by(messages, SMALL, lambda request: BODY, count)
    assert made == apply(plan(messages, SMALL, count), BODY)
