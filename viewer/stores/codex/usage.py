"""What a session used, by the client's counts: tokens in context, and dollars by the price list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from viewer.stores.base import ReportedUsage
from viewer.stores.message import ReportedCompaction
from viewer.usage.pricing import TokenUsage, by_quarter, price, total

from .records import CountedTokens, RolloutRecord
from .replay import Lineage, ReplayedCompaction

NOTHING = CountedTokens(0, 0, 0, 0)
AT_ONCE = 1.0  # seconds between two lines that are copied
FASTEST = 0.1  # seconds between the counts of two requests


def reported(lineage: Lineage) -> ReportedUsage:
    """The tokens of the newest request, and the cost of the session's own requests."""
    prices = list(_prices_of(lineage))
    return ReportedUsage(_in_context(lineage), total(each for _, each in prices), spent=by_quarter(prices))


def _in_context(lineage: Lineage) -> int | None:
    """None where there was no request since the newest compaction."""
    for part in reversed([each for each in lineage.parts if each.is_sent]):
        for record in reversed(list(part.sent())):
            if record.compacted is not None:
                return None
            if record.last is not None and record.last.input:
                return record.last.total or record.last.input
    return None


def _prices_of(lineage: Lineage) -> Iterator[tuple[float, float | None]]:
    """(time, price) of the session's own requests, each by the client's last count. A total may be reported twice."""
    model, before = "", NOTHING
    for part in lineage.parts:
        own = _first_own(part.records)
        for record in part.sent() if not part.is_own else part.records:
            model = record.model or model
            if record.total is None or record.total == before:
                continue
            if part.is_own and record.position >= own:
                yield from ((record.time, each) for each in _prices(model, before, record))
            before = record.total


def _first_own(records: Sequence[RolloutRecord]) -> int:
    """The position of the first record of a file that is not a copy from another session. Newer clients number their
    lines and name that line. Older ones write all copies at once, with their old times or with that of the fork:
    everything up to the first pause is taken for a copy, since no request is answered at once.
    """
    if not records:
        return 0
    headers = [each.header for each in records if each.header is not None]
    own_from = next((header.own_from for header in headers if header.own_from is not None), None)
    if own_from is not None:
        return next((each.position for each in records if (each.ordinal or 0) >= own_from), len(records))
    is_derived = any(header.is_derived for header in headers) or len({header.id for header in headers}) > 1
    if not is_derived or records[0].ordinal is not None:
        return next((each.position for each in records[1:] if each.time >= records[0].time), len(records))
    written = records[0].time
    for record in records[1:]:
        is_of_another = record.header is not None and record.header.id != headers[0].id
        if record.time > written + AT_ONCE and not is_of_another:
            return _behind_copies(records, record.position)
        written = max(written, record.time)
    return len(records)


def _behind_copies(records: Sequence[RolloutRecord], first: int) -> int:
    """The same position, or the one after lines that were copied after a pause: their counts grow faster than any
    request is answered.
    """
    counts = [each for each in records[first:] if each.total is not None]
    for earlier, later in pairwise(counts):
        if earlier.total != later.total and 0 <= later.time - earlier.time < FASTEST:
            first = later.position + 1
    return first


def _prices(model: str, before: CountedTokens, record: RolloutRecord) -> list[float | None]:
    """The prices of the requests between two totals, with None for those without details: where a total grew by more
    than the last request, only that request is known. The first total of a file may continue another session's.
    """
    grown, last = _grown(before, record.total or NOTHING), record.last
    if last is None or not last.total:
        return [price(model, grown, "openai")] if before != NOTHING else []
    if grown.context + grown.output <= last.input + last.output:
        return [price(model, grown, "openai")]
    return [price(model, _grown(NOTHING, last), "openai"), *([None] if before != NOTHING else [])]


def _grown(before: CountedTokens, now: CountedTokens) -> TokenUsage:
    """The tokens used between two totals; a smaller total started anew."""
    since = NOTHING if now.total < before.total else before
    cached = max(0, now.cached - since.cached)
    fresh = max(0, now.input - since.input - cached)
    return TokenUsage(fresh, 0, 0, cached, max(0, now.output - since.output))


def of_compaction(compaction: ReplayedCompaction) -> ReportedCompaction:
    """The client's counts around a compaction: the newest request before it, and the estimate after it."""
    records, position = compaction.part.records, compaction.record.position
    before = next((each.last for each in reversed(records[:position]) if each.last and each.last.input), None)
    after = next((each.last for each in _turn(records, position) if each.last is not None), None)
    return ReportedCompaction(
        trigger="manual" if compaction.is_own_turn else "auto",
        tokens_before=before.total if before else None,
        tokens_after=(after.total or None) if after else None,
        scope="",
    )


def _turn(records: list[RolloutRecord], position: int) -> list[RolloutRecord]:
    """The records directly after a compaction."""
    return records[position + 1 : position + 12]
