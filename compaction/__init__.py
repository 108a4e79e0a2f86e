"""Compacting the context of an agent's session: values in, values out.

    result = compaction.compact(messages)

or, step by step, with your own model (`summarize` calls `ask`, which does the I/O):

    plan = compaction.plan(messages, policy, count)
    summary = compaction.summarize(plan, ask)
    result = compaction.apply(plan, summary)

No I/O (except for the packaged rank files of `counter_for`), no clock, no randomness: the model call, the token counter
and the date are arguments. Messages are never changed; results hold copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from . import offline
from .applying import Insert, Keep, Result, Rewrite, apply
from .errors import BadTranscript, CompactionError, NothingToCompact, SummaryRejected
from .handoff import Form, is_handoff, split
from .llm.digest import SummaryRequest, summarize
from .llm.prompt import Prompt, Reply, asking
from .loss.records import Survival
from .loss.report import loss_report
from .messages import Message
from .planning import Plan, plan
from .policy import Policy
from .tokens import counter_for

__all__ = [
    "BadTranscript", "CompactionError", "Insert", "Keep", "Message", "NothingToCompact", "Plan", "Policy", "Prompt",
    "Reply", "Result", "Rewrite", "SummaryRejected", "SummaryRequest", "Survival", "apply", "asking", "compact",
    "counter_for", "is_handoff", "loss_report", "offline", "plan", "split", "summarize",
]  # fmt: skip

_summarized = summarize  # `compact` has an argument of that name


def compact(
    messages: Iterable[Message],
    *,
    window: int = 200_000,
    summary_tokens: int | None = None,
    summarize: Callable[[SummaryRequest], str] = offline.summarize,
    count: Callable[[str], int] | None = None,
    handoff: Form = "plain",
) -> Result:
    """The messages with their middle replaced by a summary, for a model with this context window, in tokens.

    `summary_tokens` is the maximum size of the summary, by default a twentieth of the window and at most 12,000.
    `summarize` writes the summary, by default without a model. `count` gives the tokens of a text, by default those of
    GPT-4o and later. `handoff="hermes"` marks the summary as Hermes Agent does. Raises NothingToCompact,
    SummaryRejected, BadTranscript.
    """
    policy = Policy(context_window=window, summary_tokens=summary_tokens, handoff=handoff)
    planned = plan(messages, policy, count or counter_for(""))
    return apply(planned, _summarized(planned, summarize))
