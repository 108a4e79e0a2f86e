"""The workspace's rules behind a summary: in the handoff, in the budget, and never twice."""

from __future__ import annotations

import pytest

import compaction
from compaction import Policy, pruning
from compaction.handoff import (
    END_MARKER,
    FLAG,
    RULES_CLOSE,
    RULES_OPEN,
    handoff_text,
    rules_block,
    rules_in,
    with_rules,
    without_rules,
)
from compaction.tokens import message_tokens
from tests.compaction.transcripts import count, exchange, system

RULES = "## Session Startup\nRead SOUL.md and memory/YYYY-MM-DD.md.\n\n## Red Lines\nNever push to main."
OPEN, CLOSE = RULES_OPEN, RULES_CLOSE
BLOCK = f"{OPEN}\n{RULES}\n{CLOSE}"
OTHER = "## Red Lines\nAsk before you send."


def talk(messages: int) -> list[compaction.Message]:
    """A system prompt and so many messages of 200 words."""
    return [system(), *exchange(messages, 200)]


def compacted(messages: list[compaction.Message], carried: str, summary: str = "## Goal\nGo on.") -> compaction.Result:
    return compaction.apply(compaction.plan(messages, Policy(rules=carried), count), summary)


def handoffs(messages: list[compaction.Message]) -> list[str]:
    return [str(message["content"]) for message in messages if compaction.is_handoff(message)]


def test_they_are_the_last_thing_inside_the_end_marker() -> None:
    result = compacted(talk(40), RULES)
    assert handoffs(result.messages) == [result.handoff]
    assert result.handoff.endswith(f"Go on.\n\n{BLOCK}\n\n{END_MARKER}")
    assert result.summary == "## Goal\nGo on."
    (part,) = compaction.split(result.handoff)
    assert rules_in(part.text) == RULES


def test_without_rules_there_is_no_block() -> None:
    assert OPEN not in compacted(talk(40), "").handoff


def test_merged_with_a_message_its_own_words_stay_outside() -> None:
    messages = [{"role": ("user", "assistant")[i % 2], "content": f"{i} {'word ' * 300}"} for i in range(40)]
    messages[-20:] = [{"role": "user", "content": f"live {i} {'word ' * 300}"} for i in range(20)]
    result = compacted(messages, RULES)
    (handoff,) = handoffs(result.messages)
    summary, *live = compaction.split(handoff)
    assert rules_in(summary.text) == RULES
    assert all(RULES not in part.text for part in live)


@pytest.mark.parametrize("then", [RULES, OTHER, ""])
def test_a_recompaction_replaces_them(then: str) -> None:
    first = compacted(talk(40), RULES)
    plan = compaction.plan([*first.messages, *talk(40)[1:]], Policy(rules=then), count)
    assert plan.previous_summary == "## Goal\nGo on.", "what is folded into the next summary has no rules"
    again = compaction.apply(plan, "## Goal\nStill.")
    text = "\n".join(str(message.get("content")) for message in again.messages)
    assert text.count(OPEN) == bool(then)
    assert rules_in(compaction.split(again.handoff)[0].text) == then


def test_a_summary_that_repeats_a_block_does_not_stack_it() -> None:
    summary = f"## Goal\nGo on.\n\n{OPEN}\nold\n{CLOSE}"
    for text in (summary, handoff_text(summary)):
        result = compacted(talk(40), RULES, text)
        assert result.summary == "## Goal\nGo on."
        assert result.handoff.count(OPEN) == 1
    with pytest.raises(compaction.SummaryRejected):
        compacted(talk(40), RULES, BLOCK)


def test_the_plan_counts_them_beside_the_summary() -> None:
    messages = talk(40)
    bare, with_them = (compaction.plan(messages, Policy(rules=carried), count) for carried in ("", RULES))
    more = with_them.around - bare.around
    assert 0 < more <= count(f"\n\n{BLOCK}") + 2
    without = [plan.tokens_after_estimate - plan.summary_budget for plan in (bare, with_them)]
    assert without[1] - without[0] == more
    longest = "wor " * with_them.summary_budget
    handoff = {"role": with_them.role, "content": compaction.apply(with_them, longest).handoff, FLAG: True}
    assert message_tokens(handoff, count) <= with_them.around + with_them.summary_budget + 8


