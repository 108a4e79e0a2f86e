"""Where the head ends and where the tail starts, on concrete transcripts."""

from __future__ import annotations

import pytest

from compaction import Message, Policy
from compaction.handoff import NOTE_SENTENCE
from compaction.planning.boundaries import align_end, align_start, anchor_last_reply, anchor_last_user, head_size
from tests.compaction.transcripts import (
    SMALL,
    count,
    exchange,
    handoff,
    image,
    reply,
    result,
    system,
    tail_start,
    tool_turn,
    user,
    words,
)

NOTE_TEXT = f"Be kind. [Note: Some {NOTE_SENTENCE} to save space.]"


# --- head ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("messages", "protect", "size"),
    [
        ([system(), *exchange(9)], 3, 3),
        (exchange(9), 3, 2),  # the system prompt is kept beside the rows and counts
        ([system(), *exchange(9)], 0, 1),  # the system prompt always stays
        (exchange(9), 0, 0),
        (exchange(9), 1, 0),
        ([system()], 3, 1),
        ([], 3, 0),
        ([{"role": "developer", "content": "x"}, *exchange(9)], 2, 2),
    ],
)
def test_the_head_counts_the_system_prompt_wherever_it_is(messages: list[Message], protect: int, size: int) -> None:
    assert head_size(messages, Policy(protect_first_n=protect)) == size


@pytest.mark.parametrize(
    ("messages", "size"),
    [
        ([system(NOTE_TEXT), *exchange(9)], 1),
        ([system(NOTE_TEXT.upper()), *exchange(9)], 1),
        ([{"role": "system", "content": [{"type": "text", "text": NOTE_TEXT}]}, *exchange(9)], 1),
        ([system(), *exchange(2), handoff(), *exchange(9)], 1),
        ([*exchange(2), handoff(role="assistant"), *exchange(9)], 0),
        ([*exchange(9), handoff(live="And then?"), reply("Yes.")], 0),
        ([*exchange(9), {"role": "user", "content": "no header", "_compressed_summary": 1}], 0),
        ([system(), user(NOTE_TEXT), *exchange(9)], 3),  # only a system message 0 counts
        ([{"role": "system", "content": None}, *exchange(9)], 3),
        ([{"role": "system", "content": [None, 3, {"text": 4}]}, *exchange(9)], 3),
    ],
)
def test_a_recompaction_shrinks_the_head_to_the_system_prompt(messages: list[Message], size: int) -> None:
    policy = Policy(protect_first_n=3)
    assert head_size(messages, policy) == size
    assert policy.protect_first_n == 3


def test_the_head_takes_the_results_of_its_calls_along() -> None:
    messages = [system(), user("go"), reply("", "a", "b"), result("a"), result("b"), reply("Done."), user("more")]
    assert align_start(messages, 3) == align_start(messages, 4) == 5
    assert align_start(messages, 2) == 2


def test_the_head_takes_rows_between_a_call_and_its_result_along() -> None:
    messages = [reply("", "a", "b"), result("a"), user("hurry"), result("b"), user("and?"), reply("Done.")]
    assert align_start(messages, 1) == 4


def test_the_head_does_not_run_after_a_call_nobody_answers() -> None:
    messages = [reply("", "a"), user("never mind"), user("next"), reply("", "a"), result("a")]
    assert align_start(messages, 1) == 1


# --- alignment of the tail -------------------------------------------------------------------------------------------
PARALLEL = [user("go"), reply("", "a", "b", "c"), result("a"), result("b"), result("c"), reply("Done."), user("bye")]


@pytest.mark.parametrize(
    ("index", "aligned"), [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1), (5, 5), (6, 6), (7, 7), (99, 7), (-3, 0)]
)
def test_a_cut_anywhere_inside_a_group_moves_before_its_assistant(index: int, aligned: int) -> None:
    assert align_end(PARALLEL, index) == aligned


def test_only_the_nearest_parent_is_taken_when_ids_repeat() -> None:
    group = [reply("", "call_1"), result("call_1")]
    messages = [user("one"), *group, user("two"), *group, user("three"), *group]
    assert align_end(messages, 8) == 7
    assert align_end(messages, 5) == 4


def test_a_complete_group_between_a_call_and_its_late_result_is_passed_over() -> None:
    messages = [reply("", "x"), reply("", "x"), result("x"), user("wait"), result("x")]
    assert align_end(messages, 4) == 0


def test_a_group_that_is_taken_along_takes_along_what_reaches_into_it() -> None:
    assert align_end([reply("", "a"), reply("", "b"), result("a"), result("b")], 3) == 0


def test_an_interjection_does_not_part_a_result_from_its_call() -> None:
    messages = [user("go"), reply("", "a", "b"), result("a"), user("hurry"), result("b"), reply("Done.")]
    assert align_end(messages, 3) == align_end(messages, 4) == 1


def test_a_result_without_an_id_belongs_to_the_call_directly_before() -> None:
    bare = {"role": "tool", "content": "x"}
    messages = [reply("", "a"), result("a"), reply("", "b", "c"), bare, bare, user("next")]
    assert align_end(messages, 4) == align_end(messages, 3) == 2
    assert align_end([user("go"), bare, bare], 2) == 2  # no call at all: nothing to move to


def test_responses_and_anthropic_groups_are_groups() -> None:
    responses = [user("go"), {"role": "assistant", "tool_calls": [{"id": "fc", "call_id": "c"}]}, result("c")]
    assert align_end(responses, 2) == 1
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    anthropic = [user("go"), reply([use]), user([{"type": "tool_result", "tool_use_id": "t", "content": "x"}])]
    assert align_end(anthropic, 2) == 1


