"""What a session used, by the reports of the model's responses: the tokens in context, and dollars by the price list.

A response is several lines with one id and one usage, of which the last is complete: it counts once, also where a
compaction copied it. Separate lines with one id and another request's usage are another response: some services give
every response the same id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from viewer.stores.message import ReportedCompaction
from viewer.usage.pricing import Cost, Spending, by_quarter, price, total

from .codec import read_value
from .messages import SessionMessages, summary_of
from .records import MOST_TOKENS, SYNTHETIC_MODEL, Record, object_in

LONGEST_TRIGGER = 40  # characters


def tokens_in_context(thread: Sequence[Record]) -> int | None:
    """The tokens of a thread's newest request; None where there was none since the newest compaction."""
    boundary = max((record.position for record in thread if record.is_boundary), default=-1)
    for record in reversed(thread):
        if record.usage and record.usage.context:
            return record.usage.context if record.position > boundary and not record.copy_of else None
    return None


def cost(records: Iterable[Record], elsewhere: Collection[str] = ()) -> tuple[Cost | None, Spending]:
    """The cost of all responses in a file, None where no price is known, and when it was spent. Those `elsewhere` count
    in another session.
    """
    responses = dict(_responses(records))
    prices = [(each, price(each.model, each.usage)) for each in responses.values() if each.usage]
    inherited = (dollars for each, dollars in prices if each.group in elsewhere)
    spent = ((each.time, dollars) for each, dollars in prices if each.group not in elsewhere)
    return total((dollars for _, dollars in prices), inherited), by_quarter(spent)


def _responses(records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    """The lines that report a usage, each with the position of the first line of its response."""
    first: dict[str, Record] = {}
    newest: dict[bool, str] = {}  # whether of a sub-agent -> the response that the next line may belong to
    for record in records:
        if record.usage and not record.copy_of and record.model != SYNTHETIC_MODEL:
            first_line = first.get(record.group) if record.group else None
            is_apart = newest.get(record.is_sidechain) != record.group
            if first_line is None or (
                is_apart and first_line.usage and first_line.usage.context != record.usage.context
            ):
                first_line = first[record.group] = record
            yield first_line.position, record
        if record.group or record.ends_response:
            newest[record.is_sidechain] = record.group


# -- what the client records about its compactions, in the boundary and the summary after it ---------------------------


def of_compaction(file: BinaryIO, conversation: SessionMessages, handoff: int) -> ReportedCompaction | None:
    """What is recorded about the compaction with this summary; None for nothing."""
    boundary = next((each.record for each in conversation.compactions if each.handoff == handoff), None)
    if boundary is None:
        return None
    facts = object_in(read_value(file, boundary) or {}, "compactMetadata")
    summary = conversation.tree.nodes.get(summary_of(conversation.tree, boundary.uuid))
    summary_value = read_value(file, summary) if summary else None
    chosen = object_in(summary_value or {}, "summarizeMetadata").get("direction")
    trigger = facts.get("trigger")
    result = ReportedCompaction(
        trigger=trigger[:LONGEST_TRIGGER] if isinstance(trigger, str) else "",
        tokens_before=_tokens(facts, "preTokens"),
        tokens_after=_tokens(facts, "postTokens"),
        scope=chosen if chosen in ("up_to", "from") else "",
    )
    return result if result != ReportedCompaction("", None, None, "") else None


def _tokens(facts: dict[str, Any], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and 0 < value < MOST_TOKENS else None
