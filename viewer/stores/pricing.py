"""What a model's response cost, by the public price list."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import genai_prices
from genai_prices.types import PriceCalculation, TieredPrices

LONGEST_NAME = 200  # characters of a model's name that are looked at


class TokenUsage(NamedTuple):
    """What a response reports of its request, in tokens: neither read from the cache nor written to it, written to it
    for five minutes, for an hour, read from it; and of itself.
    """

    fresh: int
    written: int
    written_long: int
    cached: int
    output: int

    @property
    def context(self) -> int:
        """All of the request."""
        return self.fresh + self.written + self.written_long + self.cached


class Rates(NamedTuple):
    """US dollars for one token of each field of `TokenUsage`, in requests of fewer than `until` tokens."""

    rates: tuple[float, ...]
    until: float


def price(model: str, usage: TokenUsage, provider: str = "anthropic") -> float | None:
    """US dollars for one response; None for a model that the price list does not have.

    Asking the list takes a fifth of a millisecond, so that it is only asked where a long request costs more per token.
    """
    model = model[:LONGEST_NAME]
    known = _rates(model, provider)
    if known is None:
        return None
    if usage.context < known.until:
        return sum(count * rate for count, rate in zip(usage, known.rates, strict=True))
    found = _listed(model, usage, provider)
    return None if found is None else float(found.total_price)


@lru_cache(maxsize=256)
def _rates(model: str, provider: str) -> Rates | None:
    fields = range(len(TokenUsage._fields))
    found = [_listed(model, TokenUsage(*(int(at == field) for at in fields)), provider) for field in fields]
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


def _listed(model: str, usage: TokenUsage, provider: str) -> PriceCalculation | None:
    """The price of one response: that of `provider`, else of whoever sells a model of this name."""
    asked = genai_prices.Usage(
        input_tokens=usage.context,
        cache_write_tokens=usage.written + usage.written_long,
        cache_write_1h_tokens=usage.written_long,
        cache_read_tokens=usage.cached,
        output_tokens=usage.output,
    )
    for seller in (provider, None):
        try:
            return genai_prices.calc_price(asked, model, provider_id=seller)
        except (LookupError, ValueError):
            continue
    return None
