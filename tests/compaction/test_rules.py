"""The rules of `docs/engine.md`, section "Rules", one by one: concrete transcripts, results worked out by hand.

Nothing here looks at how the engine does it: only `plan`, `apply`, `compact`, `split` and the functions of `boundaries`
are called. Every message of `block(n)` is 100 tokens by `count`, so that a budget is a number of messages.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest

import compaction
from compaction import Insert, Keep, Message, NothingToCompact, Policy, Result, SummaryRejected, offline, pruning
from compaction.handoff import END_MARKER, FLAG, FRAMING, HEADERS, MEDIA_STUB, NOTE_SENTENCE, handoff_text
from compaction.llm.digest import request_of
from compaction.planning import boundaries
from compaction.tokens import message_tokens
from tests.compaction.properties import unpaired
from tests.compaction.transcripts import (
    LAYOUTS,
    OPENINGS,
    call,
    call_item,
    carrier,
    compacted_by,
    image,
    reply,
    result,
    result_item,
    system,
    tail_start,
    user,
)

SMALL = Policy(context_window=10_000, handoff="hermes")  # tail budget 1,000 tokens, soft ceiling 1,500
TIGHT = Policy(context_window=4_000)  # tail budget 400 tokens, soft ceiling 600
FEW = Policy(context_window=4_000, protect_last_n=3, handoff="hermes")  # the same, and no more than three beyond it
SHORT = "The work so far, in short."


def count(text: str) -> int:
    return len(text) // 4


def hundred(text: str) -> str:
    """The text filled up to 96 tokens: a message of 100 with its role and separators."""
    return text.ljust(4 * 96, ".")


def block(n: int, first: int = 0) -> list[Message]:
    """n messages of 100 tokens each, a user and an assistant by turns."""
    return [
        user(hundred(f"question {i}")) if i % 2 == 0 else reply(hundred(f"answer {i}")) for i in range(first, first + n)
    ]


def compacted(messages: list[Message], policy: Policy = SMALL) -> tuple[compaction.Plan, Result]:
    before, policy_before = copy.deepcopy(messages), dataclasses.asdict(policy)
    plan = compaction.plan(messages, policy, count)
    made = compaction.apply(plan, SHORT)
    assert messages == before and dataclasses.asdict(policy) == policy_before
    assert made.tokens_after < made.tokens_before
    return plan, made


def texts(messages: list[Message]) -> str:
    return json.dumps([m.get("content") for m in messages], ensure_ascii=False)


# --- policy ----------------------------------------------------------------------------------------------------------
def test_the_defaults_and_the_budgets_that_follow() -> None:
    policy = Policy()
    assert (policy.context_window, policy.threshold, policy.target_ratio) == (200_000, 0.50, 0.20)
    assert (policy.protect_first_n, policy.protect_last_n, policy.summary_ratio) == (3, 20, 0.20)
    assert (policy.tail_budget, policy.soft_ceiling) == (20_000, 30_000)
    assert [Policy(target_ratio=r).target_ratio for r in (0.0, 0.1, 0.5, 0.8, 1.0)] == [0.10, 0.10, 0.5, 0.80, 0.80]
    assert [Policy(protect_last_n=n).fewest_tail for n in (0, 3, 5, 8, 20)] == [3, 3, 5, 8, 8]
    assert [policy.summary_limit(n) for n in (100, 10_000, 20_000, 60_000)] == [2_000, 2_000, 4_000, 10_000]
    assert Policy(context_window=1_000_000).summary_limit(90_000) == 12_000


# --- head ------------------------------------------------------------------------------------------------------------
def test_by_default_the_head_is_system_first_user_first_assistant() -> None:
    plan, made = compacted([system(), *block(40)])
    assert plan.head == (0, 1, 2) and not plan.recompaction
    assert [edit.index for edit in made.edits[:3] if not isinstance(edit, Insert)] == [0, 1, 2]
    plan, made = compacted(block(40))  # the system prompt is kept beside the rows, and counts
    assert plan.head == (0, 1) and made.edits[:2] == (Keep(0), Keep(1))


@pytest.mark.parametrize("n", range(6))
def test_protect_first_n_counts_the_system_prompt_wherever_it_is_kept(n: int) -> None:
    policy = Policy(context_window=10_000, protect_first_n=n)
    assert boundaries.head_size([system(), *block(40)], policy) == max(n, 1)
    assert boundaries.head_size(block(40), policy) == max(n - 1, 0)


NOTED = f"You are kind. [Note: Some {NOTE_SENTENCE} to preserve context space. Go on from there.]"


@pytest.mark.parametrize(
    "content",
    [
        NOTED,
        f"{NOTE_SENTENCE[0].upper()}{NOTE_SENTENCE[1:]}.",
        [{"type": "text", "text": "You are kind."}, {"type": "text", "text": NOTED}],
        [{"type": "text", "text": "x", "cache_control": {}}, image(), {"type": "text", "text": NOTED}],
        [{"type": "input_text", "text": NOTED}],
        ["You are kind.", NOTED],
        {"type": "text", "text": NOTED},
    ],
)  # fmt: skip
def test_the_note_sentence_in_a_system_message_0_shrinks_the_head(content: Any) -> None:
    for prompt in ({"role": "system", "content": content}, {"role": "developer", "content": content}):
        messages = [prompt, *block(40)]
        assert boundaries.head_size(messages, SMALL) == 1
        plan, made = compacted(messages)
        assert plan.recompaction and plan.head == (0,)
        assert "question 0." not in texts(made.messages), "the first request is not anchored again"
        assert texts(made.messages).count(NOTE_SENTENCE[1:]) == 1, "the note is not written twice"


def test_the_note_sentence_anywhere_else_is_only_text() -> None:
    for messages in (
        [user(NOTED), *block(40)[1:]],
        [system(), user(NOTED), *block(40)[1:]],
        [system(), *block(20), system(NOTED), *block(20)],
    ):
        assert boundaries.head_size(messages, SMALL) == (3 if messages[0]["role"] == "system" else 2)


@pytest.mark.parametrize("at", [0, 2, 20, 38, 40])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_any_handoff_among_the_live_messages_shrinks_the_head(at: int, layout: str, role: str) -> None:
    for opening in OPENINGS:
        text = carrier(layout, opening)
        for content in (text, [{"type": "text", "text": text}]):
            rows = [*block(at), {"role": role, "content": content}, *block(40 - at, at)]
            assert boundaries.head_size([system(), *rows], SMALL) == 1
            assert boundaries.head_size(rows, SMALL) == 0
            assert compaction.plan([system(), *rows], SMALL, count).head == (0,)
            assert compaction.plan(rows, SMALL, count).head == ()


GARBAGE: list[Any] = [
    None, 7, 1.5, True, b"x", {}, [], {"text": None}, {1: 2}, [None, 3, [], {"text": 4}], [{"type": ["x"]}], int,
    ("a", "b"), {"type": "text", "text": ["x"]}, [[["deep"]]], float("nan"), "\ud800", "\x00", 10**5_000,
    [{"type": "tool_result", "content": {"content": 3}}], [{"type": "tool_use", "id": {}, "input": {1: {2}}}],
]  # fmt: skip


def test_garbage_never_raises() -> None:
    for odd in GARBAGE:
        for row in ({"role": "system", "content": odd}, {"role": odd, "content": odd}, {"role": "tool", "content": odd},
                    {"role": "assistant", "content": odd, "tool_calls": odd}, {"role": "user", "content": odd},
                    {"role": "tool", "tool_call_id": odd}, {"content": odd, FLAG: odd}, {}):  # fmt: skip
            for messages in ([row, *block(40)], [*block(20), row, *block(20)], [*block(40), row]):
                assert boundaries.head_size([row], SMALL) in (0, 1)
                boundaries.align_start(messages, 20)
                boundaries.align_end(messages, 20)
                boundaries.anchor_last_user(messages, 20, 1)
                boundaries.anchor_last_reply(messages, 20, 1)
                compacted(messages)


def test_the_gate_uses_the_head_in_effect() -> None:
    policy = Policy(context_window=10_000, protect_first_n=20)
    with pytest.raises(NothingToCompact):
        compaction.plan([system(), *block(22)], policy, count)
    plan, _ = compacted([system(NOTED), *block(22)], policy)
    assert plan.head == (0,)
    assert policy.protect_first_n == 20


# --- tail ------------------------------------------------------------------------------------------------------------
def test_the_tail_is_what_fits_the_budget_from_the_end() -> None:
    messages = [system(), *block(40)]
    assert len(messages) - tail_start(messages, 3, SMALL) == 10  # 10 x 100 tokens
    assert len(messages) - tail_start(messages, 3, FEW) == 4
    assert len(messages) - tail_start(messages, 3, TIGHT) == 6  # eight wanted, 600 is the ceiling


def test_a_few_messages_stay_however_large_the_budget_says() -> None:
    messages = [system(), *block(30), *(user("x" * 500) if i % 2 == 0 else reply("x" * 500) for i in range(4))]
    assert len(messages) - tail_start(messages, 3, FEW) == 3  # 3 x 129 tokens
    messages = [system(), *block(30), user("x" * 4_000), reply("x" * 40_000)]
    plan, _ = compacted(messages)
    assert {31, 32} <= set(plan.tail) and plan.middle


def shaped(shape: str, parallel: int = 3) -> list[Message]:
    """An assistant with parallel calls and its results, in one of the shapes tool calls come in."""
    ids = [f"c{i}" for i in range(parallel)]
    if shape == "anthropic":
        uses = [{"type": "tool_use", "id": id_, "name": "look", "input": {}} for id_ in ids]
        found = [{"type": "tool_result", "tool_use_id": id_, "content": hundred("found")} for id_ in ids]
        return [reply([{"type": "text", "text": "I look."}, *uses]), *(user([block]) for block in found)]
    results: list[Message] = [result(id_, hundred("found")) for id_ in ids]
    if shape == "json text":
        return [{"role": "assistant", "content": None, "tool_calls": json.dumps([call(id_) for id_ in ids])}, *results]
    if shape == "call_id":
        calls = [{"id": f"fc_{id_}", "call_id": id_, "name": "look", "arguments": "{}"} for id_ in ids]
        by_call_id = [{"role": "tool", "call_id": id_, "content": hundred("found")} for id_ in ids]
        return [{"role": "assistant", "content": "", "tool_calls": calls}, *by_call_id]
    return [reply("", *ids), *results]


SHAPES = ("dicts", "json text", "call_id", "anthropic")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parallel", [1, 2, 5])
def test_a_cut_anywhere_inside_a_tool_group_moves_before_its_assistant(shape: str, parallel: int) -> None:
    rows = [*block(10), *shaped(shape, parallel), reply("Done."), user("next")]
    for index in range(len(rows) + 1):
        inside = 10 < index <= 10 + parallel
        assert boundaries.align_end(rows, index) == (10 if inside else index)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_nearest_parent_only_when_ids_repeat(shape: str) -> None:
    """Three groups with the very same ids: an earlier complete group stays where it is."""
    group = shaped(shape)
    rows = [user("one"), *group, user("two"), *group, user("three"), *group, reply("Done.")]
    for first in (1, 6, 11):
        for index in range(first + 1, first + 4):
            assert boundaries.align_end(rows, index) == first


@pytest.mark.parametrize("shape", SHAPES)
def test_every_result_keeps_its_call_and_no_normal_run_needs_a_repair(shape: str) -> None:
    turn = [user(hundred("do")), *shaped(shape), reply(hundred("Done."))]
    for lead in ([], [system()], [system(), user("x"), *shaped(shape)], [user("x"), *shaped(shape)]):
        messages = [*lead, *(row for _ in range(9) for row in turn)]
        for keep_last in range(1, 12):
            _, made = compacted(messages, Policy(context_window=10_000, keep_last=keep_last))
            assert made.report.repairs == ()
            assert unpaired(made.messages) == 0


def test_a_repair_is_made_and_reported() -> None:
    lost = [user("go"), reply("", "a", "b"), result("a"), user("stop"), result("z"), reply("Stopped.")]
    _, made = compacted([*block(30), *lost], Policy(context_window=10_000, keep_last=6))
    assert unpaired(made.messages) == 0 and len(made.report.repairs) == 2
    assert all("without" in sentence for sentence in made.report.repairs)


# --- the two anchors -------------------------------------------------------------------------------------------------
def quiet(n: int) -> list[Message]:
    """n tool groups with nothing a person could read."""
    return [row for i in range(n) for row in (reply("", f"q{i}"), result(f"q{i}", hundred("output")))]


def test_the_last_user_message_is_anchored() -> None:
    messages = [system(), *block(20), user("the task"), *quiet(9), reply("Done.")]
    assert boundaries.anchor_last_user(messages, 35, 3) == 21
    assert tail_start(messages, 3, SMALL) == 21
    plan, _ = compacted(messages)
    assert 21 in plan.tail


def test_the_last_reply_a_person_could_read_is_anchored() -> None:
    messages = [system(), *block(20), *quiet(9), user("well?")]
    assert boundaries.anchor_last_reply(messages, 35, 3) == 20
    assert tail_start(messages, 3, SMALL) == 20


def test_neither_anchor_can_disappear_and_the_user_comes_first() -> None:
    """Dropping one of the two gives another cut; which came first is told by how far each moved it.

    The walk ends 4 messages from the end, the last user message is 20 from the end, the last readable reply 31.
    """
    messages = [system(), *block(20), *quiet(5), user("the task"), *quiet(10)]
    start = len(messages) - 4
    assert boundaries.anchor_last_user(messages, start, 3) == 31  # without the reply it would end here
    assert boundaries.anchor_last_reply(messages, start, 3) == 20  # the answer that the user's message followed
    assert tail_start(messages, 3, FEW) == 20
    wide = Policy(
        context_window=4_000, protect_last_n=3, threshold=1.0, target_ratio=0.1
    )  # as FEW, but for its threshold
    reasons = [r for r in compaction.plan(messages, wide, count).reasons if " to keep the last " in r]
    assert "the last user message" in reasons[0]
    assert "11 messages" in reasons[1] and "the last reply" in reasons[1]

    other = [system(), *block(20), user("the task"), *quiet(5), reply("So far so good."), *quiet(10)]
    assert boundaries.anchor_last_user(other, start, 3) == 21
    assert boundaries.anchor_last_reply(other, start, 3) == 32  # without the user it would end here
    assert tail_start(other, 3, FEW) == 21
    reasons = [r for r in compaction.plan(other, wide, count).reasons if " to keep the last " in r]
    assert len(reasons) == 1 and "to keep the last user message" in reasons[0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_handoff_is_no_user_message_but_live_text_in_its_row_is(layout: str) -> None:
    messages = [*block(10), user("the task"), reply("On it."), user(carrier(layout)), *quiet(5)]
    assert boundaries.anchor_last_user(messages, 20, 0) == (10 if layout == "standalone" else 12)
    own = [*block(9), reply("The answer."), user("ok"), {"role": "assistant", "content": carrier(layout)}, *quiet(5)]
    assert boundaries.anchor_last_reply(own, 20, 0) == (9 if layout == "standalone" else 11)


def test_tool_results_in_user_rows_are_no_user_messages() -> None:
    messages = [*block(9), user("the task"), *shaped("anthropic"), *shaped("anthropic"), reply("Done.")]
    assert boundaries.anchor_last_user(messages, 17, 0) == 9


USE = {"type": "tool_use", "id": "z", "name": "f", "input": {}}


@pytest.mark.parametrize(
    "stub",
    [reply("", "z"), reply(None, "z"), reply(" \n ", "z"), reply([{"type": "thinking", "thinking": "hm"}, USE])],
)
def test_a_stub_of_calls_is_no_reply_unless_there_is_nothing_else(stub: Message) -> None:
    run = [stub, result("z"), user("and?")]
    assert boundaries.anchor_last_reply([user("go"), reply("Readable."), *run], 4, 0) == 1
    assert boundaries.anchor_last_reply([user("go"), stub, result("z"), *run], 5, 0) == 3
    assert boundaries.anchor_last_reply([user("go"), reply("Readable, and", "y"), result("y"), *run], 5, 0) == 1


@pytest.mark.parametrize("anchor", [boundaries.anchor_last_user, boundaries.anchor_last_reply])
def test_an_anchor_only_moves_backward_and_never_into_the_head(anchor: Any) -> None:
    messages = [system(), *block(6), *quiet(6)]
    for head_end in range(10):
        for index in range(head_end, len(messages) + 1):
            moved = anchor(messages, index, head_end)
            assert head_end <= moved <= index
            if head_end > 6:
                assert moved == index, "what the head keeps needs no anchor"
    assert anchor([system(), *quiet(4)[1::2]], 3, 1) == 3  # nothing to anchor


def test_a_transcript_inside_the_soft_ceiling_still_gets_a_useful_cut() -> None:
    for n in (12, 20, 40, 100, 250):
        messages = [system(), *block(n)]  # up to 25,000 tokens; the ceiling is 30,000
        plan, made = compacted(messages, Policy())
        assert len(plan.middle) >= 3 and len(plan.tail) >= 3
        assert len(made.messages) < len(messages)


# --- earlier handoffs ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("at", [0, 1, 15, 39, 40])
def test_an_earlier_handoff_is_folded_in_and_never_summarised_as_a_turn(layout: str, at: int) -> None:
    for opening in OPENINGS:
        for role in ("user", "assistant"):
            row: Message = {"role": role, "content": carrier(layout, opening, "Old facts.", "LIVE words")}
            messages = [system(), *block(at), row, *block(40 - at, at)]
            plan, made = compacted(messages)
            assert plan.previous_summary == "Old facts."
            seen: list[compaction.SummaryRequest] = []
            compaction.summarize(plan, lambda request, seen=seen: seen.append(request) or SHORT)  # type: ignore[misc]
            assert seen[0].previous_summary == "Old facts."
            read, kept = texts(list(seen[0].turns)), texts(made.messages)
            assert "Old facts." not in read + kept and not any(marker in read for marker in (*HEADERS, "— "))
            assert (read + kept).count("LIVE words") == (0 if layout == "standalone" else 1)
            assert [m["content"] for m in made.messages if compaction.is_handoff(m)] == [made.handoff]


def test_several_earlier_handoffs_are_folded_oldest_first() -> None:
    rows = [user(carrier(LAYOUTS[i % 3], OPENINGS[i % 5], f"Body {i}.")) for i in range(4)]
    messages = [system(), rows[0], *block(10), rows[1], *block(10), rows[2], *block(10), rows[3], reply("ok")]
    assert compaction.plan(messages, SMALL, count).previous_summary == "Body 0.\n\nBody 1.\n\nBody 2.\n\nBody 3."


# --- the summary row -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lead", "keep_last", "role"),
    [
        ([user("a"), reply("b")], 9, "user"),  # between two assistants
        ([user("a")], 10, "assistant"),  # between two users
        ([system(), user("a"), reply("", "c"), result("c")], 9, "user"),
        ([system(), user("a"), reply("", "c"), result("c")], 10, "assistant"),
    ],
)
def test_the_role_adds_no_pair_of_equal_neighbours(lead: list[Message], keep_last: int, role: str) -> None:
    protect = len(lead) + (lead[0]["role"] != "system")
    messages = [*lead, *block(40)]
    plan, made = compacted(messages, Policy(context_window=8_000, protect_first_n=protect, keep_last=keep_last))
    assert plan.head == tuple(range(len(lead))) and len(plan.tail) == keep_last
    roles = [row["role"] for row in made.messages]
    assert roles[len(lead)] == role == plan.role
    assert roles[len(lead)] not in (roles[len(lead) - 1], roles[len(lead) + 1])


def test_pairs_of_equal_neighbours_in_the_transcript_stay() -> None:
    twice = [row for row in block(40) for _ in (0, 1)]
    plan, made = compacted(twice)
    assert [twice[i] for i in plan.tail] == made.messages[-len(plan.tail) :]


def test_the_cut_moves_back_to_an_assistant_group_before_it_is_merged() -> None:
    messages = [system(NOTED), *block(40)]  # the handoff leads: user; 400 tokens back stands a user
    start = tail_start(messages, 1, FEW)
    assert messages[start]["role"] == "user"
    plan, made = compacted(messages, FEW)
    assert plan.tail[0] == start - 1 and messages[start - 1]["role"] == "assistant" and plan.role == "user"
    grouped = [system(NOTED), *block(30), *shaped("dicts"), user(hundred("q")), *block(3, 1)]
    plan, made = compacted(grouped, Policy(context_window=6_000, protect_last_n=3, keep_last=4))
    assert plan.tail[0] == 31 and plan.role == "user" and unpaired(made.messages) == 0


MERGING: list[Message] = [system(NOTED), *block(30), reply("x" * 40_000)]  # the row before is beyond the soft ceiling


def merged(messages: list[Message]) -> compaction.Result:
    """The result if the last three messages are the tail and the handoff cannot stand by itself."""
    plan = compaction.plan(messages, SMALL, count)
    at = len(messages) - 3
    tail = tuple(range(at, len(messages)))
    return compaction.apply(
        dataclasses.replace(plan, role=None, head=tuple(i for i in plan.head if i < at), tail=tail), SHORT
    )


def test_a_merged_row_is_summary_blank_line_end_marker_blank_line_live_text() -> None:
    live = hundred("And what about this?")
    made = merged([*MERGING, user(live), reply("Yes."), reply("Done.")])
    assert len(made.messages) == 4
    content = made.messages[1]["content"]
    assert content == f"{made.handoff}\n\n{live}"
    assert content.endswith(f"{SHORT}\n\n{END_MARKER}\n\n{live}")
    assert [(p.kind, p.text) for p in compaction.split(content)] == [("summary", SHORT), ("live", live)]


@pytest.mark.parametrize(
    "live",
    [
        [{"type": "text", "text": hundred("Look at")}, image()],
        [image(), {"type": "text", "text": hundred("this")}],
        [{"type": "input_text", "text": hundred("Look")}, {"type": "input_image", "image_url": "x"}],
        [hundred("bare string")],
        {"type": "text", "text": hundred("one block")},
    ],
)
def test_a_merged_row_of_a_multimodal_list_keeps_its_blocks(live: Any) -> None:
    made = merged([*MERGING, user(live), reply("Yes."), reply("Done.")])
    content = made.messages[1]["content"]
    assert content[1:] == (live if isinstance(live, list) else [live])
    assert content[0]["text"].rstrip() == made.handoff
    assert [p.kind for p in compaction.split(content)] == ["summary", "live"]


def test_a_standalone_handoff_ends_with_the_end_marker_too() -> None:
    _, made = compacted(block(40))
    [row] = [edit.message for edit in made.edits if isinstance(edit, Insert)]
    assert row["content"].endswith(f"{SHORT}\n\n{END_MARKER}") and row["content"] == made.handoff


# --- framing, media, failure, markers --------------------------------------------------------------------------------
def test_the_framing_stands_in_the_handoff_and_in_the_note() -> None:
    _, made = compacted([system("Be kind."), *block(40)])
    framing = FRAMING
    assert framing in made.handoff and framing in made.messages[0]["content"]
    for claim in ("Reference only", "Answer the message after it", "latest message wins over this summary",
                  "Persistent memory and skills stay fully authoritative"):  # fmt: skip
        assert claim in framing
    assert made.messages[0]["content"].startswith("Be kind.\n\n[Note: ")


@pytest.mark.parametrize("prompt", ["Be kind.", "", [{"type": "text", "text": "Be kind."}], ["Be kind."]])
def test_a_system_message_0_gets_the_note_once(prompt: Any) -> None:
    messages: list[Message] = [{"role": "system", "content": prompt}, *block(40)]
    for i in range(3):
        _, made = compacted(messages)
        assert texts(made.messages[:1]).count(NOTE_SENTENCE) == 1
        messages = [*made.messages, *block(40, 40 * (i + 1))]


IMAGES: list[Any] = [
    image(),
    {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
]


@pytest.mark.parametrize("picture", IMAGES)
def test_an_image_is_1600_tokens_whatever_its_shape(picture: Any) -> None:
    bare = message_tokens(user([]), count)
    assert message_tokens(user([picture]), count) == bare + 1_600
    assert message_tokens(user(picture), count) == bare + 1_600
    inside = [{"type": "tool_result", "tool_use_id": "t", "content": [picture, picture]}]
    assert message_tokens(user(inside), count) == bare + 3_200
    huge = json.loads(json.dumps(picture).replace("AAAA", "A" * 400_000))
    assert message_tokens(user([huge]), count) == bare + 1_600


@pytest.mark.parametrize("picture", IMAGES)
def test_images_before_the_newest_user_image_become_stubs(picture: Any) -> None:
    def look(text: str) -> Message:
        return user([{"type": "text", "text": text}, picture])

    last = [look("first"), reply("I see."), look("second"), reply("I see."), user("and?")]
    _, made = compacted([*block(80), *last], Policy(context_window=40_000, keep_last=5))
    first, second = made.messages[-5]["content"], made.messages[-3]["content"]
    assert [b["text"] for b in first] == ["first", MEDIA_STUB] and picture not in first
    assert second == last[2]["content"]
    _, made = compacted([*block(80), *last[2:]], Policy(context_window=40_000, keep_last=3))
    assert made.messages[-3] == last[2], "the newest stays"


def test_without_an_image_of_a_user_no_image_is_left_out() -> None:
    shot = [reply("", "s"), result("s", [image()]), reply("I see it."), user("and?")]
    _, made = compacted([*block(80), *shot], Policy(context_window=40_000, keep_last=4))
    assert made.messages[-3]["content"] == [image()]


@pytest.mark.parametrize("summary", ["", "  \n", None, 7, b"x", "x" * 40_000, handoff_text(" ")])
def test_no_summary_an_empty_one_and_one_that_grows_the_context_fail(summary: Any) -> None:
    messages = [system(), *block(40)]
    before = copy.deepcopy(messages)
    with pytest.raises(SummaryRejected) as caught:
        compacted_by(messages, SMALL, lambda request: summary, count)
    assert messages == before and caught.value.reason.endswith(".")


def test_what_is_written_is_the_short_header_every_agent_knows_and_the_flag() -> None:
    for policy in (SMALL, FEW):
        _, made = compacted([system(), *block(40)], policy)
        assert made.handoff == f"[CONTEXT SUMMARY]: {FRAMING}\n{SHORT}\n\n{END_MARKER}"
        [row] = [edit.message for edit in made.edits if isinstance(edit, Insert)]
        assert row["_compressed_summary"] in (1, True) and compaction.is_handoff(row)
        assert compaction.is_handoff({"role": row["role"], "content": row["content"]}), "by content alone, too"
        assert [p.text for p in compaction.split(row["content"]) if p.kind == "summary"] == [SHORT]


# --- what is easily overlooked ---------------------------------------------------------------------------------------
def test_a_screenshot_in_a_tool_result_does_not_replace_the_users_own_image() -> None:
    photo = user([{"type": "text", "text": "my photo"}, image()])
    use = reply([{"type": "tool_use", "id": "t", "name": "screenshot", "input": {}}])
    shot = user([{"type": "tool_result", "tool_use_id": "t", "content": [image()]}])
    last = [photo, use, shot, reply("I see both."), user("and?")]
    _, made = compacted([*block(80), *last], Policy(context_window=40_000, keep_last=5))
    assert made.messages[-5] == photo


def test_a_system_prompt_that_is_one_block_gets_the_note_too() -> None:
    messages = [{"role": "system", "content": {"type": "text", "text": "Be kind."}}, *block(40)]
    for i in range(2):
        _, made = compacted(messages)
        assert texts(made.messages[:1]).count(NOTE_SENTENCE) == 1
        messages = [*made.messages, *block(40, 40 * (i + 1))]


def test_a_handoff_in_a_system_message_0_shrinks_the_head_too() -> None:
    messages = [system(handoff_text("Old facts.")), *block(40)]
    assert boundaries.head_size(messages, SMALL) == 1
    assert compaction.plan(messages, SMALL, count).recompaction


def test_the_anchors_work_without_a_head() -> None:
    messages = [*block(10), *quiet(3)]
    assert boundaries.anchor_last_user(messages, 12) == 8
    assert boundaries.anchor_last_reply(messages, 12) == 9


def test_responses_items_are_calls_and_results() -> None:
    asked = [call_item(f"c{i}") for i in (0, 1)]
    found = [result_item(f"c{i}", hundred("found")) for i in (0, 1)]
    rows: list[Message] = [*block(10), *asked, *found, reply("Done."), user("next")]
    assert [boundaries.align_end(rows, i) for i in range(10, 16)] == [10, 10, 10, 10, 14, 15]
    assert message_tokens(found[0], count) == 100
    lost: list[Message] = [asked[0], user("stop"), found[1], reply("Stopped.")]
    _, made = compacted([*block(30), *lost], Policy(context_window=10_000, keep_last=4))
    assert made.messages[-2:] == [user("stop"), reply("Stopped.")]
    assert made.report.repairs == (
        "Message 31: a tool call without a result was left out.",
        "Message 33: a tool result without its call was left out.",
    )


def test_items_of_one_turn_move_together_at_the_start_too() -> None:
    rows = [*block(2), *map(call_item, "ab"), result_item("b"), result_item("a"), reply("Done."), *block(30)]
    assert [boundaries.align_start(rows, i) for i in range(1, 8)] == [1, 2, 6, 6, 6, 6, 7]


def test_parallel_calls_that_still_run_stay() -> None:
    running = [reply("I look."), *map(call_item, "abc"), result_item("b")]
    _, made = compacted([*block(30), user("go"), *running])
    assert made.messages[-5:] == running and not made.report.repairs


def test_where_nobody_ever_replied_the_last_call_item_stays() -> None:
    rows = [user("go"), call_item("a"), call_item("b"), result_item("a"), result_item("b"), *[user("go")] * 3]
    assert boundaries.anchor_last_reply(rows, 7) == 1


def test_the_cut_never_moves_back_to_a_call_that_is_left_out() -> None:
    rows = [*block(8), call_item("lost"), *block(4, first=8)]
    plan, made = compacted(rows, dataclasses.replace(FEW, protect_first_n=0))
    assert plan.tail[0] == 7 and made.messages[1:] == [rows[7], *rows[9:]]


def test_old_images_of_output_items_are_left_out() -> None:
    seen = result_item("a", [{"type": "input_image", "image_url": "x"}])
    rows = [user("look"), call_item("a"), seen, *block(30), user([image()]), reply("ok")]
    _, made = compacted(rows, Policy(context_window=10_000, protect_first_n=3))
    assert made.messages[2] == {**seen, "output": [{"type": "input_text", "text": MEDIA_STUB}]}


@pytest.mark.parametrize("keep", [2, 4, 9, 20])
def test_before_a_call_item_the_summary_is_a_message_of_its_own(keep: int) -> None:
    steps = [row for i in range(20) for row in (call_item(f"c{i}", hundred("f")), result_item(f"c{i}", hundred("x")))]
    rows = [*block(1), *steps]
    plan, made = compacted(rows, Policy(context_window=4_000, protect_first_n=2, keep_last=keep))
    assert made.messages[0] == rows[0] and rows[plan.tail[0]]["type"] == "function_call"
    assert made.messages[1]["role"] == "assistant" and made.messages[2:] == rows[plan.tail[0] :]


@pytest.mark.parametrize("policy", [SMALL, TIGHT, Policy(context_window=4_000, protect_first_n=6)])
def test_items_are_treated_as_the_same_calls_in_chat_shape(policy: Policy) -> None:
    chat, items = block(3), block(3)
    for i in range(20):
        found = hundred(f"found /srv/{i}/a.py")
        chat += [reply("", f"c{i}"), result(f"c{i}", found)]
        items += [call_item(f"c{i}"), result_item(f"c{i}", found)]
    chat, items = [*chat, *block(3)], [*items, *block(3)]
    one, other = (compaction.plan(rows, policy, count) for rows in (chat, items))
    for name in ("head", "middle", "tail", "role"):  # the JSON around a call differs, and so do the tokens
        assert getattr(one, name) == getattr(other, name), name
    assert request_of(one).digest == request_of(other).digest
    assert compaction.summarize(one, offline.summarize) == compaction.summarize(other, offline.summarize)
    made = [compaction.apply(plan, SHORT) for plan in (one, other)]
    assert compaction.loss_report(made[0]) == compaction.loss_report(made[1])
    assert made[0].report.summarised == made[1].report.summarised
    assert pruning.compact(chat, policy, count).summary == pruning.compact(items, policy, count).summary
