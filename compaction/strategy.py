"""The ways in which a context gets smaller: each makes a plan, asks a model if it needs one, and applies both.

A further way plugs in here. One whose model answers with content blocks that only its provider can read (a native
compaction) is a Strategy whose `apply` takes them; the site, which keeps a summary as text, has to carry them from
`runs/providers/summarizers.py` (`ask`) over `runs/job.py` and `runs/candidate.py` to a field of `runs/models.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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
from .tool_names import READ_TOOLS, SHELL_TOOLS

LINE_CHARS = 120  # that a line takes which stands for a long output, about
SAVES_HALF = 0.5  # of the context: from this on shortening tool output is offered before a summary
Answer = str | Sequence[Mapping[str, Any]]  # text, or content blocks as a provider gave them

_FILE_TOOLS = frozenset((*READ_TOOLS, *SHELL_TOOLS))


class Strategy(ABC):
    """One way. `label` is what people choose, `doing` what is said while it works, before the number of messages."""

    name: str
    label: str
    doing: str
    asks_model: bool = True
    carries_rules: bool = True  # whether a workspace's rules stand behind what it writes

    @abstractmethod
    def plan(self, messages: Sequence[Message], policy: Policy, count: Counter) -> Plan:
        """Which messages stay as they are and which do not. Raises NothingToCompact, BadTranscript."""

    @abstractmethod
    def apply(self, plan: Plan, answer: Answer) -> Result:
        """The context that the plan and the answer make, "" where no model was asked. Raises SummaryRejected,
        BadTranscript.
        """


class Summary(Strategy):
    """The middle is replaced by a summary in text."""

    name, label, doing = "summary", "Summarise", "Summarising"

    def plan(self, messages: Sequence[Message], policy: Policy, count: Counter) -> Plan:
        """Its refusal says so where pruning would win enough."""
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
    """Old tool output gets shorter where it stands."""

    name, label, doing = "prune", "Shorten old tool output (no summary)", "Shortening the tool output of"
    asks_model = carries_rules = False

    def plan(self, messages: Sequence[Message], policy: Policy, count: Counter) -> Plan:
        return pruning.plan(messages, policy, count)

    def apply(self, plan: Plan, answer: Answer) -> Result:
        assert isinstance(plan, pruning.PrunePlan)
        return pruning.apply(plan)


STRATEGIES: dict[str, Strategy] = {each.name: each for each in (Summary(), Prune())}
OLD_NAMES = {"mask": "prune"}  # still taken until December 2027


def named(name: str) -> Strategy | None:
    """The strategy of this name, also an old one; None where there is none."""
    return STRATEGIES.get(OLD_NAMES.get(name, name))


def first_plan(messages: Sequence[Message], policy: Policy, count: Counter) -> tuple[Strategy, Plan]:
    """The strategy to offer first, and its plan: in a session that works on files old tool output gets shorter where
    that alone saves half of the context and leaves less than agents compact at, as all that people and the agent said
    stays word for word; else, and in other sessions, a summary.

    Raises NothingToCompact, BadTranscript.
    """
    if policy.can_prune and _works_on_files(messages) and _may_fit(messages, policy):
        with suppress(NothingToCompact):
            shorter = STRATEGIES[Prune.name].plan(messages, policy, count)
            if shorter.tokens_after_estimate <= min((1 - SAVES_HALF) * shorter.tokens_before, policy.enough):
                return STRATEGIES[Prune.name], shorter
    return STRATEGIES[Summary.name], STRATEGIES[Summary.name].plan(messages, policy, count)


def _works_on_files(messages: Sequence[Message]) -> bool:
    """Whether the agent reads files or runs commands: what these print can be had again."""
    return any(call.name.lower() in _FILE_TOOLS for row in messages for call in m.calls(row))


def _may_fit(messages: Sequence[Message], policy: Policy) -> bool:
    """Whether what stays may be less than agents compact at, by its length, which costs little: the words, what calls
    are made with, and about a line for each output.
    """
    left = policy.enough * CHARACTERS_A_TOKEN
    for row in messages:
        left -= len(m.words(row)) if m.role(row) not in m.RESULT_ROLES else 0
        left -= sum(min(len(call.arguments), ARGUMENT_CHARS) for call in m.calls(row))
        left -= sum(min(len(text), LINE_CHARS) for _, text in m.results(row))
        if left < 0:
            return False
    return True
