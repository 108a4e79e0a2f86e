"""The engine for a program that has it compact: one object of JSON values in, one out, and no exception.

A program that replaces a list gives `messages` and gets `messages`. One that writes the summary into its own record
gives the messages to summarise and `alone`, and gets the `summary` of any number of messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import islice
from typing import Any

from . import offline
from .errors import CompactionError
from .handoff import (
    BY_ENGINE,
    bare,
    flag_of,
    is_handoff,
    pins_in,
    rules_in,
    split,
    with_pins,
    with_recall,
    with_rules,
    without_directives,
)
from .llm.digest import SummaryRequest, summarize
from .messages import Message
from .offline.offers import Offers
from .planning import Plan, checked
from .policy import Policy
from .redaction import redact
from .strategy import STRATEGIES, Strategy, first_plan
from .tokens import Counter, counter_for, message_tokens

OPTIONS = ("focus", "keep_last", "handoff", "rules", "recall", "summary_tokens")
MOST_INSTRUCTIONS = 20  # lines of each kind, and characters of all: an agent reads them before its whole transcript
LONGEST_INSTRUCTIONS = 6_000


def answer(given: Mapping[str, Any]) -> dict[str, Any]:
    """`{"messages"}`, `{"summary"}`, or `{"error": {"code", "message"}}`.

    Given are `messages` (OpenAI's chat shape, oldest first), and if wanted `window` (tokens), `model` (whose tokens are
    counted), `focus`, `keep_last`, `handoff` ("plain", "hermes"), `rules` and `pinned` (a text and a list of texts that
    follow the summary; without them those of the summary before), `recall` (whether the agent has our tools), `today`
    (YYYY-MM-DD), `strategy` ("summary"; with "automatic" old tool output is shortened instead where that alone saves
    half), `summary_tokens` (the maximum of a summary); with `alone` also `previous` (the summary before, to be carried
    on). Other keys are ignored.
    """
    try:
        messages = checked(given.get("messages") or ())
        before = "\n\n".join([_body(str(given.get("previous") or "")), *_summaries(messages)])
        options = {name: given[name] for name in OPTIONS if given.get(name) is not None}
        options.setdefault("rules", rules_in(before))
        pinned = tuple(given["pinned"] if given.get("pinned") is not None else filter(None, [pins_in(before)]))
        policy = Policy(context_window=given.get("window") or Policy().context_window, pinned=pinned, **options)
        today = date.fromisoformat(given["today"]) if given.get("today") else None
        count = counter_for(str(given.get("model") or ""))
        if given.get("alone"):
            return {"summary": _summary(messages, policy, before, today, count)}
        automatic = given.get("strategy", "summary") == "automatic"
        chosen, planned = _planned(messages, policy, count, automatic=automatic)
        summary = f"{BY_ENGINE}\n\n{summarize(planned, offline.summarize, today=today)}" if chosen.asks_model else ""
        return {"messages": chosen.apply(planned, summary).messages}
    except CompactionError as refusal:
        return {"error": {"code": refusal.code, "message": refusal.reason}}
    except (TypeError, ValueError) as problem:
        return {"error": {"code": "wrong_value", "message": str(problem)}}


def _planned(messages: Sequence[Message], policy: Policy, count: Counter, *, automatic: bool) -> tuple[Strategy, Plan]:
    """The strategy and its plan: what a site offers first, or a summary."""
    if automatic:
        return first_plan(messages, policy, lambda strategy: strategy.plan(messages, policy, count))
    return STRATEGIES["summary"], STRATEGIES["summary"].plan(messages, policy, count)


def _summaries(messages: Sequence[Message]) -> list[str]:
    """The bodies of earlier summaries."""
    parts = (part for each in messages if is_handoff(each) for part in split(each.get("content"), flag_of(each)))
    return [part.text for part in parts if part.kind == "summary"]


def _body(previous: str) -> str:
    """A summary as a program stored it, without what this engine or a handoff put around its body."""
    bodies = [part.text for part in split(previous) if part.kind == "summary"] or [previous]
    return "\n\n".join(bodies).strip().removeprefix(BY_ENGINE).strip()


def _summary(messages: Sequence[Message], policy: Policy, before: str, today: date | None, count: Counter) -> str:
    """A summary of all of these messages and of the one before, with the rules after it."""
    sources = tuple(message for message in messages if not is_handoff(message))
    new = policy.summary_limit(sum(message_tokens(each, count) for each in sources))
    request = SummaryRequest(
        sources,
        without_directives(redact(bare(before))),
        without_directives(redact(policy.focus)),
        min(new + count(before), max(policy.most_summary, new)),
        today,
        count=count,
    )
    summary = with_recall(f"{BY_ENGINE}\n\n{offline.summarize(request)}", policy.recall)
    return with_rules(with_pins(summary, policy.pinned), policy.rules)


def instructions(messages: Sequence[Message]) -> str:
    """What the summary of a model should have, to be added to its prompt: standing instructions and open requests, word
    for word. "" where there are none.
    """
    before = "\n\n".join(_summaries(messages))
    sources = tuple(message for message in messages if not is_handoff(message))
    offers = Offers(SummaryRequest(sources, without_directives(redact(before)), count=counter_for("")))
    standing = [line.text for line in islice(offers.standing(), MOST_INSTRUCTIONS)]
    asked = [line.text for line in islice(offers.intent(), MOST_INSTRUCTIONS) if line.text.startswith("- [open]")]
    pieces = [
        "\n".join(["Keep these standing instructions of the user word for word:", *standing]) if standing else "",
        "\n".join(["Say that these requests are still open, in the user's words:", *asked]) if asked else "",
    ]
    return "\n\n".join(piece for piece in pieces if piece)[:LONGEST_INSTRUCTIONS]
