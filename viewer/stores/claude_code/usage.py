"""What a session used, by what the model's responses report: the tokens in context, and dollars by the price list.

A response is several lines with one id and one usage, of which the last is whole: it counts once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

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
    responses = {
        record.group or record.place: (record.model, record.usage)
        for record in records
        if record.usage and not record.copy_of and record.model != SYNTHETIC_MODEL
    }
    prices = {response: price(model, usage) for response, (model, usage) in responses.items()}
    return total(prices.values(), (each for response, each in prices.items() if response in elsewhere))
