"""The plan: who goes where, and the sentence for each cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from compaction import BadTranscript, Message, NothingToCompact, Policy, apply, plan, pruning
from compaction.handoff import NOTE
from compaction.llm.digest import request_of
from tests.compaction.transcripts import (
    SMALL,
    count,
    exchange,
    handoff,
    reply,
    result,
    system,
    tail_start,
    tool_turn,
    user,
    words,
)

TOOLS = [row for i in range(12) for row in tool_turn(i)]


def refused(messages: Any, policy: Policy = SMALL) -> NothingToCompact:
    with pytest.raises(NothingToCompact) as caught:
        plan(messages, policy, count)
    return caught.value


def test_a_first_compaction_keeps_the_first_exchange_and_the_recent_messages() -> None:
    messages = [system(), *exchange(30)]
    made = plan(messages, SMALL, count)
    assert made.head == (0, 1, 2)
    assert made.middle == tuple(range(3, made.tail[0])) and made.tail[-1] == 60
    assert (made.role, made.lifted, made.previous_summary, made.recompaction) == ("user", (), "", False)
    assert messages[made.tail[0]]["role"] == "assistant"
    assert made.tokens_before == made.head_tokens + made.middle_tokens + made.tail_tokens
    assert made.reasons[0] == "The first 3 messages stay as the start."
    assert "fit the budget of 400 tokens for recent messages" in made.reasons[1]


def test_earlier_handoffs_are_lifted_out_wherever_they_stand() -> None:
    messages = [
        system(),
        handoff("first", "assistant"),
        *exchange(10),
        handoff("second"),
        *exchange(10),
        handoff("third", "assistant"),
        *exchange(1),
    ]
    made = plan(messages, SMALL, count)
    assert made.recompaction and made.head == (0,)
    assert made.lifted == (1, 22, 43)
    assert made.previous_summary == "first\n\nsecond\n\nthird"
    assert not {*made.lifted} & {*made.head, *made.middle, *made.tail}
    assert made.reasons[-1] == (
        "3 earlier summaries of 5 tokens will be folded into the new one, which has room for 200."
    )
    assert made.reasons[0].startswith("Compacted before, so only the system prompt stays")


def test_a_merged_handoff_keeps_its_place_and_gives_its_body() -> None:
    messages = [*exchange(2), handoff("older", live="a question"), *exchange(12)[1:], handoff("newer", live="last one")]
    made = plan(messages, SMALL, count)
    assert made.lifted == ()
    assert 4 in made.middle and made.tail[-1] == len(messages) - 1
    assert made.previous_summary == "older\n\nnewer"


def test_a_leading_handoff_is_a_user_message_and_the_tail_starts_at_an_assistant() -> None:
    messages = [system(), handoff(), *exchange(30)[1:], user("last")]
    made = plan(messages, SMALL, count)
    assert made.head == (0,) and made.role == "user"
    assert messages[made.tail[0]]["role"] == "assistant"


def test_the_cut_moves_back_to_an_assistant_message_when_no_role_fits() -> None:
    messages = [handoff("x", "assistant"), *exchange(30)[1:], user("last")]
    assert messages[tail_start(messages, 0, SMALL)]["role"] == "user"
    made = plan(messages, SMALL, count)
    assert made.role == "user" and messages[made.tail[0]]["role"] == "assistant"
    assert "The cut moved back 1 message so that the summary can stand as a message of its own." in made.reasons


def test_it_is_merged_when_no_better_cut_lies_inside_the_soft_ceiling() -> None:
    messages = [
        handoff(),
        *exchange(20),
        reply("long " + words(900)),
        user("last question " + words(300)),
        reply("ok"),
        user("thanks"),
        reply("so"),
    ]
    made = plan(messages, SMALL, count)
    assert made.role is None and messages[made.tail[0]]["content"].startswith("last question")
    assert made.reasons[-2].startswith("The summary will be in one message with the text of the first recent message")


def test_after_a_tool_result_the_handoff_answers_to_the_next_message() -> None:
    head = [system(), user("go"), reply("", "a"), result("a")]
    at_user = [*head, *exchange(30)]
    made = plan(at_user, Policy(context_window=4_000, keep_last=10), count)
    assert at_user[made.tail[0]]["role"] == "user" and made.role == "assistant"
    made = plan(at_user, Policy(context_window=4_000, keep_last=11), count)
    assert at_user[made.tail[0]]["role"] == "assistant" and made.role == "user"


def test_the_head_takes_whole_groups() -> None:
    made = plan([system(), user("go"), reply("", "a", "b"), result("a"), result("b"), *TOOLS], SMALL, count)
    assert made.head == (0, 1, 2, 3, 4)
    assert "The start grew by 2 messages to keep tool results with their calls." in made.reasons


def test_the_anchors_are_said() -> None:
    quiet = [row for i in range(30) for row in (reply("", f"c{i}"), result(f"c{i}", words(60)))]
    messages = [system(), *exchange(40), user("the task"), reply("On it."), *quiet[:30]]
    made = plan(messages, SMALL, count)
    assert made.head == (0, 1, 2, 81, 82) and made.tail[0] == 83, "its first words stand before the summary"
    assert any("to keep the last user message" in reason for reason in made.reasons)


def test_the_summary_budget_stays_below_what_is_replaced() -> None:
    made = plan([system(), *exchange(30)], SMALL, count)
    assert made.summary_budget == SMALL.summary_limit(made.middle_tokens) == 200
    made = plan([system(), *exchange(12, size=30)], Policy(), count)
    assert 0 < made.summary_budget < made.middle_tokens
    assert made.tokens_after_estimate <= made.tokens_before


@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([], "too_few"),
        ([system(), *exchange(2)], "too_few"),
        ([system(), *exchange(3)], "too_few"),
        ([system(), handoff(), *exchange(2)], "too_few"),  # counted after the head in effect, summaries left out
        ([system(), *exchange(4, size=1)], "too_small"),
    ],
)
def test_too_little_to_compact_is_refused(messages: list[Message], code: str) -> None:
    assert refused(messages, Policy()).code == code


RUN = [row for i in range(30) for row in (reply("", f"c{i}"), result(f"c{i}", words(150)))]
TASK = user("the task")


@pytest.mark.parametrize(
    "before", [[system(NOTE), TASK, reply("On it.")], [system(), handoff(), TASK, reply("On it.")]]
)
def test_a_running_turn_that_is_all_there_is_can_be_summarised_and_pruned(before: list[Message]) -> None:
    messages = [*before, *RUN]
    assert plan(messages, SMALL, count).head == (0, *range(len(before) - 2, len(before)))
    assert len(pruning.plan(messages, SMALL, count).middle) > 20
    assert plan([*messages, user("Something new."), reply("Yes.")], SMALL, count).middle


def test_the_gate_uses_the_head_in_effect() -> None:
    policy = Policy(context_window=4_000, protect_first_n=20)
    assert refused([system(), *exchange(11)], policy).code == "too_few"
    assert plan([system(), handoff(), *exchange(11)], policy, count).head == (0,)


def test_keeping_more_than_there_is_is_refused() -> None:
    refusal = refused([system(), *exchange(20)], Policy(context_window=4_000, keep_last=38))
    assert refusal.code == "keep_last" and "38" in refusal.reason


@pytest.mark.parametrize("messages", [None, 7, "text", ["text"], [None], [system(), ["user", "hi"]], {"role": "user"}])
def test_what_is_not_a_transcript_is_refused(messages: Any) -> None:
    with pytest.raises(BadTranscript) as caught:
        plan(messages, SMALL, count)
    assert caught.value.code == "not_messages" and caught.value.reason.endswith(".")


def test_rows_of_unknown_roles_and_shapes_are_carried_through() -> None:
    odd: list[Message] = [{}, {"role": None}, {"role": "session_meta", "content": 7}, {"content": [None]}]
    made = plan([*exchange(10), *odd, *exchange(10), *odd, *exchange(2)], SMALL, count)
    assert len(made.head) + len(made.middle) + len(made.tail) == 52


def test_a_small_context_is_cut_in_proportion_and_no_size_is_a_cliff() -> None:
    policy = Policy()
    assert [policy.tail_budget_of(n) for n in (0, 10_000, 30_000, 35_000, 44_000, 10**6)] == [
        0, 2_000, 6_000, 11_000, 20_000, 20_000,
    ]  # fmt: skip
    assert policy.full_tail_from == 44_000
    for ratio in (0.10, 0.20, 0.80):
        policy = Policy(context_window=10_000, target_ratio=ratio)
        kept = [policy.tail_budget_of(n) for n in range(policy.full_tail_from + 100)]
        assert all(0 <= b - a <= 1 for a, b in pairwise(kept)), "neither the tail nor the middle ever shrinks"
        assert kept[policy.full_tail_from] == kept[-1] == policy.tail_budget


class Work:
    """A counter that keeps account of what it was asked to count."""

    def __init__(self) -> None:
        self.texts = self.characters = 0

    def __call__(self, text: str) -> int:
        self.texts += 1
        self.characters += len(text)
        return count(text)


@pytest.mark.slow
@pytest.mark.parametrize("size", [40, 40_000])
def test_plan_request_and_apply_count_no_more_of_a_longer_session(size: int) -> None:
    def work(n: int) -> Work:
        done = Work()
        made = plan([system(), *exchange(1), *exchange(n, size=size), *exchange(20)], SMALL, done)
        request_of(made)
        apply(made, "## Goal\nShip it.")
        return done

    short, long = work(30), work(600)
    assert (long.texts, long.characters) == (short.texts, short.characters) and long.characters < 40_000
    done = Work()
    made = plan([system(), *exchange(600)], SMALL, done)
    assert made.tokens_before > 0 and done.texts > 1_200, "the whole is counted when somebody asks for it"


def test_a_message_that_does_not_fit_is_not_counted_to_its_end() -> None:
    done = Work()
    made = plan([*exchange(20), user("long " + words(250_000)), *exchange(20)], SMALL, done)
    assert made.summary_budget == 200 and done.characters < 40_000
    assert made.middle_tokens > 250_000


def test_policy_values_are_clamped_or_refused() -> None:
    assert Policy(target_ratio=0.01).target_ratio == 0.10 and Policy(target_ratio=3).target_ratio == 0.80
    policy = Policy()
    assert (policy.tail_budget, policy.soft_ceiling, policy.fewest_tail) == (20_000, 30_000, 8)
    assert [policy.summary_limit(n) for n in (0, 20_000, 10**6)] == [2_000, 4_000, 10_000]
    assert Policy(context_window=1_000_000).summary_limit(10**6) == 12_000
    assert Policy(protect_last_n=1).fewest_tail == 3 and Policy(protect_last_n=5).fewest_tail == 5
    for wrong in ({"context_window": 0}, {"threshold": 0}, {"protect_first_n": -1}, {"keep_last": -1}):
        with pytest.raises(ValueError, match="must"):
            Policy(**wrong)  # type: ignore[arg-type]
