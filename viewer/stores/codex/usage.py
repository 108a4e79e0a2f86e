"""What a session used, by what the client counts: tokens in context, and dollars by the price list."""

from __future__ import annotations

from viewer.stores.base import ReportedUsage
from viewer.stores.message import ReportedCompaction
from viewer.stores.pricing import TokenUsage, price

from .lineage import Lineage
from .records import CountedTokens, RolloutRecord
from .replay import ReplayedCompaction

NOTHING = CountedTokens(0, 0, 0, 0)


def reported(lineage: Lineage) -> ReportedUsage:
    """The tokens of the newest request, and US dollars for all requests of the session itself."""
    return ReportedUsage(_in_context(lineage), _cost(lineage))


def _in_context(lineage: Lineage) -> int | None:
    """None where no request was made since the newest compaction."""
    for part in reversed([each for each in lineage.parts if each.is_sent]):
        for record in reversed(list(part.sent())):
            if record.compacted is not None:
                return None
            if record.last is not None and record.last.input:
                return record.last.total or record.last.input
    return None


def _cost(lineage: Lineage) -> float | None:
    """By how the total of all requests grew. A total may be reported twice; a fork's goes on from its parent's, and a
    branch begins with lines that are older than itself.
    """
    dollars, model, before, found = 0.0, "", NOTHING, False
    for part in lineage.parts:
        began = part.records[0].time if part.records else 0.0
        for record in part.sent() if not part.is_own else part.records:
            model = record.model or model
            if record.total is None or record.total == before:
                continue
            used = _grown(before, record.total)
            before = record.total
            if not part.is_own or record.time < began:
                continue
            cost = price(model, used, "openai")
            if cost is None:
                return None
            dollars, found = dollars + cost, True
    return dollars if found else None


def _grown(before: CountedTokens, now: CountedTokens) -> TokenUsage:
    """What was used between two totals; a smaller total was begun anew."""
    since = NOTHING if now.total < before.total else before
    cached = max(0, now.cached - since.cached)
    fresh = max(0, now.input - since.input - cached)
    return TokenUsage(fresh, 0, 0, cached, max(0, now.output - since.output))


def of_compaction(compaction: ReplayedCompaction) -> ReportedCompaction:
    """What the client counted around a compaction: the newest request before it, and the estimate behind it."""
    records, place = compaction.part.records, compaction.record.place
    before = next((each.last for each in reversed(records[:place]) if each.last and each.last.input), None)
    after = next((each.last for each in _turn(records, place) if each.last is not None), None)
    return ReportedCompaction(
        trigger="manual" if compaction.is_own_turn else "auto",
        tokens_before=before.total if before else None,
        tokens_after=(after.total or None) if after else None,
        scope="",
    )


def _turn(records: list[RolloutRecord], place: int) -> list[RolloutRecord]:
    """The records directly behind a compaction."""
    return records[place + 1 : place + 12]