def test_they_are_never_cut_for_the_body_and_the_context_still_shrinks() -> None:
    """As little to summarise as makes a plan at all: the rules stay whole, the budget of the body is what is left."""
    long = f"## Red Lines\n{'Never push to main. ' * 100}".strip()
    assert len(long) > 1_900
    for size in range(10, 60, 2):
        messages = talk(size)
        try:
            plan = compaction.plan(messages, Policy(rules=long), count)
        except compaction.NothingToCompact:
            continue
        result = compaction.apply(plan, "Go on.")
        assert rules_in(compaction.split(result.handoff)[0].text) == long
        assert result.tokens_after < result.tokens_before
        return
    pytest.fail("no plan at any size")


def test_shortening_tool_output_carries_none() -> None:
    """The summary before it stays, and its rules with it."""
    first = compacted(talk(40), RULES)
    calls = [
        message
        for i in range(30)
        for message in (
            {"role": "assistant", "tool_calls": [{"id": f"c{i}", "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": "line of output\n" * 100},
        )
    ]
    result = pruning.compact([*first.messages, *calls, *talk(20)[1:]], Policy(rules=OTHER), count)
    blocks = [text for text in map(str, (m.get("content") for m in result.messages)) if OPEN in text]
    assert len(blocks) == 1 and RULES in blocks[0]


@pytest.mark.parametrize(
    ("body", "without", "inside"),
    [
        ("a", "a", ""),
        (f"a\n\n{OPEN}\nr\n{CLOSE}", "a", "r"),
        (f"{OPEN}\nr\n{CLOSE}", "", "r"),
        (f"a\n\n\n{OPEN}\nr\n{CLOSE}\n \n\nb\n\nc", "a\n\nb\n\nc", "r"),
        (f"a\n  {OPEN} \r\nr\n\t{CLOSE}\n  b", "a\n\n  b", "r"),
        (f"a\n{OPEN}\nr\n{CLOSE}\nb\n{OPEN}\ns\nt\n{CLOSE}", "a\n\nb", "r\n\ns\nt"),
        (f"a\n{OPEN}\nr\n{OPEN}\ns\n{CLOSE}\nt\n{CLOSE}\nb", "a\n\nb", f"r\n{OPEN}\ns\n{CLOSE}\nt"),
        (f"a\n{OPEN}\nr", f"a\n{OPEN}\nr", ""),
        (f"a\n{CLOSE}\nr", f"a\n{CLOSE}\nr", ""),
        (f"a\n{CLOSE}\n{OPEN}\nr", f"a\n{CLOSE}\n{OPEN}\nr", ""),
        (f"a {OPEN}\nr\n{CLOSE}", f"a {OPEN}\nr\n{CLOSE}", ""),
        (f"a\n{OPEN}\nr\nsee {CLOSE}.", f"a\n{OPEN}\nr\nsee {CLOSE}.", ""),
        (f"a\n{OPEN}\nb\n{OPEN}\nr\n{CLOSE}", f"a\n{OPEN}\nb", "r"),
        ("", "", ""),
    ],
)
def test_a_block_is_taken_out_whole(body: str, without: str, inside: str) -> None:
    assert without_rules(body) == without
    assert rules_in(body) == inside


def test_rules_stand_last_and_once() -> None:
    once = with_rules("a\n", "r")
    assert once == f"a\n\n{OPEN}\nr\n{CLOSE}"
    assert with_rules(once, "s") == f"a\n\n{OPEN}\ns\n{CLOSE}"
    assert with_rules(once, "") == "a"
    assert with_rules("", "r") == rules_block("r")
    assert rules_block("") == ""
