"""Compacting the context of an agent's session: values in, values out.

    plan = compaction.plan(messages, policy, count)
    summary = compaction.summarize(plan, ask)
    result = compaction.apply(plan, summary)

No I/O (but for the packaged rank files of `counter_for`), no clock, no randomness: the model call, the counter of
tokens and the date are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import offline
from .apply import Insert, Keep, Report, Result, Rewrite, apply
from .boundaries import align_end, align_start, anchor_last_reply, anchor_last_user, head_size, tail_start
from .digest import Ask, SummaryRequest, request_of, summarize
from .errors import BadTranscript, CompactionError, NothingToCompact, SummaryRejected
from .messages import Message
from .plan import Plan, plan
from .policy import Policy
from .protocol import Part, is_handoff, split
from .secrets import redact
from .tokens import Counter, counter_for, encoding_for, message_tokens


def compact(messages: Iterable[Message], policy: Policy, ask: Ask, count: Counter) -> Result:
    """`plan`, `summarize` and `apply` in one; raises what they raise."""
    planned = plan(messages, policy, count)
    return apply(planned, summarize(planned, ask))


__all__ = [
    "Ask",
    "BadTranscript",
    "CompactionError",
    "Counter",
    "Insert",
    "Keep",
    "Message",
    "NothingToCompact",
    "Part",
    "Plan",
    "Policy",
    "Report",
    "Result",
    "Rewrite",
    "SummaryRejected",
    "SummaryRequest",
    "align_end",
    "align_start",
    "anchor_last_reply",
    "anchor_last_user",
    "apply",
    "compact",
    "counter_for",
    "encoding_for",
    "head_size",
    "is_handoff",
    "message_tokens",
    "offline",
    "plan",
    "redact",
    "request_of",
    "split",
    "summarize",
    "tail_start",
]
