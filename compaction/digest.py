"""What a summariser reads, and what it must give back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from . import messages as m
from . import protocol
from .apply import accepted
from .errors import SummaryRejected
from .messages import Message
from .plan import Plan
from .secrets import redact
from .tokens import Counter


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """The material of one summary, redacted.

    `turns` are the messages to summarise, oldest first, earlier handoffs taken off; `previous_summary` the body of
    those; `budget_tokens` how long the answer may be by `count`; `today` the date of the compaction, if known.
    """

    turns: tuple[Message, ...]
    previous_summary: str
    focus: str
    budget_tokens: int
    today: date | None
    count: Counter


Ask = Callable[[SummaryRequest], str]


def request_of(plan: Plan, today: date | None = None) -> SummaryRequest:
    """The request for a plan: its middle unwrapped, with secrets taken out."""
    turns = tuple(_readable(plan.messages[i]) for i in plan.middle)
    return SummaryRequest(
        turns, redact(plan.previous_summary), plan.policy.focus, plan.summary_budget, today, plan.count
    )


def summarize(plan: Plan, ask: Ask, *, today: date | None = None) -> str:
    """Have the plan's middle summarised by `ask`, which does the I/O; the body of the new handoff.

    Raises SummaryRejected if the answer is not text, empty, or visibly cut off. What `ask` raises passes through.
    """
    body = redact(accepted(ask(request_of(plan, today))))
    if _cut_off(body):
        raise SummaryRejected("cut_off", "The summary breaks off in the middle.")
    return body


def _cut_off(body: str) -> bool:
    """Whether the text ends where no text ends: inside a code fence, on a bare heading or bullet, after a comma."""
    last = body.splitlines()[-1].strip()
    fences = sum(line.lstrip().startswith("```") for line in body.splitlines())
    return fences % 2 == 1 or last.startswith("## ") or last in ("-", "*", "#", "##") or last.endswith((",", "(", "["))


def _readable(message: Message) -> Message:
    """The message without an earlier handoff and without secrets; the input is not changed."""
    turn = dict(message)
    if protocol.is_handoff(message):
        turn["content"] = m.live_content(message)
        turn.pop(protocol.FLAG, None)
    turn.pop("api_content", None)  # may hold injected memory
    for key in ("content", "tool_calls"):
        if turn.get(key):
            turn[key] = _redacted(turn[key])
    return turn


def _redacted(value: Any, depth: int = 6) -> Any:
    """The value with every string in it redacted, as deep as real messages nest."""
    if isinstance(value, str):
        return redact(value)
    if depth and isinstance(value, list):
        return [_redacted(item, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return {key: _redacted(item, depth - 1) for key, item in value.items()}
    return value
