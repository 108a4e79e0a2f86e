"""What a summariser reads, and what it must give back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

from . import messages as m
from . import protocol
from .apply import accepted
from .errors import SummaryRejected
from .messages import Message
from .plan import Plan
from .secrets import redact
from .tokens import Counter


@dataclass(frozen=True)
class SummaryRequest:
    """The material of one summary; what is made of it is made when first read.

    `sources` are the messages to summarise, oldest first, earlier handoffs taken off, secrets still in them;
    `previous_summary` the body of those handoffs; `budget_tokens` how long the answer may be by `count`; `today` the
    date of the compaction, if known. Where a transcript is folded, this is part `chunk` of `chunks`.
    """

    sources: tuple[Message, ...] = field(repr=False)
    previous_summary: str = ""
    focus: str = ""
    budget_tokens: int = protocol.MIN_SUMMARY_TOKENS
    today: date | None = None
    count: Counter = field(kw_only=True, repr=False)
    chunk: int = 1
    chunks: int = 1

    @cached_property
    def turns(self) -> tuple[Message, ...]:
        """The sources with secrets taken out."""
        return tuple(_redacted(message) for message in self.sources)


Ask = Callable[[SummaryRequest], str]


def request_of(plan: Plan, today: date | None = None) -> SummaryRequest:
    """The request for a plan: its middle, unwrapped. Costs no reading of the middle's text."""
    return SummaryRequest(
        tuple(_unwrapped(plan.messages[i]) for i in plan.middle),
        redact(plan.previous_summary),
        plan.policy.focus,
        plan.summary_budget,
        today,
        count=plan.count,
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


def _unwrapped(message: Message) -> Message:
    """The message without an earlier handoff; itself if it carries none."""
    if not protocol.is_handoff(message):
        return message
    turn = {key: value for key, value in message.items() if key != protocol.FLAG}
    return {**turn, "content": m.live_content(message)}


def _redacted(message: Message) -> Message:
    """The message without secrets, and without Hermes' copy of what was sent, which may hold injected memory."""
    turn = {key: value for key, value in message.items() if key != "api_content"}
    for key in ("content", "tool_calls"):
        if turn.get(key):
            turn[key] = _without_secrets(turn[key])
    return turn


def _without_secrets(value: Any, depth: int = 6) -> Any:
    """The value with every string in it redacted, as deep as real messages nest."""
    if isinstance(value, str):
        return redact(value)
    if depth and isinstance(value, list):
        return [_without_secrets(item, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return {key: _without_secrets(item, depth - 1) for key, item in value.items()}
    return value
