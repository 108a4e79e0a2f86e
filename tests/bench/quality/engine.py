"""The engine as the yardsticks call it: the only module here that knows its names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import compaction
from compaction import NothingToCompact, Policy, SummaryRequest, offline, pruning
from tests.bench.quality.messages import Message, pieces

POLICY = Policy(context_window=200_000)
count = lru_cache(maxsize=100_000)(compaction.counter_for("gpt-5"))


@dataclass(frozen=True)
class Compacted:
    """A compaction: the context it leaves, the summary in it and the messages that this stands for.

    Where it is refused, `refused` is why, and `left` are the messages as they were.
    """

    left: list[Message]
    summary: str = ""
    replaced: tuple[Message, ...] = ()
    budget: int = 0
    refused: str = ""


class Engine(Protocol):
    """What is measured."""

    def compact(self, messages: Sequence[Message]) -> Compacted:
        """Compact a context as it is done by default."""

    def summary_of(self, messages: Sequence[Message], earlier: str, characters: int) -> str:
        """The body of a summary of all these messages and an earlier one, in so many characters."""


class Palimpsest:
    """A plan, a summary made without a model in the plan's own room, applied."""

    def compact(self, messages: Sequence[Message]) -> Compacted:
        try:
            plan = compaction.plan(messages, POLICY, count)
        except NothingToCompact as refusal:
            return Compacted(list(messages), refused=refusal.code)
        summary = compaction.summarize(plan, offline.summarize)
        left = compaction.apply(plan, summary).messages
        replaced = tuple(plan.messages[i] for i in plan.middle)
        return Compacted(list(left), summary, replaced, plan.summary_budget)

    def summary_of(self, messages: Sequence[Message], earlier: str, characters: int) -> str:
        request = SummaryRequest(tuple(messages), earlier, budget_tokens=max(characters // 4, 16), count=_quarters)
        return offline.summarize(request)[:characters]


def pruned(messages: Sequence[Message]) -> list[Message]:
    """The context with old tool output shortened, as it was where that is refused."""
    try:
        return list(pruning.compact(messages, POLICY, count).messages)
    except NothingToCompact:
        return list(messages)


def is_enough(messages: Sequence[Message]) -> bool:
    """Whether a context is so small that an agent would not compact it by itself."""
    return tokens(messages) <= POLICY.enough


def tokens(messages: Sequence[Message]) -> int:
    """Tokens of all that messages hold: words, calls with their arguments, results."""
    return sum(count(piece) for message in messages for piece in pieces(message))


def _quarters(text: str) -> int:
    return (len(text) + 3) // 4
