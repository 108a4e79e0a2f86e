"""The rules over many rounds, over long transcripts and over any transcript at all, seen from outside.

The checks read the messages by themselves: nothing of the engine's own reading is trusted here.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import compaction
from compaction import BadTranscript, Insert, Message, NothingToCompact, Policy, SummaryRejected, offline
from compaction import messages as m
from compaction.handoff import FLAG, handoff_text
from compaction.sections import INTENT
from compaction.tokens import message_tokens
from tests.compaction.properties import unpaired
from tests.compaction.transcripts import call, compacted_by, image, policies, reply, result, system, transcripts, user
from tests.cost import calls
from tests.slow import one_in, slow

POLICY = Policy(context_window=16_000, handoff="hermes")  # tail budget 1,600 tokens, summaries up to 800


def count(text: str) -> int:
    return len(text) // 4


def plain_ask(request: compaction.SummaryRequest) -> str:
    """A summariser that says nothing of what it read."""
    return f"## {INTENT}\nSee the messages below.\n\n## Goal\nGo on."


# --- shapes of a turn ------------------------------------------------------------------------------------------------
def filler(text: str, size: int = 80) -> str:
    return text.ljust(4 * size, ".")


def chat(task: str, n: int) -> list[Message]:
    return [user(filler(task)), reply(filler(f"I did {n}."))]


def tools(task: str, n: int) -> list[Message]:
    groups = [
        row
        for i in range(4)
        for row in (
            reply("", f"c{i}", f"d{i}"),
            result(f"c{i}", filler(f"out {n}")),
            result(f"d{i}", filler("more")),
        )
    ]
    return [user(task), *groups, reply(f"Finished {n}.")]


def text_calls(task: str, n: int) -> list[Message]:
    asking: Message = {"role": "assistant", "content": None, "tool_calls": json.dumps([call("same"), call("other")])}
    return [user(task), asking, result("same", filler("a")), result("other", filler("b")), reply(filler(f"Done {n}."))]


def by_call_id(task: str, n: int) -> list[Message]:
    asking: Message = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": f"fc_{n}", "call_id": "x", "name": "f"}],
    }
    answer: Message = {"role": "tool", "call_id": "x", "content": [{"type": "input_text", "text": filler("a", 160)}]}
    return [
        user([{"type": "input_text", "text": task}]),
        asking,
        answer,
        reply([{"type": "output_text", "text": f"R{n}"}]),
    ]


def anthropic(task: str, n: int) -> list[Message]:
    groups = []
    for i in range(3):
        use = [
            {"type": "text", "text": f"Looking {i}."},
            {"type": "tool_use", "id": f"t{i}", "name": "look", "input": {}},
        ]
        found = {"type": "tool_result", "tool_use_id": f"t{i}", "content": [{"type": "text", "text": filler("seen")}]}
        groups += [reply(use), user([found])]
    return [user([{"type": "text", "text": task}]), *groups, reply([{"type": "text", "text": filler(f"Done {n}.")}])]


def silent(task: str, n: int) -> list[Message]:
    """An agent that never says a word to the person."""
    return [user(task), *(row for i in range(5) for row in (reply(None, f"s{i}"), result(f"s{i}", filler("out"))))]


def pictures(task: str, n: int) -> list[Message]:
    return [user([{"type": "text", "text": filler(task)}, image()]), reply(filler(f"I see {n}."))]


def notices(task: str, n: int) -> list[Message]:
    return [*chat(task, n), user(f"[System: process {n} ended]"), reply(filler("Noted."))]


SHAPES = (chat, tools, text_calls, by_call_id, anthropic, silent, pictures, notices)
ASKS = (plain_ask, offline.summarize)


# --- reading, by the formats alone -----------------------------------------------------------------------------------
def live_text(row: Message) -> str:
    parts = [p for p in compaction.split(row.get("content"), bool(row.get(FLAG))) if p.kind != "summary"]
    return "\n".join(part.text for part in parts)


def live_users(messages: list[Message]) -> str:
    return "\n".join(live_text(row) for row in messages if row.get("role") == "user")


@pytest.mark.parametrize("ask", ASKS, ids=["plain", "offline"])
@pytest.mark.parametrize("prompt", [True, *slow(False)])
@pytest.mark.parametrize("shape", one_in(3, SHAPES))
def test_ten_compactions_carry_the_newest_task_and_never_the_first(
    shape: Callable[[str, int], list[Message]],
    prompt: bool,
    ask: Callable[[compaction.SummaryRequest], str],
) -> None:
    messages: list[Message] = [system()] if prompt else []
    largest = 0
    for round_ in range(10):
        for i in range(18):
            messages += shape(f"TASK {round_}/{i}/ please", i)
        before = copy.deepcopy(messages)
        made = compacted_by(messages, POLICY, ask, count)
        assert messages == before
        assert made.tokens_after < made.tokens_before
        assert unpaired(made.messages) == 0 and not made.report.repairs
        assert f"TASK {round_}/17/" in live_users(made.messages)
        assert sum(compaction.is_handoff(row) for row in made.messages) == 1
        active = made.summary.partition(f"## {INTENT}")[2].partition("\n## ")[0]
        assert "TASK 0/0/" not in active
        if round_:
            assert "TASK 0/0/" not in "\n".join(map(live_text, made.messages))
            answers = any(m.is_readable_reply(row) for row in shape("", 0))
            assert not (answers and f"[ ] TASK {round_ - 1}/" in active), "what was done before is told as done"
        messages = made.messages
        if round_ == 2:
            largest = made.tokens_after
    assert made.tokens_after <= largest * 1.5 + 500, "compacting again and again does not grow the context"


def test_compacting_what_was_just_compacted_ends_in_a_refusal_and_never_grows() -> None:
    for shape in SHAPES:
        messages = [system(), *(row for i in range(40) for row in shape(f"TASK {i}/", i))]
        tokens = sum(message_tokens(row, count) for row in messages)
        for _ in range(10):
            try:
                made = compacted_by(messages, POLICY, plain_ask, count)
            except NothingToCompact as refusal:
                assert refusal.reason.endswith(".") and len(refusal.reason) > 30
                break
            assert made.tokens_after < tokens
            messages, tokens = made.messages, made.tokens_after
        else:
            pytest.fail("ten compactions of the same messages, and still something to compact")
        assert "TASK 39/" in live_users(messages)


@pytest.mark.slow
@pytest.mark.parametrize("shape", one_in(3, SHAPES))
def test_ten_thousand_messages(shape: Callable[[str, int], list[Message]]) -> None:
    messages: list[Message] = [system()]
    i = 0
    while len(messages) < 10_000:
        messages += shape(f"TASK {i}/", i)
        i += 1

    def compacted() -> tuple[compaction.Plan, compaction.Result]:
        plan = compaction.plan(messages, Policy(), count)
        return plan, compaction.apply(plan, "Short.")

    assert calls(compacted) < 200 * len(messages)
    plan, made = compacted()
    assert sorted((*plan.head, *plan.middle, *plan.tail, *plan.lifted)) == list(range(len(messages)))
    assert unpaired(made.messages) == 0 and not made.report.repairs
    assert f"TASK {i - 1}/" in live_users(made.messages)
    assert plan.tail_tokens <= 1.5 * 20_000 and made.tokens_after < 1.5 * 20_000 + 2_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows",
    [
        [reply("", "same"), result("same")],
        [user(f"{handoff_text('again')}\n\nlive")],
        *(
            [user("x")],
            [reply("x")],
            [reply("", "same")],
            [result("same")],
            [{}],
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}],
            [user(handoff_text("again"))],
        ),
    ],
)
def test_the_cost_of_ten_thousand_of_one_kind_grows_with_them(rows: list[Message]) -> None:
    messages = [dict(rows[i % len(rows)]) for i in range(10_000)]

    def compacted_or_refused() -> None:
        try:
            made = compacted_by(messages, POLICY, plain_ask, count)
            assert made.tokens_after < made.tokens_before
        except NothingToCompact as refusal:
            assert refusal.reason.endswith(".")

    assert calls(compacted_or_refused) < 1_000 * len(messages)


# --- any transcript --------------------------------------------------------------------------------------------------
NO_ROLE: list[Message] = [{}, {"content": "no role"}, {"role": None}]
bare = st.lists(st.tuples(st.integers(0, 40), st.sampled_from(NO_ROLE)), max_size=2)


@st.composite
def rough(draw: st.DrawFn) -> list[Message]:
    """Any transcript of the strategies, and rows without a role in it."""
    messages = list(draw(transcripts))
    for at, row in draw(bare):
        messages.insert(min(at, len(messages)), dict(row))
    return messages


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(rough(), policies, st.one_of(st.text(max_size=300), st.integers(0, 3_000).map("x".__mul__), st.none()))
def test_any_transcript_and_any_summary_end_in_a_shorter_context_or_a_reason(
    messages: list[Message], policy: Policy, summary: Any
) -> None:
    before = copy.deepcopy(messages)
    try:
        made = compacted_by(messages, policy, lambda request: summary, count)
    except (NothingToCompact, BadTranscript, SummaryRejected) as refusal:
        event(refusal.code)
        assert messages == before
        assert re.fullmatch(r"[A-Z].{15,}\.", refusal.reason, re.DOTALL) and refusal.code.isidentifier()
        assert refusal.code != "unsafe_result"
        return
    event("compacted")
    assert messages == before
    sizes = [sum(message_tokens(row, count) for row in rows) for rows in (messages, made.messages)]
    assert sizes == [made.tokens_before, made.tokens_after] and sizes[1] < sizes[0]
    at = next((i for i, edit in enumerate(made.edits) if isinstance(edit, Insert)), None)
    if at is not None:
        role = made.messages[at]["role"]
        assert role in ("user", "assistant") and compaction.is_handoff(made.messages[at])
        assert all(row.get("role") != role for row in made.messages[max(at - 1, 0) : at])
        behind = made.messages[at + 1]
        assert behind.get("role") != role or (role == "assistant" and m.calls(behind))
    spoken = [row for row in messages if row.get("role") == "user"]
    last = spoken[-1] if spoken else {}
    said = last.get("content")
    notice = last.get("display_kind") == "hidden" or (isinstance(said, str) and said.startswith("[System:"))
    if isinstance(said, str) and not notice and not compaction.is_handoff(last):
        assert said in live_users(made.messages)
