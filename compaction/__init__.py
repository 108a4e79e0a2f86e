"""Compacting the context of an agent's session: values in, values out.

    plan = compaction.plan(messages, policy, count)
    summary = compaction.summarize(plan, ask)
    result = compaction.apply(plan, summary)

No I/O (but for the packaged rank files of `counter_for`), no clock, no randomness: the model call, the counter of
tokens and the date are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import anchors, offline, pruning, strategy
from .anchors import Anchor, Survival, hindsight
from .applying import Insert, Keep, Report, Result, Rewrite, apply
from .errors import BadTranscript, CompactionError, NothingToCompact, SummaryRejected
from .handoff import Part, is_handoff, split
from .llm.digest import Ask, Finished, Fold, SummaryRequest, fold, request_of, summarize
from .llm.prompt import Prompt, Reply, asking, prompt_of
from .messages import Message
from .planning import Plan, plan
from .policy import Policy
from .redaction import redact
from .survival import loss_report
from .tokens import Counter, counter_for, encoding_for, message_tokens


def compact(messages: Iterable[Message], policy: Policy, ask: Ask, count: Counter) -> Result:
    """`plan`, `summarize` and `apply` in one; raises what they raise."""
    planned = plan(messages, policy, count)
    return apply(planned, summarize(planned, ask))


__all__ = [
    "Anchor",
    "Ask",
    "BadTranscript",
    "CompactionError",
    "Counter",
    "Finished",
    "Fold",
    "Insert",
    "Keep",
    "Message",
    "NothingToCompact",
    "Part",
    "Plan",
    "Policy",
    "Prompt",
    "Reply",
    "Report",
    "Result",
    "Rewrite",
    "SummaryRejected",
    "SummaryRequest",
    "Survival",
    "anchors",
    "apply",
    "asking",
    "compact",
    "counter_for",
    "encoding_for",
    "fold",
    "hindsight",
    "is_handoff",
    "loss_report",
    "pruning",
    "strategy",
    "message_tokens",
    "offline",
    "plan",
    "prompt_of",
    "redact",
    "request_of",
    "split",
    "summarize",
]
