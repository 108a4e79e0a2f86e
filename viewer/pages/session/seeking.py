"""Where somebody wants to go in a session: to a message by its number, to a day, or to a place along the timeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone

from viewer.pages.parts.opened import OpenSession
from viewer.rendering import formats

PROBES = 40  # messages whose times are read at once to find the first of a day


@dataclass(frozen=True, slots=True)
class Sought:
    """Where to go: an address, or a sentence that says why there is none. `typed` is what was asked for."""

    typed: str = ""
    href: str = ""
    problem: str = ""


def sought(request: HttpRequest, found: OpenSession) -> Sought:
    """What `?at=` (a number, a day, "first", "newest") or `?nth=` (counted from 1) asks for; nothing without them."""
    index, place = found.index, found.place
    typed, nth = " ".join(request.GET.get("at", "")[:60].split()), request.GET.get("nth", "")
    if not typed and not nth.isdecimal():
        return Sought()
    if not index.messages:
        return Sought(typed, problem="This session has no messages yet.")
    if not typed or typed in ("first", "newest"):
        last = index.messages - 1
        at = {"first": 0, "newest": last}[typed] if typed else min(max(int(nth[:9]) - 1, 0), last)
        return Sought(typed, place.message(index.entry(at).id))
    number = typed.removeprefix("#")
    if number.isascii() and number.isdigit():
        return _by_number(found, typed, int(number[:19]))
    return _by_time(found, typed)


def times(found: OpenSession, places: Sequence[int]) -> dict[int, float]:
    """When the messages at these places were said; those whose time is not known are absent."""
    ids = {found.index.entry(place).id: place for place in places}
    rows = found.reader.messages(found.session.id, list(ids))
    return {ids[row.id]: row.timestamp for row in rows.values() if row.timestamp}


def _by_number(found: OpenSession, typed: str, number: int) -> Sought:
    index, place = found.index, found.place
    if index.boundary_at(number) is not None:
        return Sought(typed, place.boundary(number))
    message = index.message_of(number)
    if message is not None:
        return Sought(typed, place.message(message))
    first, last = index.entry(0).id, index.entry(index.messages - 1).id
    return Sought(typed, problem=f"No message here has the number {number}. They go from #{first} to #{last}.")


def _by_time(found: OpenSession, typed: str) -> Sought:
    try:
        moment = datetime.fromisoformat(typed)
        since = (moment if moment.tzinfo else timezone.make_aware(moment)).timestamp()
    except (ValueError, OverflowError):
        return Sought(typed, problem=f"“{typed}” is no message number, as #1234, and no date, as 2026-11-03.")
    at = _first_since(found, since)
    if at is not None:
        return Sought(typed, found.place.message(found.index.entry(at).id))
    newest = formats.day(times(found, [found.index.messages - 1]).get(found.index.messages - 1))
    said = f" The newest message is of {newest}." if newest else ""
    return Sought(typed, problem=f"Nothing was said on or after {typed}.{said}")


def _first_since(found: OpenSession, moment: float) -> int | None:
    """The place of the first message since then; None where all are older."""
    low, high = 0, found.index.messages
    while low < high:
        probes = range(low, high, max(1, (high - low) // PROBES))
        said = times(found, probes)
        later = next((number for number, place in enumerate(probes) if said.get(place, 0.0) >= moment), len(probes))
        high = probes[later] if later < len(probes) else high
        low = probes[later - 1] + 1 if later else high
    return low if low < found.index.messages else None
