"""Which person each message is about, and the day it was written, from calls, ids and the messages' times.

Theory: a service desk serves one person after another. A conversation begins with a greeting. If only one person is
named in it, by an id that some call gave as a person's, the whole conversation is about that person.
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
    """The parts of a message that show which person it is about."""

    typed: bool
    words: str
    arguments: Sequence[str]
    results: Sequence[str]


def people_of(heard: Sequence[Heard]) -> list[str]:
    """For each message the person it is about, "" if none or several are named."""
    named = [_named(one) for one in heard]
    persons = {person for each in named for person in each}
    if not persons:
        return [""] * len(heard)
    people = [""] * len(heard)
    start = 0
    for at in range(1, len(heard) + 1):
        if at == len(heard) or _begins(heard, at):
            _spread(people, heard, named, persons, range(start, at))
            start = at
    return people


def _named(one: Heard) -> list[str]:
    calls = [person_in(arguments_in(text)) for text in one.arguments if "_" in text and len(text) < _CALL_SIZE]
    printed = [match[1] for text in one.results if (match := _RESULT_PERSON.search(text[:_LOOKED_AT]))]
    return [person for person in dict.fromkeys([*calls, *printed]) if person]


def _begins(heard: Sequence[Heard], at: int) -> bool:
    """Whether a conversation begins here: with a greeting, or after a test bench's marker."""
    if not heard[at].typed:
        return False
    before = next((i for i in range(at - 1, -1, -1) if heard[i].typed), -1)
    return before >= 0 and (is_greeting(heard[at].words) or bool(MARKER.search(heard[before].words[-80:])))


def _spread(
    people: list[str], heard: Sequence[Heard], named: list[list[str]], persons: set[str], places: range
) -> None:
    """Write into `people` whom one conversation is about: of several, whoever was named last before each message."""
    here = [(at, person) for at in places for person in (*_persons_named(heard[at], persons), *named[at])]
    if not here:
        return
    current = here[0][1]
    turning = dict(here)
    for at in places:
        current = turning.get(at, current)
        people[at] = current


def _persons_named(one: Heard, persons: set[str]) -> list[str]:
    if not one.typed:
        return []
    return [word for word in (raw.strip(".,:;!?\"'()") for raw in one.words.split()) if word in persons]


def day_of(message: Message) -> date | None:
    """The day a message was written, in UTC, None if it has no time."""
    at = time_of(message)
    return at.date() if at else None


def spoken(day: date) -> str:
    """As in "15 July 2026"; the same in every locale."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
