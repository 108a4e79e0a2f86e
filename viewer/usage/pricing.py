"""What a model's response cost, by the public price list, and what a session cost.

Where a price is unknown there is no figure, or one that says "at least": a wrong sum of money is worse than none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import genai_prices
from genai_prices.types import PriceCalculation, TieredPrices

from viewer import times

LONGEST_NAME = 200  # characters of a model's name that are looked at
MOST_DOLLARS = 1_000_000.0  # for one session; a larger number in an agent's data is not a price
MOST_A_TOKEN = 0.001  # US dollars; the dearest of the price list costs 0.0006 (November 2026)
LARGEST = 20_000_000  # tokens of one request, and of one response: twice the largest window there is
MOST_SEARCHES = 1_000  # in one response; a larger number is taken for an error
SEARCH = 0.01  # US dollars for one web search (Anthropic's price list, November 2026)
BATCH = 0.5  # of the price, for requests sent as a batch (the same)
# Factor on the price of a model's tokens in fast mode (the same list); unknown for other models.
FAST = {"claude-opus-4-6": 6.0, "claude-opus-4-7": 6.0, "claude-opus-4-8": 2.0}
QUARTER = 900.0  # seconds: zones differ by quarters of an hour, so that each belongs to one day in any of them
STANDARD_TIERS = ("", "standard", "priority", "default", "auto")  # with the price of the list
_BEDROCK = re.compile(r"(.*/)?(\w+\.)?anthropic\.")  # as "us.anthropic.claude-sonnet-4-5-20250929-v1:0"


Spending = tuple[tuple[float, float], ...]  # start of a quarter of an hour in epoch seconds, US dollars in it


class TokenUsage(NamedTuple):
    """What a response reports, in tokens: of its request, those that were neither read from the cache nor written to
    it, those written to it for five minutes, for an hour, those read from it; and those of the output. Also the web
    searches that it made, and the `tier` and `speed` that it was served with, "" for the usual ones. `is_clear` says
    that everything it reports is known.
    """

    fresh: int
    written: int
    written_long: int
    cached: int
    output: int
    searches: int = 0
    tier: str = ""
    speed: str = ""
    is_clear: bool = True

    @property
    def tokens(self) -> tuple[int, int, int, int, int]:
        return self[:5]

    @property
    def context(self) -> int:
        """Tokens of the whole request."""
        return self.fresh + self.written + self.written_long + self.cached


class Cost(NamedTuple):
    """US dollars for the requests of a session. `is_least` says that some of them have no known price; `inherited` is
    the part that was spent in the session that this one was copied from, whose own cost includes it.
    """

    dollars: float
    is_least: bool = False
    inherited: float = 0.0


class Rates(NamedTuple):
    """US dollars for one token of each field of `TokenUsage.tokens`, in requests of fewer than `until` tokens."""

    rates: tuple[float, ...]
    until: float


def total(prices: Iterable[float | None], inherited: Iterable[float | None] = ()) -> Cost | None:
    """The cost of responses with these prices, `inherited` being those that are copied from another session; None where
    no price is known.
    """
    every = list(prices)
    priced = [each for each in every if each is not None]
    if not priced:
        return None
    return Cost(sum(priced), len(priced) < len(every), sum(each for each in inherited if each is not None))


def by_quarter(prices: Iterable[tuple[float, float | None]]) -> Spending:
    """The sums of prices, each with its time in epoch seconds, for each quarter of an hour, in order. Prices and times
    that are not known are left out.
    """
    sums: dict[float, float] = {}
    for at, dollars in prices:
        if dollars is not None and times.known(at):
            quarter = at // QUARTER * QUARTER
            sums[quarter] = sums.get(quarter, 0.0) + dollars
    return tuple(sorted(sums.items()))


def reported_cost(dollars: Any, tokens: float) -> float | None:
    """A sum that an agent recorded for so many tokens (0 for unknown), in US dollars; None where it is
    not plausible.
    """
    most = min(tokens * MOST_A_TOKEN, MOST_DOLLARS) if tokens > 0 else MOST_DOLLARS
    is_number = isinstance(dollars, (int, float)) and not isinstance(dollars, bool)
    return float(dollars) if is_number and 0.0 <= dollars <= most else None


def price(model: str, usage: TokenUsage, provider: str = "anthropic") -> float | None:
    """US dollars for one response; None where its price is not known.

    Asking the list takes a fifth of a millisecond, so that it is only asked where a long request costs more per token.
    """
    model = model[:LONGEST_NAME]
    rates, times = _rates(model, provider), _times(model, usage)
    is_too_large = max(usage.context, usage.output) > LARGEST or usage.searches > MOST_SEARCHES
    if rates is None or times is None or is_too_large or not usage.is_clear:
        return None
    if usage.context < rates.until:
        tokens = sum(count * rate for count, rate in zip(usage.tokens, rates.rates, strict=True))
    else:
        calculation = _listed(model, usage.tokens, provider)
        if calculation is None:
            return None
        tokens = float(calculation.total_price)
    return tokens * times + usage.searches * SEARCH


def _times(model: str, usage: TokenUsage) -> float | None:
    """The factor on the price of the tokens; None where it is unknown."""
    if usage.tier not in (*STANDARD_TIERS, "batch") or usage.speed not in ("", "standard", "fast"):
        return None
    fast = next((times for name, times in FAST.items() if name in model), None) if usage.speed == "fast" else 1.0
    return None if fast is None else fast * (BATCH if usage.tier == "batch" else 1.0)


@lru_cache(maxsize=256)
def _rates(model: str, provider: str) -> Rates | None:
    count = len(TokenUsage(0, 0, 0, 0, 0).tokens)
    calculations = [_listed(model, tuple(int(at == field) for at in range(count)), provider) for field in range(count)]
    priced = [each for each in calculations if each is not None]
    if len(priced) < len(calculations):
        return None
    steps = [
        tier.start
        for value in vars(priced[0].model_price).values()
        if isinstance(value, TieredPrices)
        for tier in value.tiers
    ]
    return Rates(tuple(float(each.total_price) for each in priced), min(steps, default=math.inf))


def _listed(model: str, tokens: tuple[int, ...], provider: str) -> PriceCalculation | None:
    """The price of one response with these `TokenUsage.tokens`: that of `provider`, else of any seller of a model with
    this name.
    """
    fresh, written, written_long, cached, output = tokens
    usage = genai_prices.Usage(
        input_tokens=fresh + written + written_long + cached,
        cache_write_tokens=written + written_long,
        cache_write_1h_tokens=written_long,
        cache_read_tokens=cached,
        output_tokens=output,
    )
    for name, seller in _sellers(model, provider):
        try:
            return genai_prices.calc_price(usage, name, provider_id=seller)
        except (LookupError, ValueError):
            continue
    return None


def _sellers(model: str, provider: str) -> list[tuple[str, str | None]]:
    """Names of a model with who may sell it under that name, None for anybody. Bedrock and OpenRouter use names of
    their own, and a service in between may put the provider in front of a name.
    """
    if _BEDROCK.match(model):
        return [(model, "aws")]
    maker, _, name = model.rpartition("/")
    candidates: list[tuple[str, str | None]] = [(model, provider), (model, None)]
    candidates += [(model, "openrouter"), (name, maker), (name, None)] if maker else []
    return [*candidates, (name, "zai")]  # which the list does not find itself
