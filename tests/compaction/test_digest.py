"""What a summariser is given, the fold through any window, and which answers are refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from compaction import (
    Message,
    NothingToCompact,
    Plan,
    Policy,
    SummaryRejected,
    SummaryRequest,
    counter_for,
    offline,
    plan,
    summarize,
)
from compaction.handoff import handoff_text, is_handoff
from compaction.llm import digest
from compaction.llm.chunks import chunks_of, cut_to_fit
from compaction.llm.digest import Finished, fold, request_of
from compaction.llm.prompt import prompt_of
from compaction.llm.transcript import entries
from compaction.policy import LONGEST_SUMMARY, PROMPT_TOKENS, SMALLEST_CHUNK_TOKENS
from tests.compaction.properties import SETTINGS
from tests.compaction.transcripts import (
    count,
    exchange,
    handoff,
    image,
    reply,
    result,
    system,
    tool_turn,
    transcripts,
    user,
    words,
)

POLICY = Policy(context_window=4_000, focus="the refund")


def asked(messages: list[dict[str, Any]], today: date | None = None) -> SummaryRequest:
    requests: list[SummaryRequest] = []

    def ask(request: SummaryRequest) -> str:
        requests.append(request)
        return "A summary."

    assert summarize(plan(messages, POLICY, count), ask, today=today) == "A summary."
    return requests[0]


def test_the_request_holds_the_middle_and_what_is_known_besides() -> None:
    messages = exchange(30)
    made = plan(messages, POLICY, count)
    request = asked(messages, date(2026, 11, 21))
    assert request.turns == tuple(messages[i] for i in made.middle)
    assert (request.previous_summary, request.focus, request.today) == ("", "the refund", date(2026, 11, 21))
    assert request.budget_tokens == made.summary_budget and request.count is count


@pytest.mark.parametrize("secret", ["hunter2", "correcthorse"])
def test_no_password_of_a_focus_reaches_the_summary(secret: str) -> None:
    said = f"never use password {secret} in prod" if secret == "hunter2" else f"the login; its password is {secret}"
    request = request_of(plan(exchange(30), Policy(context_window=4_000, focus=said), count))
    assert "[REDACTED]" in request.focus and secret not in offline.summarize(request)
    assert secret not in prompt_of(request).user


def test_earlier_handoffs_are_not_turns() -> None:
    carrier = {**handoff("older", live="a question"), "api_content": "sent bytes"}
    request = asked([handoff("oldest"), reply("ok"), carrier, *exchange(30)[1:]])
    assert request.turns[1] == {"role": "user", "content": "a question"}
    assert request.previous_summary == "oldest\n\nolder"
    assert not any(is_handoff(turn) for turn in request.turns)


def test_secrets_do_not_leave() -> None:
    key = "sk-ant-" + "a1B2" * 8
    secret = [
        user(f"my key is {key}"),
        reply([{"type": "text", "text": f"noted {key}"}]),
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": key}}]},
        result("a", f"echo {key}"),
        {"type": "function_call_output", "call_id": "a", "output": f"echo {key}"},
        {"type": "mcp_call", "arguments": key},
    ]
    request = asked([handoff(f"used {key}"), *exchange(3), *secret, *exchange(30)])
    shown = repr((request.turns, request.previous_summary))
    assert key not in shown and shown.count("[REDACTED]") == 7
    assert key in repr(secret), "the input is untouched"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        (None, "not_text"),
        (["text"], "not_text"),
        ("## Goal\nShip.\n\n## Next", "cut_off"),
        ("## Goal\nShip.\n\n##", "cut_off"),
        ("## Goal\n```python\nprint(1)", "cut_off"),
        ("## Goal\n- ship\n-", "cut_off"),
        ("## Goal\n1. ship\n2.", "cut_off"),
        ("The user asked for tests, docs,", "cut_off"),
        ("用户要求测试、文档、", "cut_off"),
        ("The address is (", "cut_off"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        ("I’m really sorry, but I cannot assist with this request.", "refusal"),
        ("I cannot provide a summary of this conversation.", "refusal"),
        ("I am unable to comply with that.", "refusal"),
        ("Sorry, I won't be able to do this. I can't.", "refusal"),
        ("As an AI language model, I have no opinion.", "refusal"),
        ("Es tut mir leid, aber dabei kann ich nicht helfen.", "refusal"),
        ("Ich kann dabei leider nicht helfen.", "refusal"),
        ("Je suis désolé, mais je ne peux pas vous aider.", "refusal"),
        ("Lo siento, pero no puedo ayudarte con eso.", "refusal"),
        ("Desculpe, mas não posso ajudar com isso.", "refusal"),
        ("Mi dispiace, ma non posso aiutarti.", "refusal"),
        ("Извините, но я не могу помочь с этим.", "refusal"),
        ("抱歉，我无法协助处理这个请求。", "refusal"),
        ("申し訳ありませんが、その依頼にはお応えできません。", "refusal"),
        ("죄송하지만 도와드릴 수 없습니다.", "refusal"),
    ],
)
def test_answers_that_are_no_summary_are_refused(answer: Any, code: str) -> None:
    with pytest.raises(SummaryRejected) as caught:
        summarize(plan(exchange(30), POLICY, count), lambda request: answer)
    assert caught.value.code == code and caught.value.reason.endswith(".")


@pytest.mark.parametrize(
    "answer",
    [
        "I cannot complete the booking until the user names a card.",
        "I can't delete the rows without approval; the user was asked.",
        "Sorry was what the user wanted to hear, and an apology was sent.",
        "The assistant said: I'm sorry, but I can't help with that.",
        "## Active task\nI'm sorry, but I can't help with that.",
        "I'm sorry, but I can't see the images.\n\n## Active task\n- Describe the images.",
        "I'm sorry, but I can't find the file. " + words(130),
        "Files:\na.py,\nb.py,",
        "```json\n[1,\n```",
        "## Goal\n- Ship.\n\n-- Bob",
        "Pass **kwargs to `f",
        "Short.",
    ],
)
def test_good_answers_that_look_odd_are_taken(answer: str) -> None:
    assert summarize(plan(exchange(30), POLICY, count), lambda request: answer) == answer


def test_an_answer_in_a_handoffs_clothes_is_undressed_and_redacted() -> None:
    text = handoff_text("Logged in with password=hunter22 at the shop.")
    assert summarize(plan(exchange(30), POLICY, count), lambda request: text) == (
        "Logged in with password=[REDACTED] at the shop."
    )


def test_what_the_model_call_raises_passes_through() -> None:
    def ask(request: SummaryRequest) -> str:
        raise TimeoutError("the model did not answer")

    with pytest.raises(TimeoutError):
        summarize(plan(exchange(30), POLICY, count), ask)


def test_a_request_for_a_long_middle_reads_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    redacted: list[int] = []

    def watched(text: str) -> str:
        redacted.append(len(text))
        return text

    monkeypatch.setattr(digest, "redact", watched)
    monkeypatch.setattr(digest, "redact_value", lambda value: watched(str(value)))
    made = plan(exchange(5_000, size=300), Policy(context_window=20_000), count)
    assert made.summary_budget == 1_000
    counted: list[int] = []
    made.sizes.count = lambda text: counted.append(len(text)) or count(text)  # type: ignore[func-returns-value]
    request = request_of(made)
    assert sum(redacted) == len(request.previous_summary + request.focus) == 0 and not counted
    assert len(request.turns) == len(made.middle) and sum(redacted) > 10_000_000, "what is read is counted here"


# --- the fold --------------------------------------------------------------------------------------------------------
SMALL = Policy(context_window=4_000)  # summaries of up to 200 tokens, answers of up to 300
WINDOW = 2_800  # leaves 1,000 for everything in one request, 700 for a chunk
ROOM = WINDOW - PROMPT_TOKENS - 2 * 300


def conversation(n: int = 60) -> list[Message]:
    """Questions, answers and tool groups, each sentence with a number of its own."""
    return [row for i in range(n) for row in ([*exchange(1, first=i)] if i % 3 else tool_turn(i, parallel=2))]


def parts(made: Plan, window: int | None = WINDOW, **known: Any) -> list[SummaryRequest]:
    """Every request of a fold, each answered with a summary that says how far it got."""
    requests: list[SummaryRequest] = []

    def ask(request: SummaryRequest) -> str:
        requests.append(request)
        return f"Up to part {request.chunk}."

    summarize(made, ask, window=window, **known)
    return requests


def planned(messages: list[Message], policy: Policy = SMALL) -> Plan:
    try:
        return plan(messages, policy, count)
    except NothingToCompact:
        assume(False)
        raise


def test_what_fits_is_one_request() -> None:
    made = plan(conversation(20), SMALL, count)
    [whole], [fitting] = parts(made, None), parts(made, 10_000)
    assert whole.digest == fitting.digest == "".join(entry.text for entry in entries(whole.sources))
    assert (fitting.chunk, fitting.chunks, fitting.begins_inside) == (1, 1, "")
    assert whole.budget_tokens == made.summary_budget and whole.key == fitting.key


def test_each_part_updates_the_summary_of_the_parts_before() -> None:
    requests = parts(plan(conversation(), SMALL, count), today=date(2026, 11, 21))
    total = len(requests)
    assert total > 5 and [(r.chunk, r.chunks) for r in requests] == [(k, total) for k in range(1, total + 1)]
    assert [r.previous_summary for r in requests] == ["", *(f"Up to part {k}." for k in range(1, total))]
    assert {r.today for r in requests} == {date(2026, 11, 21)}


def test_every_sentence_is_in_exactly_one_part_and_every_result_in_one() -> None:
    made = plan(conversation(), SMALL, count)
    requests = parts(made)
    for i in made.middle:
        content = made.messages[i]["content"]
        if content:
            assert [content in r.digest for r in requests].count(True) == 1
            assert [made.messages[i] in r.sources for r in requests].count(True) == 1


def test_a_call_and_its_results_stay_in_one_part() -> None:
    requests = parts(plan(conversation(), SMALL, count))
    calls = sum("[call 1: " in r.digest for r in requests)
    assert calls > 3
    for request in requests:
        assert request.digest.count("[call ") == request.digest.count(", result of call ")


def test_a_group_larger_than_a_part_is_cut_between_its_messages() -> None:
    big = tool_turn(0, size=200, parallel=8)
    requests = parts(plan([*exchange(2), *big, *exchange(30)], SMALL, count))
    outputs = [row["content"] for row in big if row["role"] == "tool"]
    assert all([text in r.digest for r in requests].count(True) == 1 for text in outputs)
    assert all(count(r.digest) <= ROOM for r in requests)


def test_one_message_larger_than_a_part_is_cut_at_its_lines_and_says_so() -> None:
    lines = [f"Line {i}: {words(20)}." for i in range(200)]
    made = plan([*exchange(2), reply("\n".join(lines)), *exchange(30)], SMALL, count)
    requests = parts(made)
    inside = [r for r in requests if r.begins_inside]
    assert len(inside) > 5
    assert all(r.begins_inside == "message 3, assistant" and r.sources[0] == made.messages[4] for r in inside[:-1])
    for line in lines:
        assert [line in r.digest for r in requests].count(True) == 1


def test_an_earlier_summary_is_carried_or_read_as_material_if_it_is_too_long() -> None:
    middle = conversation()[1:]
    short, long = "Earlier work.", " ".join(f"fact{i}" for i in range(400))
    assert parts(plan([handoff(short), *middle], SMALL, count))[0].previous_summary == short
    made = plan([handoff(long), *middle], SMALL, count)
    requests = parts(made)
    text = "".join(r.digest for r in requests)
    assert requests[0].previous_summary == "" and text.startswith("[earlier summary]\nfact0 ") and long in text
    assert sum((r.sources for r in requests), ()) == request_of(made).sources
    assert parts(made, 20_000)[0].previous_summary == long


@pytest.mark.parametrize("window", [1, 1_500, WINDOW - ROOM + SMALLEST_CHUNK_TOKENS - 1])
def test_a_window_too_small_for_anything_is_refused(window: int) -> None:
    made = plan(conversation(), SMALL, count)
    with pytest.raises(SummaryRejected) as caught:
        parts(made, window)
    assert caught.value.code == "window_too_small" and f"{window:,} tokens" in caught.value.reason
    assert len(parts(made, WINDOW - ROOM + SMALLEST_CHUNK_TOKENS)) > 100


def test_a_long_focus_has_its_room_too() -> None:
    made = plan(conversation(), Policy(context_window=4_000, focus=words(2_000)), count)
    for request in parts(made, WINDOW + 2_000):
        prompt = prompt_of(request)
        assert count(prompt.system) + count(prompt.user) + 300 <= WINDOW + 2_000


@pytest.mark.parametrize(
    ("answer", "code"), [("", "empty"), ("- a\n-", "cut_off"), (words(301), "too_long"), ("Sorry, I can't.", "refusal")]
)
def test_a_bad_answer_to_any_part_stops_the_fold_and_the_finished_parts_stay(answer: str, code: str) -> None:
    kept: list[Finished] = []
    with pytest.raises(SummaryRejected) as caught:
        summarize(
            plan(conversation(), SMALL, count),
            lambda request: answer if request.chunk == 3 else "Fine.",
            window=WINDOW,
            on_chunk=kept.append,
        )
    assert caught.value.code == code and [done.summary for done in kept] == ["Fine.", "Fine."]


def test_a_rejected_answer_leaves_the_request_to_be_asked_again() -> None:
    steps = fold(plan(conversation(), SMALL, count), WINDOW)
    first = steps.request
    with pytest.raises(SummaryRejected):
        steps.take("")
    assert steps.request is first and not steps.finished
    while steps.request:
        steps.take("Fine.")
    assert steps.summary == "Fine." and len(steps.finished) == first.chunks if first else False
    with pytest.raises(ValueError, match="answered"):
        steps.take("More.")


def test_summaries_are_redacted_before_they_are_carried() -> None:
    key = "sk-ant-" + "a1B2" * 8
    steps = fold(plan(conversation(), SMALL, count), WINDOW)
    steps.take(f"Used {key}.")
    assert steps.request and steps.request.previous_summary == "Used [REDACTED]." == steps.summary


# --- resuming --------------------------------------------------------------------------------------------------------
def finished_of(made: Plan, window: int | None = WINDOW) -> list[Finished]:
    kept: list[Finished] = []
    summarize(made, lambda r: f"Up to part {r.chunk}.", window=window, on_chunk=kept.append)
    return kept


def test_a_fold_goes_on_behind_any_number_of_finished_parts() -> None:
    made = plan(conversation(), SMALL, count)
    whole, kept = parts(made), finished_of(made)
    assert len(kept) == len(whole)
    for n in range(len(kept) + 1):
        known = [Finished(**done) for done in json.loads(json.dumps([asdict(done) for done in kept[:n]]))]
        rest = parts(made, finished=known, today=date(2026, 11, 22))
        assert [(r.chunk, r.digest, r.previous_summary) for r in rest] == [
            (r.chunk, r.digest, r.previous_summary) for r in whole[n:]
        ]
        assert summarize(made, lambda r: f"Up to part {r.chunk}.", window=WINDOW, finished=known) == kept[-1].summary


def test_what_changed_is_asked_again_from_the_first_difference_on() -> None:
    messages = conversation()
    kept = finished_of(plan(messages, SMALL, count))
    asked_again = {}
    for name, changed in {
        "nothing": plan(messages, SMALL, count),
        "focus": plan(messages, Policy(context_window=4_000, focus="x"), count),
        "first": plan([*messages[:4], user("Changed."), *messages[5:]], SMALL, count),
        "later": plan([*messages[:60], user("Changed."), *messages[61:]], SMALL, count),
    }.items():
        asked_again[name] = len(parts(changed, finished=kept))
    assert asked_again["nothing"] == 0 and asked_again["focus"] >= len(kept) and asked_again["first"] >= len(kept)
    assert 1 < asked_again["later"] < len(kept) - 1
    made = plan(messages, SMALL, count)
    assert len(parts(made, WINDOW - 100, finished=kept)) == len(parts(made, WINDOW - 100))
    assert len(parts(made, finished=[kept[0], Finished(kept[1].key, "Edited."), *kept[2:]])) == len(kept) - 2
    assert len(parts(made, finished=[kept[1], *kept])) == len(kept)
    assert len(parts(made, finished=[Finished(kept[0].key, " "), *kept])) == 0, "an unusable one is passed over"


def test_a_transcript_that_went_on_uses_the_parts_it_still_has() -> None:
    messages = conversation()
    kept = finished_of(plan(messages, SMALL, count))
    longer = plan([*messages, *exchange(20, first=100)], SMALL, count)
    assert parts(longer, finished=kept)[0].chunk in (len(kept), len(kept) + 1)


# --- properties ------------------------------------------------------------------------------------------------------
@SETTINGS
@given(transcripts, st.sampled_from([None, 2_264, 2_400, 5_000]), st.sampled_from(["", "the refund"]))
def test_any_transcript_folds_into_parts_that_fit(messages: list[Message], window: int | None, focus: str) -> None:
    made = planned(messages, Policy(context_window=4_000, focus=focus))
    window = window and window + count(focus)
    requests = parts(made, window)
    text = "".join(r.digest for r in requests)
    whole = request_of(made)
    assert text.endswith(whole.digest) and (text == whole.digest or text.startswith("[earlier summary]\n"))
    for request in requests if window else ():
        prompt = prompt_of(request)
        answer = int(request.budget_tokens * LONGEST_SUMMARY)
        assert window and count(prompt.system) + count(prompt.user) + answer <= window
    assert parts(made, window, finished=finished_of(made, window)) == []


@SETTINGS
@given(st.lists(st.text(max_size=400), max_size=20), st.integers(1, 60), st.sampled_from(["chars", "gpt-5", "gpt-4"]))
def test_chunks_are_the_digest_and_within_the_room(texts: list[str], room: int, counter: str) -> None:
    tokens = count if counter == "chars" else counter_for(counter)
    shown = entries([user(text) for text in texts])
    chunks = list(chunks_of(shown, [tokens(entry.text) for entry in shown], room, tokens))
    assert "".join(chunk.text for chunk in chunks) == "".join(entry.text for entry in shown)
    assert all(chunk.text and (tokens(chunk.text) <= room or len(chunk.text) == 1) for chunk in chunks)
    for before, after in pairwise(chunks):
        assert after.first == before.last + (0 if after.begins_inside else 1)
    starts = set(accumulate((len(entry.text) for entry in shown), initial=0))
    for at, chunk in zip(accumulate((len(chunk.text) for chunk in chunks), initial=0), chunks, strict=False):
        assert chunk.begins_inside == ("" if at in starts else shown[chunk.first].label)


@SETTINGS
@given(st.text(), st.integers(1, 30), st.integers(0, 5))
def test_any_text_is_cut_without_loss_by_any_counter(text: str, room: int, price: int) -> None:
    assert "".join(cut_to_fit(text, room, lambda piece: price * len(piece))) == text


def test_the_work_of_a_fold_grows_with_the_transcript() -> None:
    def counted(n: int) -> int:
        done: list[int] = []

        def watched(text: str) -> int:
            done.append(len(text))
            return count(text)

        made = plan([*exchange(2), reply("x" * n), user("y. " * (n // 3)), *exchange(n // 500)], SMALL, count)
        chunks = fold(Plan(**{**vars(made), "count": watched}), WINDOW).request
        assert chunks and chunks.chunks > n / (ROOM * 4)
        return sum(done)

    assert counted(400_000) < 2.2 * counted(200_000) < 200_000 * 20


def test_images_and_system_rows_of_the_middle_are_there() -> None:
    rows = [user([{"type": "text", "text": "See:"}, image()]), reply("ok"), system("Be brief."), *conversation(20)]
    text = parts(plan([*exchange(2), *rows], SMALL, count))[0].digest
    assert "[image]" in text and ", system]\nBe brief." in text
