"""The ways to make a context smaller: each makes a plan, asks a model if it needs one, and applies both.

A new way is added here. One whose model answers with content blocks that only its provider can read (a native
compaction) is a Strategy whose `apply` takes them; the site stores a summary as text, so it has to pass the blocks from
`runs/providers/summarizers.py` (`ask`) through `runs/job.py` and `runs/candidate.py` to a field of `runs/models.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from . import messages as m
from . import pruning
from .applying import Result, apply
from .errors import NothingToCompact, SummaryRejected
from .messages import Message
from .planning import Plan, plan
from .policy import ARGUMENT_CHARS, CHARACTERS_A_TOKEN, Policy
from .tokens import Counter

LINE_CHARS = 120  # about the length of a line that replaces a long output
SAVES_HALF = 0.5  # of the context: from this on shortening tool output is offered before a summary
Answer = str | Sequence[Mapping[str, Any]]  # text, or content blocks as a provider gave them


class Strategy(ABC):
    """One way. `label` is what people choose; `doing` is shown while it runs, before the number of messages."""

    name: str
    label: str
    doing: str
    asks_model: bool = True
    carries_rules: bool = True  # whether a workspace's rules are appended to what it writes

    @abstractmethod
    def plan(self, messages: Sequence[Message], policy: Policy, count: Counter) -> Plan:
        """Decide which messages stay unchanged. Raises NothingToCompact, BadTranscript."""

    @abstractmethod
    def apply(self, plan: Plan, answer: Answer) -> Result:
        """The context made from the plan and the answer, which is "" if no model was asked. Raises SummaryRejected,
        BadTranscript.
        """


class Summary(Strategy):
    """Replaces the middle by a summary in text."""

    name, label, doing = "summary", "Summarise", "Summarising"

    def plan(self, messages: Sequence[Message], policy: Policy, count: Counter) -> Plan:
        """The plan; if it is refused and pruning would gain enough, the refusal says so."""
        try:
            return plan(messages, policy, count)
        except NothingToCompact as refusal:
            won = pruning.would_win(messages, policy, count) if policy.can_prune else 0
            if not won:
                raise
            reason = f"{refusal.reason} Shortening old tool output would win {won:,} tokens."
            raise NothingToCompact(refusal.code, reason, instead=Prune.name) from None

    def apply(self, plan: Plan, answer: Answer) -> Result:
        if not isinstance(answer, str):
            raise SummaryRejected("not_text", "The summary is no text.")
        return apply(plan, answer)


class Prune(Strategy):
    """Shortens old tool output in place."""

    name, label, doing = "prune", "Shorten tool output", "Shortening the tool output of"
    asks_model = carries_rules = False

    def plan(self, messages: Sequence[Message], policy: Policy, count: Counter) -> Plan:
        return pruning.plan(messages, policy, count)

    def apply(self, plan: Plan, answer: Answer) -> Result:
        assert isinstance(plan, pruning.PrunePlan)
        return pruning.apply(plan)


STRATEGIES: dict[str, Strategy] = {each.name: each for each in (Summary(), Prune())}
OLD_NAMES = {"mask": "prune"}  # accepted until December 2027


def named(name: str) -> Strategy | None:
    """The strategy of this name, or of an old name; None if there is none."""
    return STRATEGIES.get(OLD_NAMES.get(name, name))


def first_plan(
    messages: Sequence[Message], policy: Policy, planned: Callable[[Strategy], Plan]
) -> tuple[Strategy, Plan]:
    """The strategy to offer first, and its plan, which `planned` makes. This is pruning, if it alone saves half of the
    context and leaves less than the threshold at which agents compact, because all words of people and the agent stay.
    Otherwise it is a summary.

    Raises NothingToCompact, BadTranscript.
    """
    if policy.can_prune and _may_fit(messages, policy):
        with suppress(NothingToCompact):
            shorter = planned(STRATEGIES[Prune.name])
            if shorter.tokens_after_estimate <= min((1 - SAVES_HALF) * shorter.tokens_before, policy.enough):
                return STRATEGIES[Prune.name], shorter
    return STRATEGIES[Summary.name], planned(STRATEGIES[Summary.name])


def _may_fit(messages: Sequence[Message], policy: Policy) -> bool:
    """Whether the context may fall below the threshold at which agents compact, estimated cheaply by length: the words,
    the arguments of calls, and about one line per output.
    """
    room = policy.enough * CHARACTERS_A_TOKEN
    for row in messages:
        room -= len(m.words(row)) if m.role(row) not in m.RESULT_ROLES else 0
        room -= sum(min(len(call.arguments), ARGUMENT_CHARS) for call in m.calls(row))
        room -= sum(min(len(text), LINE_CHARS) for _, text in m.results(row))
        if room < 0:
            return False
    return True
