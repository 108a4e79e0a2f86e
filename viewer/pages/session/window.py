"""A window of History on the session page, where somebody wants to go in it, or the messages since it was opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone

from compaction import messages as engine
from viewer.pages.parts.boundary import ShownBoundary, shown_boundary
from viewer.pages.parts.opened import OpenSession
from viewer.pages.redaction import redacted_item
from viewer.rendering import formats
from viewer.rendering.marking import WordMarks
from viewer.stores import counting
from viewer.stores.message import Handoff, HistoryMessage, StoredMessage
from viewer.stores.transcript import HistoryWindow, TranscriptIndex

from .messages import MessageContext, ShownMessage, of_history, shown_messages

WINDOW = 60
PROBES = 40  # messages whose times are read at once to find the first of a day
GROUP_LIMIT = 60  # messages by which a window may grow so that a call and its results are not torn apart


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbouring window: how many messages there are on that side, and its address."""

    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Live:
    """The end of the newest window, where what is said from now on appears: `href` asks for it. `items` is the newest
    message while it waits for results; it is shown anew with them.
    """

    href: str
    items: tuple[ShownMessage | ShownBoundary, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A window of History: messages and boundaries in order, and what lies on either side of it. `live` is the end of
    the newest one.
    """

    items: tuple[ShownMessage | ShownBoundary, ...]
    earlier: Neighbour | None
    later: Neighbour | None
    live: Live | None


def whole_groups(index: TranscriptIndex, start: int, stop: int) -> HistoryWindow:
    """The window of these places, grown so that no tool result stands at either edge without its call."""
    lowest, highest = max(0, start - GROUP_LIMIT), min(index.messages, stop + GROUP_LIMIT)
    while start < stop and start > lowest and index.is_result(start):
        start -= 1
    while start < stop < highest and index.is_result(stop):
        stop += 1
    return index.stretch(start, stop)


def read_stretch(
    found: OpenSession, window: HistoryWindow, marked: int | None, *, redacting: bool, words: str = ""
) -> Stretch:
    """The rows of a window as messages and boundaries, with the words that somebody looked for marked."""
    place, index = found.place, found.index
    items = found.reader.shown(found.session.id, window.items)
    if redacting:
        items = [redacted_item(item) for item in items]
    newest = index.entry(index.messages - 1).id if index.messages else None
    counter, marks = counting.counter_for(found.session.model), WordMarks(words) if words else None
    suspected = found.reader.suspected_handoff(found.session.id, index.live_ids)
    told = MessageContext(place, counter, marked, newest, words=marks, suspected=suspected)
    settled = len(items) if window.later else _settled(items)
    return Stretch(
        items=tuple(_shown(items[:settled], told, found)),
        earlier=_more(window.earlier, place.view(before=window.first, q=words)),
        later=_more(window.later, place.view(after=window.last, q=words)),
        live=None if window.later else _live(found, items[settled:], told),
    )


def _settled(items: Sequence[HistoryMessage | Handoff]) -> int:
    """How many of the newest items stay as they are: all but a last message that calls tools, while results lack."""
    at = len(items) - 1
    while at >= 0 and not isinstance(item := items[at], Handoff) and item.row.role in engine.RESULT_ROLES:
        at -= 1
    last = items[at] if at >= 0 else None
    waits = isinstance(last, HistoryMessage) and _calls(last.row) > len(items) - 1 - at
    return at if waits else len(items)


def _calls(row: StoredMessage) -> int:
    return len(engine.calls({"role": row.role, "tool_calls": row.tool_calls, "content": row.content}))


def _live(found: OpenSession, waiting: Sequence[HistoryMessage | Handoff], told: MessageContext) -> Live:
    seen = found.index.messages
    state = found.index.digest(seen)
    href = found.place.view("live", seen=seen, start=seen - len(waiting), state=state)
    return Live(href, tuple(_shown(waiting, told, found)))


def _more(count: int, href: str) -> Neighbour | None:
    return Neighbour(count, href) if count else None


def _shown(
    items: Sequence[HistoryMessage | Handoff], told: MessageContext, found: OpenSession
) -> list[ShownMessage | ShownBoundary]:
    """Messages between boundaries; a call finds its result on the other side of none: cuts never tear them apart."""
    result: list[ShownMessage | ShownBoundary] = []
    run: list[HistoryMessage] = []
    for item in items:
        if isinstance(item, Handoff):
            result += shown_messages([of_history(message) for message in run], told)
            result.append(_with_words(shown_boundary(item, found, told.marked), told))
            run = []
        else:
            run.append(item)
    return result + shown_messages([of_history(message) for message in run], told)


def _with_words(boundary: ShownBoundary, told: MessageContext) -> ShownBoundary:
    if told.words is None:
        return boundary
    return replace(boundary, summary=replace(boundary.summary, html=told.words.marked(boundary.summary.html)))


# -- where somebody wants to go: a number, a day, a place along the timeline -------------------------------------------


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
