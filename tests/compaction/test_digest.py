"""What a summariser is given, and which answers are refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from compaction import Policy, SummaryRejected, SummaryRequest, plan, protocol, summarize
from tests.compaction.transcripts import count, exchange, handoff, reply, result, user

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


def test_earlier_handoffs_are_not_turns() -> None:
    carrier = {**handoff("older", live="a question"), "api_content": "sent bytes"}
    request = asked([handoff("oldest"), reply("ok"), carrier, *exchange(30)[1:]])
    assert request.turns[1] == {"role": "user", "content": "a question"}
    assert request.previous_summary == "oldest\n\nolder"
    assert not any(protocol.is_handoff(turn) for turn in request.turns)


def test_secrets_do_not_leave() -> None:
    key = "sk-ant-" + "a1B2" * 8
    secret = [
        user(f"my key is {key}"),
        reply([{"type": "text", "text": f"noted {key}"}]),
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": key}}]},
        result("a", f"echo {key}"),
    ]
    request = asked([handoff(f"used {key}"), *exchange(3), *secret, *exchange(30)])
    shown = repr((request.turns, request.previous_summary))
    assert key not in shown and shown.count("[REDACTED]") == 5
    assert key in repr(secret), "the input is untouched"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        (None, "not_text"),
        (["text"], "not_text"),
        ("## Goal\nShip.\n\n## Next", "cut_off"),
        ("## Goal\n```python\nprint(1)", "cut_off"),
        ("## Goal\n- ship\n-", "cut_off"),
        ("The user asked for tests, docs,", "cut_off"),
    ],
)
def test_answers_that_are_no_summary_are_refused(answer: Any, code: str) -> None:
    with pytest.raises(SummaryRejected) as caught:
        summarize(plan(exchange(30), POLICY, count), lambda request: answer)
    assert caught.value.code == code and caught.value.reason.endswith(".")


def test_an_answer_in_a_handoffs_clothes_is_undressed_and_redacted() -> None:
    text = protocol.handoff_text("Logged in with password=hunter22 at the shop.")
    assert summarize(plan(exchange(30), POLICY, count), lambda request: text) == (
        "Logged in with password=[REDACTED] at the shop."
    )


def test_what_the_model_call_raises_passes_through() -> None:
    def ask(request: SummaryRequest) -> str:
        raise TimeoutError("the model did not answer")

    with pytest.raises(TimeoutError):
        summarize(plan(exchange(30), POLICY, count), ask)
