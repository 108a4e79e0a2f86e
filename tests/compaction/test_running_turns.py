"""Agents that work for hours: one request, hundreds of calls. The request stays, the cut goes inside its turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compaction
from compaction import Insert, Message, NothingToCompact, Policy, Result, counter_for, offline, pruning, strategy
from compaction import messages as m
from compaction.handoff import is_handoff
from compaction.tokens import message_tokens
from compaction.tool_groups import loose_ends
from tests.compaction.transcripts import compacted_by, exchange, handoff, image, reply, result, system, user, words

WINDOW = Policy(context_window=128_000)
TOKENS = counter_for("gpt-5")
REQUEST = "Port the billing module to PostgreSQL and run every test until all are green."


def steps(n: int, size: int = 400, first: int = 0) -> list[Message]:
    """Silent steps of a coding agent: a call and its output."""
    return [
        row
        for i in range(first, first + n)
        for row in (reply("", f"c{i}"), result(f"c{i}", f"step {i} " + words(size)))
    ]


def compacted(messages: list[Message], policy: Policy = WINDOW) -> Result:
    made = compacted_by(messages, policy, offline.summarize, TOKENS)
    loose = loose_ends(made.messages)
    assert not loose.calls and not loose.results and not made.report.repairs
    return made


def handoff_at(rows: list[Message]) -> int:
    [at] = [i for i, row in enumerate(rows) if is_handoff(row)]
    return at


CHAT_THEN_WORK = [*exchange(8, size=60), user(REQUEST), *steps(300)]
WORK_GONE_ON = [user(REQUEST), {**handoff("## Goal\n- Port billing."), "role": "assistant"}, *steps(300)]
ONLY_WORK = [system(), user(REQUEST), *steps(300)]


@pytest.mark.parametrize("messages", [CHAT_THEN_WORK, WORK_GONE_ON], ids=["chat, then work", "compacted, and gone on"])
def test_a_long_running_turn_is_compacted_and_its_request_stands_before_the_handoff(messages: list[Message]) -> None:
    made = compacted(messages)
    assert made.tokens_before > 120_000 and made.tokens_after < 20_000
    at = handoff_at(made.messages)
    assert made.messages[at - 1] == user(REQUEST) and isinstance(made.edits[at], Insert)
    assert m.calls(made.messages[at + 1]), "the tail begins at a tool group"
    assert made.messages[at + 1 :] == messages[-len(made.messages) + at + 1 :]
    assert any("directly before the summary" in reason for reason in made.plan.reasons)


@pytest.mark.slow
def test_ten_in_a_row_while_the_turn_runs_keep_the_request_and_let_nothing_pile_up() -> None:
    messages, before = CHAT_THEN_WORK, []
    for n in range(10):
        made = compacted(messages)
        at = handoff_at(made.messages)
        assert made.messages[at - 1] == user(REQUEST) and made.tokens_after < 20_000
        before.append(at)
        messages = [*made.messages, *steps(150, first=1_000 * (n + 1))]
    assert set(before[1:]) == {3}, "the request, and the last exchange before it; the start is kept only once"
    newer = compacted([*messages, reply("All green."), user("Now the docs."), *steps(9, first=20_000)])
    assert not any(REQUEST in m.text(row.get("content")) for row in newer.messages if not is_handoff(row))


def test_the_last_reply_of_a_silent_agent_stays_beside_the_request_in_its_order() -> None:
    made = compacted(CHAT_THEN_WORK)
    at = handoff_at(made.messages)
    texts = [row["content"] for row in made.messages[at - 3 : at]]
    assert texts == [row["content"] for row in CHAT_THEN_WORK[14:17]]
    spoken = [user(REQUEST), *steps(3), reply("I begin with the schema."), *steps(300, first=10)]
    made = compacted([*exchange(8), *spoken])
    at = handoff_at(made.messages)
    assert [row["content"] for row in made.messages[at - 2 : at]] == [REQUEST, "I begin with the schema."]
    assert made.messages[at]["role"] == "user"


def test_a_held_reply_keeps_its_results_or_loses_its_calls() -> None:
    for size, roles in ((20, ["user", "assistant", "tool"]), (20_000, ["user", "assistant"])):
        said = [reply("Let me look.", "x"), result("x", words(size))]
        messages = [*exchange(8), user(REQUEST), *said, *steps(300)]
        made = compacted_by(messages, WINDOW, offline.summarize, TOKENS)
        at = handoff_at(made.messages)
        assert [row["role"] for row in made.messages[2:at]] == roles
        assert made.messages[3]["content"] == "Let me look." and not loose_ends(made.messages).calls
        said_so = any("without its calls" in reason for reason in made.plan.reasons)
        assert said_so == (size > 20), "the plan says what of it goes"


def test_a_context_is_never_led_by_a_reply() -> None:
    messages = [handoff("Before."), reply("Hello, I am ready."), user(REQUEST), *steps(300)]
    made = compacted(messages)
    assert [row["role"] for row in made.messages[:3]] == ["user", "assistant", "assistant"]
    assert made.messages[0] == user(REQUEST)
    assert "The last reply a person can read is far back: it goes into the summary." in made.plan.reasons


@pytest.mark.parametrize("start", [[], [system()], [handoff("Task 7 of the board.")]])
def test_a_session_without_any_user_message_compacts_again_and_again(start: list[Message]) -> None:
    messages = [*start, *steps(300)]
    for n in range(5):
        made = compacted(messages)
        at = handoff_at(made.messages)
        assert made.messages[at]["role"] == "user"
        assert not [row for row in made.messages[:at] if row["role"] == "user"]
        messages = [*made.messages, *steps(150, first=1_000 * (n + 1))]


def test_a_worker_keeps_its_one_request_on_every_recompaction() -> None:
    messages = ONLY_WORK
    for n in range(4):
        made = compacted(messages)
        assert user(REQUEST) in made.messages[: handoff_at(made.messages)]
        messages = [*made.messages, *steps(300, first=1_000 * (n + 1))]


def test_a_last_turn_beyond_the_soft_ceiling_is_not_merged_behind_the_summary() -> None:
    """45,021 tokens, 25,000 of them the last turn: August's Hermes takes a merged row wholly for a summary."""
    for first in ([], [handoff("Before.")]):
        for said in ([], [reply("I look at the schema first.", "s"), result("s", words(400))]):
            messages = [*first, *exchange(10, size=900), user(REQUEST), *said, *steps(20, size=1_200)]
            made = compacted(messages)
            at = handoff_at(made.messages)
            request = made.messages.index(user(REQUEST))
            assert request == (at - 1 if said else at + 2), "directly before the handoff, or behind the last reply"
            assert made.messages[request + 1 :][-40:] == messages[-40:], "what the turn did fits, and stays whole"


