"""Whom each message is about, and on which day it was written: as calls, ids and the messages' own times tell it.

Theory: a desk serves one person after another. A conversation begins with a greeting; whoever
is named in it alone, by an id that some call gave as a person's, is whom all of it is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from ..messages import Message, time_of
from ..polite import MARKER, is_greeting
from .wording import arguments_in, person_in

_RESULT_PERSON = re.compile(r'"(?:user|customer|client|member)_id": ?"([\w.@+-]{3,60})"')
_LOOKED_AT = 4_000  # characters of a result
_CALL_SIZE = 20_000  # characters of arguments that are read for a person


class Heard(NamedTuple):
    """What of a message tells whom it is about."""

    typed: bool
    words: str
    arguments: Sequence[str]
    results: Sequence[str]


def people_of(heard: Sequence[Heard]) -> list[str]:
    """For each message whom it is about, "" where that is not said or several are."""
    named = [_named(one) for one in heard]
    known = {person for persons in named for person in persons}
    if not known:
        return [""] * len(heard)
    people = [""] * len(heard)
    start = 0
    for at in range(1, len(heard) + 1):
        if at == len(heard) or _begins(heard, at):
            _spread(people, heard, named, known, range(start, at))
            start = at
    return people


def _named(one: Heard) -> list[str]:
    calls = [person_in(arguments_in(text)) for text in one.arguments if "_" in text and len(text) < _CALL_SIZE]
    printed = [match[1] for text in one.results if (match := _RESULT_PERSON.search(text[:_LOOKED_AT]))]
    return [person for person in dict.fromkeys([*calls, *printed]) if person]


def _begins(heard: Sequence[Heard], at: int) -> bool:
    """Whether a conversation with somebody begins here: with a greeting, or behind a test bench's marker."""
    if not heard[at].typed:
        return False
    before = next((i for i in range(at - 1, -1, -1) if heard[i].typed), -1)
    return before >= 0 and (is_greeting(heard[at].words) or bool(MARKER.search(heard[before].words[-80:])))


def _spread(found: list[str], heard: Sequence[Heard], named: list[list[str]], known: set[str], places: range) -> None:
    """Note in `found` whom a conversation is about; of several, whoever was named last before each message."""
    here = [(at, person) for at in places for person in (*_said(heard[at], known), *named[at])]
    if not here:
        return
    current = here[0][1]
    turning = dict(here)
    for at in places:
        current = turning.get(at, current)
        found[at] = current


def _said(one: Heard, known: set[str]) -> list[str]:
    if not one.typed:
        return []
    return [word for word in (raw.strip(".,:;!?\"'()") for raw in one.words.split()) if word in known]


def day_of(message: Message) -> date | None:
    """The day a message was written, in UTC, if it says so."""
    at = time_of(message)
    return at.date() if at else None


def spoken(day: date) -> str:
    """As in "15 July 2026"; the same in every locale."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
