"""What a session used, by what the model's responses report: the tokens in context, and dollars by the price list.

A response is several lines with one id and one usage, of which the last is whole: it counts once, also where a
compaction copied it. Lines of one id that stand apart and report another request are another response: some services
give every response the same id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from viewer.stores.pricing import Cost, price, total

from .records import SYNTHETIC_MODEL, Record


def tokens_in_context(thread: Sequence[Record]) -> int | None:
    """What the newest request of a thread had; None where none was made since the newest compaction."""
    boundary = max((record.place for record in thread if record.is_boundary), default=-1)
    for record in reversed(thread):
        if record.usage and record.usage.context:
            return record.usage.context if record.place > boundary and not record.copy_of else None
    return None


def cost(records: Iterable[Record], elsewhere: Collection[str] = ()) -> Cost | None:
    """What all responses in a file cost; None where the price of none is known. Those `elsewhere` count in another
    session.
    """
    responses = {each: (record.group, record.model, record.usage) for each, record in _responses(records)}
    prices = [(group, price(model, usage)) for group, model, usage in responses.values() if usage]
    return total((each for _, each in prices), (each for group, each in prices if group in elsewhere))


def _responses(records: Iterable[Record]) -> Iterator[tuple[int, Record]]:
    """The lines that report a usage, each with the place of the first one of its response."""
    first: dict[str, Record] = {}
    newest: dict[bool, str] = {}  # whether of a sub-agent -> the response that a next line may be one of
    for record in records:
        if record.usage and not record.copy_of and record.model != SYNTHETIC_MODEL:
            known = first.get(record.group) if record.group else None
            is_apart = newest.get(record.is_sidechain) != record.group
            if known is None or (is_apart and known.usage and known.usage.context != record.usage.context):
                known = first[record.group] = record
            yield known.place, record
        if record.group or record.ends_response:
            newest[record.is_sidechain] = record.group
