"""What a session used, from the clients' records of each request: tokens in context, and dollars."""

from __future__ import annotations

from typing import Any

from viewer.stores.base import ReportedUsage
from viewer.stores.message import ReportedCompaction
from viewer.usage.pricing import Cost, Spending, by_quarter, price, total

from .messages import EntryMessages
from .records import ResponseUsage, tokens_of


def reported(messages: EntryMessages, forked_at: float = 0.0) -> ReportedUsage:
    """The tokens of the newest request, and the cost of all requests that are recorded in the session. A session that
    was forked at this time (epoch seconds) begins with entries of the session that it was forked from.
    """
    cost, spent = _cost(messages, forked_at)
    return ReportedUsage(_in_context(messages), cost, spent=spent)


def _in_context(messages: EntryMessages) -> int | None:
    """None where no request was made since the newest compaction."""
    for entry in reversed(messages.tree.path):
        if messages.context.is_boundary(entry):
            return None
        if entry.role == "assistant" and entry.usage is not None and entry.usage.context:
            return entry.usage.context
    return None


def _cost(messages: EntryMessages, forked_at: float) -> tuple[Cost | None, Spending]:
    """The cost, and when it was spent: from the client's own numbers; where it has none, from the public price list."""
    used = ((entry.time, entry.usage) for entry in messages.entries if entry.offset not in messages.repeated)
    prices = [(time, _price(usage)) for time, usage in used if usage is not None]
    cost = total((each for _, each in prices), (each for time, each in prices if time < forked_at))
    return cost, by_quarter((time, each) for time, each in prices if time >= forked_at)


def _price(usage: ResponseUsage) -> float | None:
    """None for a model that the list does not have."""
    if usage.dollars is not None or not any(usage.used.tokens):
        return usage.dollars or 0.0
    return price(usage.model, usage.used, usage.provider or "anthropic")


def of_compaction(value: dict[str, Any] | None) -> ReportedCompaction | None:
    """What the client recorded about a compaction; None for nothing. It does not record what started it."""
    before, after = (tokens_of(value or {}, name) for name in ("tokensBefore", "tokensAfter"))
    return ReportedCompaction("", before, after, "") if before or after else None