def test_a_turn_that_fits_stays_whole() -> None:
    messages = [*exchange(300, size=60), user(REQUEST), *steps(20)]
    made = compacted(messages)
    assert made.messages[-42:] == messages[-42:]


def test_notices_of_the_agent_are_no_request() -> None:
    notice = user("[System: the background process ended]")
    messages = [*exchange(8), user(REQUEST), *steps(150), notice, *steps(150, first=500)]
    made = compacted(messages)
    assert made.messages[handoff_at(made.messages) - 1] == user(REQUEST)


def test_the_newest_three_always_stay_and_eight_small_ones_beyond_the_budget() -> None:
    big = [reply("", "a", "b"), result("a", words(40_000)), result("b", words(40_000))]
    made = compacted([*exchange(200, size=100), *big])
    assert made.messages[-3:] == big
    small = [row for i in range(4) for row in (user(f"small {i}"), reply(f"ok {i}"))]
    made = compacted([*exchange(200, size=100), *small[:1], reply(words(30_000)), *small[1:]])
    assert made.messages[-7:] == small[1:], "eight, of which the large one is the first"
    assert len(compaction.plan([*exchange(200, size=100), user(words(20_000)), *small], WINDOW, TOKENS).tail) >= 8


def test_what_would_win_less_than_a_tenth_is_not_offered() -> None:
    messages = [*exchange(2, size=20), *exchange(6, size=20), *exchange(1, size=3_000)]
    with pytest.raises(NothingToCompact) as caught:
        compaction.plan(messages, WINDOW, TOKENS)
    assert caught.value.code == "too_small"
    for n in (6, 9, 12, 20, 40):
        plan = compaction.plan(exchange(n, size=60), WINDOW, TOKENS)
        made = compaction.apply(plan, "x " * (plan.summary_budget - 1))
        assert made.tokens_after <= 0.9 * made.tokens_before


def test_an_image_in_the_request_stays() -> None:
    asked = user([{"type": "text", "text": REQUEST}, image()])
    made = compacted([*exchange(8), asked, *steps(300)])
    assert made.messages[handoff_at(made.messages) - 1] == asked


def test_a_refusal_names_the_strategy_that_helps() -> None:
    messages = [user(REQUEST), *steps(8, size=3_000), reply("", "z"), result("z", words(30))]
    with pytest.raises(NothingToCompact) as caught:
        strategy.STRATEGIES["summary"].plan(messages, Policy(context_window=1_000_000, keep_last=16), TOKENS)
    assert caught.value.instead == "" and "Shortening" not in caught.value.reason, "what is asked to stay, stays"
    chat = [user("Look at the log."), reply("", "a"), result("a", words(4_000)), *exchange(6, size=10)]
    with pytest.raises(NothingToCompact) as caught:
        strategy.STRATEGIES["summary"].plan(chat, WINDOW, TOKENS)
    assert caught.value.code == "too_small" and caught.value.instead == "prune"
    won = chat_tokens(chat) - pruning.compact(chat, WINDOW, TOKENS).tokens_after
    assert f"Shortening old tool output would win {won:,} tokens." in caught.value.reason
    with pytest.raises(NothingToCompact) as caught:
        strategy.STRATEGIES["summary"].plan(chat, replace(WINDOW, can_prune=False), TOKENS)
    assert caught.value.instead == "" and "Shortening" not in caught.value.reason


def chat_tokens(messages: list[Message]) -> int:
    return sum(message_tokens(row, TOKENS) for row in messages)


@pytest.mark.parametrize("first", [[user("One.")], [user("One."), user("Two.")], [system(), user("One.")]])
@pytest.mark.parametrize("protected", [1, 2, 3, 4])
def test_the_request_that_is_held_makes_no_new_pair_of_user_rows(first: list[Message], protected: int) -> None:
    looked = [reply("", "look"), result("look", words(4_000))]
    calls = [row for n in range(80) for row in (reply("", f"c{n}"), result(f"c{n}", words(160)))]
    messages = [*first, *looked, user(REQUEST), *calls]
    policy = Policy(context_window=16_000, protect_first_n=protected)
    plan = compaction.plan(messages, policy, counter_for("gpt-5"))
    made = compaction.apply(plan, "Short.")
    assert REQUEST in [m.text(row.get("content")) for row in made.messages], "it stays, word for word"
    assert _user_pairs(made.messages) <= _user_pairs(messages)


def _user_pairs(messages: list[Message]) -> int:
    roles = [m.role(row) for row in messages]
    return sum(one == other == "user" for one, other in zip(roles, roles[1:], strict=False))