def test_the_cut_never_moves_into_the_head() -> None:
    assert align_end(PARALLEL, 3, head_end=2) == 3
    assert align_end(PARALLEL, 0, head_end=2) == 2


# --- anchors ---------------------------------------------------------------------------------------------------------
def test_the_last_user_message_is_anchored_and_a_handoff_is_none() -> None:
    messages = [system(), user("one"), reply("1"), user("two"), reply("2"), handoff(), reply("3"), reply("4")]
    assert anchor_last_user(messages, 6, 1) == 3
    assert anchor_last_user(messages, 2, 1) == 2  # only ever backward
    assert anchor_last_user(messages, 6, 4) == 6  # never into the head


def test_a_notice_in_the_name_of_the_user_is_not_anchored() -> None:
    notice = user("<task-notification>\ndone\n</task-notification>\nRead the output file to retrieve the result: /a")
    messages = [system(), user("one"), reply("1"), user("two"), reply("2"), notice, reply("3"), reply("4")]
    assert anchor_last_user(messages, 6, 1) == 3
    assert anchor_last_user([system(), notice, reply("1"), reply("2")], 3, 1) == 1, "where nobody typed anything"


def test_live_text_merged_into_a_handoff_is_a_user_message() -> None:
    messages = [user("one"), reply("1"), handoff(live="two"), reply("2"), reply("3")]
    assert anchor_last_user(messages, 4, 0) == 2


def test_the_agents_own_notices_are_user_messages_only_if_there_is_nothing_else() -> None:
    notice = user("[System: the background process ended]")
    assert anchor_last_user([user("one"), reply("1"), notice, reply("2")], 3, 0) == 0
    assert anchor_last_user([reply("1"), notice, reply("2")], 2, 0) == 1


def test_the_last_reply_a_person_could_read_is_anchored() -> None:
    messages = [user("go"), reply("I see."), reply("", "a"), result("a"), reply("  ", "b"), result("b"), user("ok")]
    assert anchor_last_reply(messages, 6, 0) == 1
    assert anchor_last_reply(messages, 6, 2) == 6


def test_without_any_readable_reply_the_last_assistant_message_is_anchored() -> None:
    messages = [user("go"), reply("", "a"), result("a"), reply("", "b"), result("b"), user("ok")]
    assert anchor_last_reply(messages, 5, 0) == 3
    assert anchor_last_reply([user("go"), handoff(role="assistant"), user("ok")], 2, 0) == 2


def test_an_anchor_inside_a_group_takes_the_group_along() -> None:
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    answer = user([{"type": "tool_result", "tool_use_id": "t", "content": "x"}, {"type": "text", "text": "go on"}])
    assert anchor_last_user([user("go"), reply([use]), answer, reply("a"), reply("b")], 4, 0) == 1


# --- the tail as a whole ---------------------------------------------------------------------------------------------
def test_the_tail_is_filled_to_its_budget() -> None:
    messages = exchange(40)  # about 47 tokens a message, budget 400
    start = tail_start(messages, 2, SMALL)
    assert len(messages) - start == 8


def test_a_few_messages_stay_beyond_the_budget_but_inside_the_soft_ceiling() -> None:
    messages = exchange(40, size=60)  # 8 messages are more than 400 tokens and less than 600
    assert len(messages) - tail_start(messages, 2, SMALL) == 8
    larger = exchange(40, size=120)
    assert len(larger) - tail_start(larger, 2, SMALL) == 4
    few = Policy(context_window=4_000, protect_last_n=0)
    assert len(messages) - tail_start(messages, 2, few) == 5


def test_the_last_message_stays_however_large() -> None:
    messages = [*exchange(20), user("big " + words(5_000))]
    start = tail_start(messages, 2, SMALL)
    assert start == len(messages) - 3  # the newest three


def test_keep_last_is_a_floor_without_a_ceiling() -> None:
    messages = exchange(40, size=100)
    asked = Policy(context_window=4_000, keep_last=30)
    assert len(messages) - tail_start(messages, 2, asked) == 30
    assert len(messages) - tail_start(messages, 2, Policy(context_window=4_000, keep_last=1)) >= 4


def test_a_transcript_inside_the_soft_ceiling_still_gets_a_useful_cut() -> None:
    messages = [system(), *exchange(20)]
    start = tail_start(messages, 3, Policy())
    assert len(messages) - start == 8
    assert tail_start([system(), *exchange(5)], 3, Policy()) == 7


def test_an_image_takes_its_place_in_the_tail() -> None:
    messages = [*exchange(20), user([{"type": "text", "text": "look"}, image()]), reply("I see.")]
    assert tail_start(messages, 2, SMALL) == len(messages) - 3


def test_earlier_handoffs_take_no_room_in_the_tail() -> None:
    for window in (4_000, 200_000):
        plain = tail_start([*exchange(20), *exchange(2)], 2, Policy(context_window=window))
        messages = [*exchange(20), handoff(words(40_000)), *exchange(2)]
        assert tail_start(messages, 2, Policy(context_window=window)) == plain == 36


def test_tool_groups_stay_whole_at_the_cut() -> None:
    messages = [row for i in range(30) for row in tool_turn(i, parallel=3)]
    for window in range(1_000, 6_000, 250):
        start = tail_start(messages, 2, Policy(context_window=window))
        assert messages[start]["role"] != "tool"


def test_the_cost_grows_with_the_tail_and_not_with_the_session() -> None:
    def counted(n: int) -> int:
        texts = 0

        def counting(text: str) -> int:
            nonlocal texts
            texts += 1
            return count(text)

        tail_start(exchange(n), 2, SMALL, counting)
        return texts

    assert counted(100) == counted(1_000) < 20
