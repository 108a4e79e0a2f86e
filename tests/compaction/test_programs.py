"""The engine for a program: a list of messages, or the summary alone, carried on from one to the next."""

from __future__ import annotations

from typing import Any

import pytest

from compaction import is_handoff, programs
from compaction import messages as m
from compaction.handoff import BY_ENGINE, END_MARKER, PRUNED, RULES_OPEN, handoff_text, with_rules

RULES = "Never push to main."
LONG = "All that is known of this bed is written here, in many words. " * 30


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


def talk(turns: int, start: int = 0) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for at in range(start, start + turns):
        said.append({"role": "user", "content": f"Question {at}: ticket T-{4000 + at}"})
        said.append({"role": "assistant", "content": f"Answer {at}: see /srv/x-{at}.txt. {LONG}"})
    return said


def work(turns: int) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    for at in range(turns):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
        said.append({"role": "user", "content": f"Question {at}"})
        said.append({"role": "assistant", "content": "", "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{at}", "content": f"Line {at}. {LONG * 4}"})
        said.append({"role": "assistant", "content": f"Done {at}."})
    return said


def test_rules_outlive_compactions_and_the_first_line_is_there_once() -> None:
    given = {"window": 64_000, "handoff": "hermes", "model": "gpt-5"}
    first = programs.answer({**given, "messages": talk(20), "rules": RULES})["messages"]
    second = programs.answer({**given, "messages": [*first, *talk(20, 20)]})["messages"]
    for messages in (first, second):
        [body] = [str(each["content"]) for each in messages if is_handoff(each)]
        assert body.count(RULES_OPEN) == body.count(BY_ENGINE) == body.count(RULES) == 1


def test_tool_output_is_shortened_where_that_saves_half() -> None:
    given = {"messages": work(20), "window": 64_000, "handoff": "hermes", "model": "gpt-5"}
    automatic = programs.answer({**given, "strategy": "automatic"})["messages"]
    assert [m.words(each) for each in automatic if each["role"] == "user" and not is_handoff(each)] == [
        f"Question {at}" for at in range(20)
    ]
    assert PRUNED in str(automatic)
    assert PRUNED not in str(programs.answer(given)["messages"])
    talked = programs.answer({**given, "messages": talk(20), "strategy": "automatic"})["messages"]
    assert len(talked) < 40, "there is no tool output: a summary"


def test_keys_that_are_not_known_stay_with_a_message() -> None:
    messages = [{**each, "own": at} for at, each in enumerate(talk(20))]
    kept = [each for each in programs.answer({"messages": messages, "window": 64_000})["messages"] if "own" in each]
    assert kept and all(each == messages[each["own"]] for each in kept)
