"""What a session used, by what the model's responses report: the tokens in context, and dollars by the price list.

A response is several lines with one id and one usage, of which the last is whole: it counts once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import genai_prices
from genai_prices.types import PriceCalculation, TieredPrices

from .records import SYNTHETIC_MODEL, Record, TokenUsage

LONGEST_NAME = 200  # characters of a model's name that are looked at


class Rates(NamedTuple):
    """US dollars for one token of each field of `TokenUsage`, in requests of fewer than `until` tokens."""

    rates: tuple[float, ...]
    until: float


def tokens_in_context(thread: Sequence[Record]) -> int | None:
    """What the newest request of a thread had; None where none was made since the newest compaction."""
    boundary = max((record.place for record in thread if record.is_boundary), default=-1)
    for record in reversed(thread):
        if record.usage and record.usage.context:
            return record.usage.context if record.place > boundary and not record.copy_of else None
    return None


def cost(records: Iterable[Record]) -> float | None:
    """US dollars for all responses in a file; None where the price of one is not known, or there is none."""
    responses = {
        record.group or record.place: (record.model, record.usage)
        for record in records
        if record.usage and not record.copy_of and record.model != SYNTHETIC_MODEL
    }
    found = [price(model, usage) for model, usage in responses.values()]
    known = [each for each in found if each is not None]
    return sum(known) if known and len(known) == len(found) else None


def price(model: str, usage: TokenUsage) -> float | None:
    """US dollars for one response; None for a model that the price list does not have.

    Asking the list takes a fifth of a millisecond, so that it is only asked where a long request costs more per token.
    """
    model = model[:LONGEST_NAME]
    known = _rates(model)
    if known is None:
        return None
    if usage.context < known.until:
        return sum(count * rate for count, rate in zip(usage, known.rates, strict=True))
    found = _listed(model, usage)
    return None if found is None else float(found.total_price)


@lru_cache(maxsize=256)
def _rates(model: str) -> Rates | None:
    fields = range(len(TokenUsage._fields))
    found = [_listed(model, TokenUsage(*(int(at == field) for at in fields))) for field in fields]
    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    steps = [
        tier.start
        for value in vars(known[0].model_price).values()
        if isinstance(value, TieredPrices)
        for tier in value.tiers
    ]
    return Rates(tuple(float(each.total_price) for each in known), min(steps, default=math.inf))


def _listed(model: str, usage: TokenUsage) -> PriceCalculation | None:
    """The price of one response: Anthropic's, else of whoever sells a model of this name."""
    asked = genai_prices.Usage(
        input_tokens=usage.context,
        cache_write_tokens=usage.written + usage.written_long,
        cache_write_1h_tokens=usage.written_long,
        cache_read_tokens=usage.cached,
        output_tokens=usage.output,
    )
    for provider in ("anthropic", None):
        try:
            return genai_prices.calc_price(asked, model, provider_id=provider)
        except (LookupError, ValueError):
            continue
    return None
