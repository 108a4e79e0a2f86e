"""The engine for a program: the summary alone, of any number of messages, carried on from one to the next."""

from __future__ import annotations

import pytest

from compaction import programs
from compaction.handoff import BY_ENGINE, END_MARKER, RULES_OPEN, handoff_text, with_rules

RULES = "Never push to main."
FIRST = [
    {"role": "user", "content": "Move the gateway to port 9090, ticket T-4411."},
    {"role": "assistant", "content": "Moved it to 9090 in /etc/gateway.conf."},
    {"role": "user", "content": "Now rotate the key in the vault."},
]
SECOND = [
    {"role": "user", "content": "And update the docs for 2.4."},
    {"role": "assistant", "content": "The docs are updated."},
    {"role": "user", "content": "Thanks."},
]


def summary(messages: list[dict[str, str]], **given: object) -> str:
    return str(programs.answer({"messages": messages, "alone": True, **given})["summary"])


def test_three_messages_are_enough() -> None:
    made = summary(FIRST, rules=RULES)
    assert made.startswith(BY_ENGINE) and "T-4411" in made and made.count(RULES) == 1


@pytest.mark.parametrize("form", ["its own", "plain", "hermes"])
def test_an_earlier_summary_is_carried_on_without_what_was_around_it(form: str) -> None:
    first = summary(FIRST, rules=RULES)
    if form != "its own":  # a compaction by the site, on which the agent compacts
        body = first.removeprefix(BY_ENGINE).strip()
        first = handoff_text(with_rules(body, RULES), "plain" if form == "plain" else "hermes")
    made = summary(SECOND, previous=first)
    assert "T-4411" in made and "2.4" in made
    assert made.count(BY_ENGINE) == made.count(RULES) == made.count("critical-rules>") - 1 == 1
    assert RULES_OPEN in made and END_MARKER not in made and "Reference only" not in made
    assert RULES not in summary(SECOND, previous=first, rules="")


def test_a_summary_of_the_agents_own_model_is_carried_on() -> None:
    assert "T-17" in summary(SECOND, previous="## Goal\nClose ticket T-17 before Friday.\n\n## Progress\nNothing yet.")
