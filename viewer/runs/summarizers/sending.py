"""What a model would be sent for a plan, before anything is: where to, how much, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass

import genai_prices

import compaction
from compaction.llm.digest import fold, request_of
from compaction.llm.prompt import prompt_of

from . import limits
from .connections import ModelAccess


@dataclass(frozen=True, slots=True)
class Sending:
    """Tokens in and out over all parts, by our counter and as estimates; `cost` in US dollars, None: not known."""

    connection: ModelAccess
    parts: int
    tokens_in: int
    tokens_out: int
    cost: float | None


def sending(plan: compaction.Plan, connection: ModelAccess) -> Sending:
    """The estimate for this plan. Raises SummaryRejected (window_too_small)."""
    first = fold(plan, limits.planned_window(connection)).request
    assert first is not None  # a plan has something to summarise
    whole = first if first.chunks == 1 else request_of(plan)
    asked = prompt_of(first)
    around = plan.count(asked.system) + plan.count(asked.user.replace(first.digest.rstrip(), ""))
    carried = (first.chunks - 1) * first.budget_tokens
    tokens_in = plan.count(whole.digest) + carried + first.chunks * around
    tokens_out = first.chunks * first.budget_tokens
    usage = genai_prices.Usage(input_tokens=tokens_in, output_tokens=tokens_out)
    cost = limits.price(connection, [connection.model], usage)
    return Sending(connection, first.chunks, tokens_in, tokens_out, cost)
