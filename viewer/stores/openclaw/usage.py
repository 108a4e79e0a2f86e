"""What a session used, by what the clients note of each request: tokens in context, and dollars."""

from __future__ import annotations

from typing import Any

from viewer.stores.base import ReportedUsage
from viewer.stores.message import ReportedCompaction
from viewer.stores.pricing import price

from .entries import tokens_of
from .messages import EntryMessages


def reported(found: EntryMessages) -> ReportedUsage:
    """The tokens of the newest request, and US dollars for all requests that are noted in the session."""
    return ReportedUsage(_in_context(found), _cost(found))


def _in_context(found: EntryMessages) -> int | None:
    """None where no request was made since the newest compaction."""
    for entry in reversed(found.tree.path):
        if found.context.is_boundary(entry):
            return None
        if entry.role == "assistant" and entry.usage is not None and entry.usage.context:
            return entry.usage.context
    return None


def _cost(found: EntryMessages) -> float | None:
    """The client's own numbers; where it has none, those of the public price list."""
    dollars, is_known = 0.0, False
    for entry in found.entries:
        usage = entry.usage
        if usage is None:
            continue
        cost = usage.dollars
        if cost is None and any(usage.used):
            cost = price(usage.model, usage.used, usage.provider or "anthropic")
            if cost is None:
                return None
        dollars, is_known = dollars + (cost or 0.0), True
    return dollars if is_known else None


def of_compaction(value: dict[str, Any] | None) -> ReportedCompaction | None:
    """What the client notes of a compaction; None for nothing. What started it is not noted."""
    before, after = (tokens_of(value or {}, name) for name in ("tokensBefore", "tokensAfter"))
    return ReportedCompaction("", before, after, "") if before or after else None
