"""The second strategy: what becomes shorter, what stays to the letter, and that a second run finds nothing."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import assume, event, given

import compaction
from compaction import Insert, Message, NothingToCompact, Policy, Result, pruning
from compaction import messages as m
from compaction.handoff import CUT_SHORT, FLAG, MEDIA_STUB, PRUNE_SENTENCE, PRUNED, handoff_text, is_handoff
from compaction.planning import Plan
from compaction.planning.boundaries import is_prune_note
from compaction.policy import ARGUMENT_CHARS, PRUNED_CHARS
from compaction.strategy import Strategy, first_plan
from compaction.tool_groups import loose_ends
from tests.compaction.properties import SETTINGS, left_out
from tests.compaction.transcripts import (
    SMALL,
    call,
    call_item,
    count,
    exchange,
    handoff,
    image,
    policies,
    reply,
    result,
    result_item,
    system,
    tool_turn,
    transcripts,
    user,
    words,
)
from tests.cost import calls

SHOT = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
LONG = "first line\n" + "more of it\n" * 80
RECENT = [row for i in range(6) for row in tool_turn(100 + i, size=60)]


def pruned(messages: list[Message], policy: Policy = SMALL) -> Result:
    before = copy.deepcopy(messages)
    made = pruning.compact(messages, policy, count)
    assert messages == before, "the input is never mutated"
    return made


def turn(text: Any, arguments: Any = '{"path": "a.txt"}', id_: str = "x") -> list[Message]:
    made = reply("I look.")
    made["tool_calls"] = [call(id_, arguments=arguments)]
    return [user("look"), made, result(id_, text), reply("I saw it.")]


def line(messages: list[Message], *more: Message) -> str:
    """The one line the first tool output of a transcript became."""
    made = pruned([system(), *messages, *turn(LONG * 2, id_="filler"), *more, *RECENT])
    return next(str(row["content"]) for row in made.messages if row.get("role") == "tool")


# --- what becomes one line -------------------------------------------------------------------------------------------
def test_a_line_says_what_ran_on_what_how_it_ended_and_its_size() -> None:
    assert line(turn(LONG)) == "[Shortened tool output] read_file(path=a.txt): first line [82 lines, 891 characters]"


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("Collecting\nERROR: no such package\n" + "x\n" * 300, "ERROR: no such package"),
        (json.dumps({"output": "ran\nFileNotFoundError: a.txt\n" + "y" * 400}), "FileNotFoundError: a.txt"),
        ("0 errors\n" + "x\n" * 300, "0 errors"),
        (" \n" * 300, "blank"),
    ],
)
def test_a_line_keeps_the_error(output: str, outcome: str) -> None:
    assert f": {outcome}" in line(turn(output))


def test_a_short_output_stays() -> None:
    made = pruned([system(), *turn("done", id_="a"), *turn("x" * PRUNED_CHARS, id_="b"), *turn(LONG), *RECENT])
    outputs = [row["content"] for row in made.messages if row.get("role") == "tool"]
    assert outputs[:2] == ["done", "x" * PRUNED_CHARS] and outputs[2].startswith(PRUNED)


def test_an_output_hardly_longer_than_its_line_stays() -> None:
    wordy = "y" * (PRUNED_CHARS + 1)
    rows = turn(wordy, json.dumps({"path": "p" * 200}))
    made = pruned([system(), *rows, *turn(LONG * 2, id_="filler"), *RECENT])
    assert made.messages[3]["content"] == wordy


def test_a_row_is_never_longer_in_tokens_either() -> None:
    def spoken(text: str) -> int:
        return len(text.split())

    solid = turn("x" * 900, id_="a")
    made = pruning.compact(
        [system(), *solid, *(row for i in range(9) for row in turn(LONG, id_=f"c{i}"))], SMALL, spoken
    )
    assert made.messages[1:5] == solid and made.report.shortened


def test_a_line_is_not_shortened_again_however_long_it_is() -> None:
    arguments = json.dumps({"path": "p" * 300})
    first = pruned([system(), *turn("e" * 150 + "\n" + LONG, arguments), *RECENT])
    line = first.messages[3]["content"]
    assert len(line) > PRUNED_CHARS
    second = pruned([*first.messages, *turn(LONG * 3, id_="n1"), *turn(LONG * 4, id_="n2"), *RECENT])
    assert second.messages[3]["content"] == line and len(second.report.shortened) >= 2


def test_a_repeated_output_points_to_its_newest_copy_which_may_stand_in_the_tail() -> None:
    same = [*turn(LONG, id_="a"), *turn(LONG, id_="b")]
    assert "the same output stands further down, of call b [" in line(same)
    in_tail = line(same, *RECENT[:-4], *turn(LONG, id_="last"))
    assert "the same output stands further down, of call last [" in in_tail
    made = pruned([system(), *same, *turn(LONG * 2, id_="c"), *RECENT])
    assert ": first line [" in made.messages[7]["content"], "the newest itself keeps its own line"


def test_a_result_without_a_call_names_no_tool_and_is_left_out() -> None:
    made = pruned([system(), user("go"), result("nowhere", LONG), reply("hm"), *turn(LONG * 3), *RECENT])
    assert made.report.repairs == ("Message 3: a tool result without its call was left out.",)
    assert made.report.summarised == (2,)


# --- shapes ----------------------------------------------------------------------------------------------------------
def test_text_parts_become_one_line_and_images_stubs() -> None:
    parts = [{"type": "input_text", "text": LONG}, image(), {"type": "input_text", "text": LONG}, {"type": "x", "y": 1}]
    made = pruned([system(), *turn(parts), *RECENT])
    first, *rest = made.messages[3]["content"]
    assert first["type"] == "input_text" and first["text"].startswith(PRUNED)
    assert rest == [{"type": "text", "text": MEDIA_STUB}, {"type": "x", "y": 1}]


def test_an_image_beside_little_text_becomes_a_stub_and_the_text_stays() -> None:
    made = pruned([system(), *turn([image(), {"type": "text", "text": "page"}]), *RECENT])
    assert made.messages[3]["content"] == [
        {"type": "text", "text": MEDIA_STUB},
        {"type": "text", "text": "page"},
    ]


def test_images_of_users_stay() -> None:
    look = user([{"type": "text", "text": "look"}, image()])
    assert pruned([system(), look, reply("I see."), *turn(LONG), *RECENT]).messages[1] == look


def test_anthropic_blocks_are_shortened_where_they_stand() -> None:
    use = {"type": "tool_use", "id": "t", "name": "write", "input": {"text": words(300), "path": "a.txt", "n": [1.5]}}
    answer = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": LONG}, image()]}
    rest = {"type": "text", "text": "and go on " + words(90)}
    made = pruned([system(), user("go"), reply([use]), user([answer, rest]), reply("ok"), *RECENT])
    block = made.messages[2]["content"][0]
    assert block["input"] == {"text": _cut(words(300)), "path": "a.txt", "n": [1.5]} and block["id"] == "t"
    shorter, kept = made.messages[3]["content"]
    assert shorter["content"][0]["text"].startswith(f"{PRUNED} write(path=a.txt, text=wor wor")
    assert shorter["content"][1]["text"] == MEDIA_STUB and kept == rest


def test_responses_results_are_named_by_call_id() -> None:
    asked: Message = {
        "role": "assistant",
        "tool_calls": [{"id": "fc", "call_id": "c", "name": "ls", "arguments": "{}"}],
    }
    answer: Message = {"role": "tool", "call_id": "c", "content": [{"type": "input_text", "text": LONG}]}
    made = pruned([system(), user("go"), asked, answer, reply("ok"), *RECENT])
    assert made.messages[3]["content"][0]["text"].startswith(f"{PRUNED} ls(")


def test_responses_items_are_shortened_where_they_stand() -> None:
    rows: list[Message] = [
        call_item("a", "write", json.dumps({"text": words(300)})),
        {"type": "custom_tool_call", "call_id": "b", "name": "run", "input": words(90)},
        result_item("a", LONG),
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": LONG * 2}, SHOT]},
    ]
    made = pruned([system(), user("go"), *rows, reply("ok"), *RECENT])
    written, ran, first, second = made.messages[2:6]
    assert written == {**rows[0], "arguments": json.dumps({"text": _cut(words(300))})} and ran == rows[1]
    assert first == {**rows[2], "output": first["output"]} and first["output"].startswith(f"{PRUNED} write(text=")
    assert second["output"][0]["text"].startswith(f"{PRUNED} run(wor wor")
    assert second["output"][1] == {"type": "input_text", "text": MEDIA_STUB} and "content" not in second


# --- arguments -------------------------------------------------------------------------------------------------------
def _cut(text: str) -> str:
    left = len(text) - ARGUMENT_CHARS
    return f"{text[:ARGUMENT_CHARS]} {CUT_SHORT.format(left)}"


def arguments_of(messages: list[Message]) -> Any:
    return pruned([system(), *messages, *turn(LONG * 2, id_="filler"), *RECENT]).messages[2]["tool_calls"]


def test_arguments_as_json_text_keep_every_octet_but_those_of_long_values() -> None:
    long, quoted = "ä\n" * 200, '"\\' * 300
    text = (
        f'{{"id": "call_1",  "n": 1.10, "big": 1e400, "k{"e" * 400}y": 2, "text": {json.dumps(long)},'
        f' "q": {json.dumps(quoted)}}}'
    )
    [made] = arguments_of(turn("done", text))
    cut = made["function"]["arguments"]
    assert cut == text.replace(json.dumps(long), json.dumps(_cut(long))).replace(
        json.dumps(quoted), json.dumps(_cut(quoted))
    )
    assert json.loads(cut)["text"] == _cut(long)


def test_arguments_stay_in_their_container() -> None:
    long = words(300)
    [made] = arguments_of(turn("done", {"text": long, "deep": [{"x": long}]}))
    assert made["function"]["arguments"] == {"text": _cut(long), "deep": [{"x": _cut(long)}]}
    rows = turn("done")
    rows[1]["tool_calls"] = json.dumps([call("x", arguments=json.dumps({"text": long})), 7])
    entry, other = json.loads(arguments_of(rows))
    assert json.loads(entry["function"]["arguments"]) == {"text": _cut(long)} and other == 7


@pytest.mark.parametrize("odd", ["{not json " + "x" * 900, '"' + "x" * 900 + '"', "[" * 50_000, None, 7])
def test_arguments_that_are_no_json_object_stay(odd: Any) -> None:
    [made] = arguments_of(turn("done", odd))
    assert made["function"]["arguments"] == odd


# --- the note --------------------------------------------------------------------------------------------------------
def test_one_note_stands_before_the_tail_where_a_role_fits_it() -> None:
    messages = [system(), *turn(LONG), *(row for i in range(12) for row in tool_turn(i, size=90))]
    made = pruned(messages)
    at = next(i for i, edit in enumerate(made.edits) if isinstance(edit, Insert))
    note = made.messages[at]
    assert [made.messages[i]["role"] for i in (at - 1, at, at + 1)] == ["tool", "user", "assistant"]
    assert is_handoff(note) and is_prune_note(note) and note[FLAG] is True
    shortened = len(made.report.shortened)
    assert made.summary.startswith(f"{PRUNE_SENTENCE} This was done to {shortened} outputs; every message")
    assert made.messages[0] == messages[0], "the system prompt says nothing of a compaction"
    assert abs(made.tokens_after - made.plan.tokens_after_estimate) < 9, "but for tokens at the seams of the note"


def test_between_a_reply_and_a_question_it_is_merged_when_no_better_place_lies_near() -> None:
    messages = [system(), *turn(LONG * 9), *exchange(30)]
    made = pruned(messages)
    [carrier] = [row for row in made.messages if is_handoff(row)]
    [live, note] = compaction.split(carrier["content"])
    assert note.text == made.summary and live.kind == "prior"
    assert live.text == messages[made.plan.tail[0]]["content"]
    assert made.report.notes == (f"The note stands behind the text of message {made.plan.tail[0] + 1}.",)
    assert abs(made.tokens_after - made.plan.tokens_after_estimate) < 9, "what sets the note apart is counted, too"
    with pytest.raises(NothingToCompact):
        pruned(made.messages)


def test_a_note_that_was_merged_is_replaced_where_it_stands() -> None:
    messages = [system(), *turn(LONG * 9), *exchange(30)]
    first = pruned(messages)
    assert first.plan.role is None
    assert pruned([*messages[:5], *first.messages[5:]]).messages == first.messages


def test_a_running_turn_is_shortened_as_well() -> None:
    run = [row for i in range(30) for row in (reply("", f"c{i}"), result(f"c{i}", LONG))]
    made = pruned([system(), user("the task"), reply("On it."), *run])
    assert made.messages[1]["content"] == "the task" and len(made.report.shortened) > 20


def test_earlier_summaries_stay_and_an_earlier_note_is_replaced() -> None:
    real = handoff("What was done.", "user")
    first = pruned([system(), real, reply("Go on."), *turn(LONG * 2), *RECENT])
    assert real in first.messages
    second = pruned([*first.messages, *turn(LONG * 3, id_="n1"), *turn(LONG * 4, id_="n2"), *RECENT])
    assert real in second.messages
    assert [row for row in second.messages if is_prune_note(row)][0]["content"] == second.handoff
    assert sum(map(is_handoff, second.messages)) == 2
    assert "The note of an earlier run is replaced." in second.plan.reasons


def test_an_earlier_summary_stays_with_all_that_is_in_its_row() -> None:
    carrier = handoff("What was done.", "assistant", live="I go on.")
    carrier["tool_calls"] = [call("k", arguments=json.dumps({"text": words(300)}))]
    made = pruned([system(), user("go"), carrier, result("k", LONG), *turn(LONG * 2), *RECENT])
    assert made.messages[2] == carrier and made.messages[3]["content"].startswith(PRUNED)


def test_a_summary_made_later_does_not_take_the_note_for_one() -> None:
    noted = pruned([system(), *turn(LONG * 3), *RECENT])
    later = compaction.plan([*noted.messages, *exchange(20)], SMALL, count)
    assert later.previous_summary == "" and not later.recompaction and later.head == (0, 1, 2, 3)
    assert not any("earlier summar" in reason for reason in later.reasons)
    made = compaction.apply(later, "Short.")
    assert [row["content"] for row in made.messages if is_handoff(row)] == [handoff_text("Short.")]


@pytest.mark.parametrize(
    "messages",
    [[], [system()], exchange(40), [system(), *turn("done"), *RECENT], [handoff(words(900))] * 30, turn(LONG)],
)
def test_too_little_tool_output_is_refused(messages: list[Message]) -> None:
    with pytest.raises(NothingToCompact) as caught:
        pruning.plan(messages, SMALL, count)
    assert caught.value.code == "too_small" and caught.value.reason.endswith(".")


def offered(messages: list[Message], policy: Policy) -> tuple[Strategy, Plan]:
    return first_plan(messages, policy, lambda strategy: strategy.plan(messages, policy, count))


def test_it_is_offered_first_where_it_alone_saves_half() -> None:
    much = [user("Look."), *(row for n in range(9) for row in tool_turn(n, 900)), *exchange(12)]
    strategy, made = offered(much, Policy())
    assert strategy.name == "prune" and made.tokens_after_estimate <= made.tokens_before / 2
    assert offered(much, Policy(can_prune=False))[0].name == "summary"
    desk = [row | {"tool_calls": [call("x", "find_order")]} if "tool_calls" in row else row for row in much]
    assert offered(desk, Policy())[0].name == "prune", "whatever the tools are"
    assert offered(much, Policy(context_window=made.tokens_after_estimate))[0].name == "summary", (
        "the agent would compact"
    )
    little = [user("Look."), *(row for n in range(9) for row in tool_turn(n, 200)), *exchange(200, size=40)]
    strategy, made = offered(little, Policy())
    assert strategy.name == "summary" and pruning.would_win(little, Policy(), count) < made.tokens_before / 2
    with pytest.raises(NothingToCompact):
        offered([user("Hi")], Policy())


def test_where_a_line_for_each_output_is_too_much_no_output_is_looked_at() -> None:
    policy = Policy(context_window=8_000)
    turns = (row for n in range(400) for row in tool_turn(n, 900))
    many = [user("Look."), *(row for row in turns if "tool_calls" in row or "tool_call_id" in row), reply("Done.")]
    assert offered(many, policy)[0].name == "summary"
    assert calls(lambda: offered(many, policy)) < calls(lambda: pruning.plan(many, policy, count)) / 2


def test_keep_last_is_kept() -> None:
    messages = [row for i in range(30) for row in turn(LONG, id_=f"c{i}")]
    made = pruned(messages, Policy(context_window=4_000, keep_last=60))
    assert made.messages[-59:] == messages[-59:] and made.report.shortened


# --- any transcript --------------------------------------------------------------------------------------------------
def run(messages: list[Message], policy: Policy) -> Result:
    bulky = [*turn(LONG, id_="c0"), *messages, *turn(words(400), json.dumps({"text": words(200)}), id_="c1"), *messages]
    before = copy.deepcopy(bulky)
    try:
        made = pruning.compact(bulky, policy, count)
    except NothingToCompact as refusal:
        event(refusal.code)
        assume(False)
    assert bulky == before
    event("note merged" if made.plan.role is None else "note alone")
    return made


@SETTINGS
@given(transcripts, policies)
def test_only_tool_output_and_arguments_change(messages: list[Message], policy: Policy) -> None:
    made = run(messages, policy)
    rows = made.plan.messages
    assert sorted((*made.plan.head, *made.plan.middle, *made.plan.tail, *made.plan.lifted)) == list(range(len(rows)))
    named = []
    for edit, row in zip(made.edits, made.messages, strict=True):
        if isinstance(edit, Insert):
            continue
        named.append(edit.index)
        was = rows[edit.index]
        assert m.role(row) == m.role(was)
        repaired = f"Message {edit.index + 1}:" in str(made.report.repairs)
        if m.role(was) not in m.RESULT_ROLES and not repaired:
            assert own_words(row) == own_words(was)
        if edit.index in made.plan.tail and not repaired and not is_prune_note(row):
            assert row == was or is_prune_note(was)
        for old, new in zip(m.call_entries(was), m.call_entries(row), strict=False):
            if len(m.call_entries(was)) == len(m.call_entries(row)):
                assert_same_container(old, new)
    assert named == sorted(set(named))
    dropped = set(range(len(rows))) - set(named) - set(made.plan.lifted)
    assert all(left_out(i, rows[i]) in made.report.repairs for i in dropped)


def own_words(row: Message) -> str:
    """What a row says besides results and notes of this strategy."""
    return m.said(m.live_content(row) if is_prune_note(row) else row.get("content")).strip()


def assert_same_container(old: dict[str, Any], new: dict[str, Any]) -> None:
    """The same call; its arguments of the same type, JSON where they were JSON, with the same keys."""
    inner_old, inner_new = (each.get("function", each) for each in (old, new))
    assert m.call_ids(old) == m.call_ids(new)
    if not isinstance(inner_old, dict):
        return
    was, now = inner_old.get("arguments"), inner_new.get("arguments")
    assert type(was) is type(now)
    if isinstance(was, str) and was != now:
        assert json.loads(was).keys() == json.loads(str(now)).keys()


@SETTINGS
@given(transcripts, policies)
def test_one_note_pairs_and_roles_and_smaller(messages: list[Message], policy: Policy) -> None:
    made = run(messages, policy)
    loose = loose_ends(made.messages)
    assert not loose.calls and not loose.results
    notes = [i for i, row in enumerate(made.messages) if is_prune_note(row)]
    assert len(notes) == 1
    if made.plan.role is not None:
        [at] = notes
        around = [m.role_beside(row) for row in (*made.messages[at - 1 : at], *made.messages[at + 1 : at + 2])]
        assert made.plan.role not in around
    assert made.tokens_after < made.tokens_before
    assert isinstance(made.plan, pruning.PrunePlan)
    for i in made.plan.middle:
        assert made.plan.shorter[i].tokens < made.plan.sizes[i]


@SETTINGS
@given(transcripts, policies)
def test_a_second_run_finds_nothing(messages: list[Message], policy: Policy) -> None:
    made = run(messages, policy)
    try:
        again = pruning.compact(made.messages, policy, count)
    except NothingToCompact as refusal:
        assert refusal.code == "too_small"
    else:
        raise AssertionError(f"{len(again.plan.middle)} messages were shortened again")


@pytest.mark.slow
def test_ten_thousand_messages_are_counted_once() -> None:
    def work(n: int) -> int:
        characters = 0

        def counting(text: str) -> int:
            nonlocal characters
            characters += len(text)
            return count(text)

        pruning.compact([row for i in range(n) for row in turn(f"{i} {LONG}", id_=f"c{i}")], SMALL, counting)
        return characters

    assert work(2_500) < 4.2 * work(625)
