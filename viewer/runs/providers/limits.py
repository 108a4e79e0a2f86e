"""How much a model can read and write at once and what that costs, as a person set it or else from the price list; and
how much of a plan would be sent to it.

A model at an address that is not in the list gets a small window and no price, whatever its name: a person's own server
may give a well-known model less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import genai_prices
from genai_prices.types import ModelInfo

import compaction
from compaction.llm.digest import fold, request_of
from compaction.llm.prompt import prompt_of
from compaction.policy import LONGEST_SUMMARY
from compaction.tokens import encoding_for

from .provider import ModelAccess

UNKNOWN_WINDOW = 32_000  # tokens
# The share of the window to plan with. The counter is exact for few models: SmolLM2 made 1.08 to 1.17 times as many
# tokens of prose and code as o200k_base does, and other makers' counts are not known.
EXACT_SHARE, ESTIMATED_SHARE = 0.90, 0.75
THINKING_TOKENS, THINKING_SHARE = 16_000, 0.25  # besides the summary, for models that think; at most this of the window


@lru_cache(maxsize=256)
def listed_model(model: str, base_url: str) -> ModelInfo | None:
    """The price list's entry of this model at this address."""
    try:
        return genai_prices.calc_price(genai_prices.Usage(), model, provider_api_url=base_url).model
    except (LookupError, ValueError):
        return None


def window_of(connection: ModelAccess) -> int:
    """Tokens the model can read and write at once, by its own count."""
    listed = listed_model(connection.model, connection.base_url)
    return connection.window or (listed and listed.context_window) or UNKNOWN_WINDOW


def planned_window(connection: ModelAccess) -> int:
    """The window to plan with, by our counter."""
    return int(window_of(connection) * _share(connection))


def output_limit(connection: ModelAccess, request: compaction.SummaryRequest, prompt_tokens: int) -> int:
    """Tokens the model may write, by its own count: the longest summary and thinking, as far as the window has room."""
    share = _share(connection)
    needed = math.ceil(request.budget_tokens * LONGEST_SUMMARY / share)
    window = window_of(connection)
    thinking = min(THINKING_TOKENS, int(window * THINKING_SHARE))
    return max(min(needed + thinking, window - math.ceil(prompt_tokens / share)), 1)


def price(connection: ModelAccess, models: list[str], usage: genai_prices.Usage) -> float | None:
    """US dollars for the first of these models that is in the list at this address; None if none is."""
    for model in models:
        if model and listed_model(model, connection.base_url):
            try:
                price = genai_prices.calc_price(usage, model, provider_api_url=connection.base_url)
            except (LookupError, ValueError):
                return None
            return float(price.total_price)
    return None


def _share(connection: ModelAccess) -> float:
    return ESTIMATED_SHARE if encoding_for(connection.model)[1] else EXACT_SHARE


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the summary of a plan takes: requests, and their tokens together by our counter. `cost` is in US dollars,
    None where the price is not known.
    """

    connection: ModelAccess
    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None


def estimate(plan: compaction.Plan, connection: ModelAccess) -> Estimate:
    """The estimate for this plan. Raises SummaryRejected (window_too_small)."""
    first = fold(plan, planned_window(connection)).request
    assert first is not None  # a plan has something to summarise
    whole = first if first.chunks == 1 else request_of(plan)
    prompt = prompt_of(first)
    instructions = plan.count(prompt.system) + plan.count(prompt.user.replace(first.digest.rstrip(), ""))
    notes = (first.chunks - 1) * first.budget_tokens  # the summary so far, in each request after the first
    input_tokens = plan.count(whole.digest) + notes + first.chunks * instructions
    output_tokens = first.chunks * first.budget_tokens
    usage = genai_prices.Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    cost = price(connection, [connection.model], usage)
    return Estimate(connection, first.chunks, input_tokens, output_tokens, cost)
