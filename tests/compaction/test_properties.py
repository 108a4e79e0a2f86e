"""What holds for every transcript, however strange."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import assume, event, example, given
from hypothesis import strategies as st

import compaction
from compaction import Message, NothingToCompact, Plan, Policy, Result, Rewrite, offline
from compaction import messages as m
from compaction.handoff import FLAG, is_handoff
from compaction.sections import INTENT
from compaction.tokens import message_tokens
from compaction.tool_groups import loose_ends
from tests.compaction.properties import SETTINGS, left_out
from tests.compaction.transcripts import (
    compacted_by,
    count,
    exchange,
    handoff,
    junk,
    policies,
    reply,
    system,
    transcripts,
    user,
    words,
)


def run(messages: list[Message], policy: Policy) -> tuple[Plan, Result]:
    """A compaction with a summary that always fits; transcripts with nothing to compact are not of interest."""
    try:
        plan = compaction.plan(messages, policy, count)
    except NothingToCompact as refusal:
        event(refusal.code)
        assume(False)
    event("compacted")
    return plan, compaction.apply(plan, "Short.")


@SETTINGS
@given(transcripts, policies)
def test_every_index_has_exactly_one_place_and_the_input_is_untouched(messages: list[Message], policy: Policy) -> None:
    before = copy.deepcopy(messages)
    plan, result = run(messages, policy)
    assert messages == before
    assert sorted((*plan.head, *plan.middle, *plan.tail, *plan.lifted)) == list(range(len(messages)))
    assert plan.tail and plan.middle
    assert plan.tail == tuple(i for i in range(plan.tail[0], len(messages)) if i not in plan.lifted)
    report = result.report
    assert sorted((*report.kept, *report.shortened, *report.summarised)) == list(range(len(messages)))
    assert {*plan.middle, *plan.lifted} <= set(report.summarised)


@SETTINGS
@given(transcripts, policies)
def test_calls_and_results_are_complete_and_the_handoff_stands_beside_no_equal_role(
    messages: list[Message], policy: Policy
) -> None:
    plan, result = run(messages, policy)
    loose = loose_ends(result.messages)
    assert not loose.calls and not loose.results
    at = [i for i, edit in enumerate(result.edits) if isinstance(edit, compaction.Insert)]
    assert len(at) == (plan.role is not None)
    roles = [m.role_beside(row) for row in result.messages]
    for i in at:
        assert roles[i] not in roles[i - 1 : i]
        behind = result.messages[i + 1]
        assert roles[i] != roles[i + 1] or (plan.role == "assistant" and roles[i - 1] == "user" and m.calls(behind))
        assert any(not m.is_system(row) for row in result.messages[:i]) or roles[i] == "user"


@SETTINGS
@given(transcripts, policies)
def test_exactly_one_handoff_and_it_reads_back(messages: list[Message], policy: Policy) -> None:
    plan, result = run(messages, policy)
    carriers = [row for row in result.messages if is_handoff(row)]
    assert len(carriers) == 1 and carriers[0].get(FLAG) is (True if policy.handoff == "hermes" else None)
    bodies = [p.text for p in compaction.split(carriers[0]["content"]) if p.kind == "summary"]
    assert bodies == ["Short."] == [result.summary]
    if plan.role is None:
        [merged] = [e for e in result.edits if isinstance(e, Rewrite) and e.why == "merged"]
        assert "api_content" not in carriers[0]
        assert (
            m.live_content(carriers[0]) or m.calls(carriers[0]) or not m.text(messages[merged.index]["content"]).strip()
        )


@SETTINGS
@given(transcripts, policies)
def test_no_live_text_is_lost_or_doubled(messages: list[Message], policy: Policy) -> None:
    plan, result = run(messages, policy)
    named = []
    for edit, row in zip(result.edits, result.messages, strict=True):
        if isinstance(edit, compaction.Insert):
            continue
        named.append(edit.index)
        was, now = (m.text(m.live_content(version)).strip() for version in (messages[edit.index], row))
        if edit.index == 0 and m.is_system(row):
            assert now.startswith(was)  # the note may follow
        elif edit.index not in result.report.shortened:
            assert now == was
    assert named == sorted(set(named))
    lost = {*plan.head, *plan.tail} - set(named)
    assert all(left_out(i, messages[i]) in result.report.repairs for i in lost)


@SETTINGS
@given(transcripts, policies)
def test_the_last_user_message_and_the_last_readable_reply_are_live(messages: list[Message], policy: Policy) -> None:
    plan, _ = run(messages, policy)
    """A reply that nobody asked for would lead the context; and one whose question is large is not kept beside it."""
    kept = {*plan.head, *plan.tail}
    typed, replies = (
        [i for i, row in enumerate(messages) if wanted(row)] for wanted in (m.is_typed, m.is_readable_reply)
    )
    assert set(typed[-1:]) <= kept
    if not any("goes into the summary" in reason for reason in plan.reasons):
        assert set(replies[-1:]) <= kept


@SETTINGS
@given(transcripts, policies)
def test_a_recompaction_keeps_the_system_prompt_alone(messages: list[Message], policy: Policy) -> None:
    before = copy.copy(policy)
    plan, result = run(messages, policy)
    assert policy == before
    if plan.recompaction:
        assert_head_of_recompaction(plan)
    try:
        again = compaction.plan(result.messages, policy, count)
    except NothingToCompact:
        return
    assert again.recompaction
    assert_head_of_recompaction(again)
    assert "Short." in again.previous_summary


def assert_head_of_recompaction(plan: Plan) -> None:
    system = (0,) if m.is_system(plan.messages[0]) else ()
    held = plan.head[len(system) :]
    assert plan.head[: len(system)] == system and all(i < plan.tail[0] for i in held)
    spoken = [i for i in held if m.is_typed(plan.messages[i]) or m.is_readable_reply(plan.messages[i])]
    assert len(spoken) <= 3, "the last message, the last reply and what that answered"


@SETTINGS
@given(transcripts, policies)
def test_the_result_is_smaller_and_the_offline_summary_within_its_budget(
    messages: list[Message], policy: Policy
) -> None:
    plan, result = run(messages, policy)
    assert result.tokens_before == sum(message_tokens(row, count) for row in messages)
    assert result.tokens_after == sum(message_tokens(row, count) for row in result.messages)
    assert result.tokens_after < result.tokens_before
    summary = compaction.summarize(plan, offline.summarize)
    assert 0 < count(summary) <= plan.summary_budget
    assert summary == compaction.summarize(plan, offline.summarize)
    compaction.apply(plan, summary)


@given(st.one_of(junk, st.text(), st.lists(st.one_of(junk, st.text(), st.dictionaries(st.text(max_size=9), junk)))))
def test_garbage_is_refused_with_a_reason_and_never_another_error(messages: Any) -> None:
    try:
        compaction.plan(messages, Policy(context_window=1_000), count)
    except (NothingToCompact, compaction.BadTranscript) as refusal:
        assert refusal.code.isidentifier() and refusal.reason.endswith(".")


@given(st.text(), st.text(), st.sampled_from([100, 400, 4_000]))
@example("(", "", 4_000)
@example("a,", "[", 100)
def test_the_offline_summary_of_any_text_is_accepted(earlier: str, task: str, window: int) -> None:
    messages = [handoff(f"## Files\n- {earlier}"), *exchange(10)[1:], user(f"{task}, ({words(30)},"), *exchange(10)[1:]]
    plan = compaction.plan(messages, Policy(context_window=window), count)
    summary = compaction.summarize(plan, offline.summarize)
    assert count(summary) <= plan.summary_budget
    compaction.apply(plan, summary)


@given(st.integers(1, 6), st.booleans(), st.sampled_from([4_000, 20_000]))
def test_ten_compactions_in_a_row_carry_the_newest_task(turns: int, prompt: bool, window: int) -> None:
    policy = Policy(context_window=window)
    messages: list[Message] = [system()] if prompt else []
    compacted = 0
    for step in range(10):
        for i in range(turns + 8):
            messages += [user(f"Task {step}-{i}: {words(30)}"), reply(f"Did {step}-{i}. {words(60)}")]
        result = compacted_by(messages, policy, offline.summarize, count)
        messages = result.messages
        compacted += 1
        newest = f"Task {step}-{turns + 7}"
        assert any(newest in m.text(m.live_content(row)) for row in messages if m.role(row) == "user")
        section = result.summary.partition(f"## {INTENT}")[2].partition("\n\n## ")[0]
        assert f"Task {step}-" in section and ("Task 0-0:" not in section)
        assert count(result.summary) <= max(policy.summary_limit(10**9), 1)
    assert compacted == 10
