"""A window of History on the session page, the place to go to in it, or the messages since it was opened."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import ClassVar

from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString

from compaction import messages as engine
from viewer.pages.parts.boundary import ShownBoundary, shown_boundary
from viewer.pages.parts.opened import OpenSession
from viewer.pages.redaction import redacted_item
from viewer.rendering import formats
from viewer.rendering.marking import WordMarks
from viewer.stores.message import Handoff, HistoryMessage, StoredMessage
from viewer.stores.transcript import HistoryWindow, TranscriptIndex
from viewer.usage import counting

from . import filters
from .contents import Item, prompt_items
from .messages import MessageContext, MessageToShow, ShownMessage, of_history, shown_messages
from .turns import TurnWork, begins_turn, turns

NEWEST = ("newest", "last")  # what somebody may type for the newest message
WINDOW = 60
PROBES = 40  # messages whose times are read at once to find the first of a day
GROUP_LIMIT = 60  # messages by which a window may grow so that a call and its results are not torn apart


@dataclass(frozen=True, slots=True)
class Matches:
    """Messages of one turn that a filter shows, with nothing but their calls, and the prompt of the turn."""

    template: ClassVar[str] = "session/_matches.html"
    prompt: Item | None
    rows: tuple[ShownMessage, ...]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbouring window: how many messages there are on that side, and its address."""

    count: int
    href: str


@dataclass(frozen=True, slots=True)
class Live:
    """The end of the newest window, where new messages appear: `href` requests them. `items` is the newest message
    while it waits for results; it is shown again with them.
    """

    href: str
    items: tuple[ShownMessage | TurnWork | ShownBoundary, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A window of History: messages and boundaries in order, and its neighbours on either side. `live` is the end of
    the newest one, None for a filter.
    """

    items: tuple[ShownMessage | TurnWork | Matches | ShownBoundary, ...]
    earlier: Neighbour | None
    later: Neighbour | None
    live: Live | None


def whole_groups(index: TranscriptIndex, start: int, stop: int) -> HistoryWindow:
    """The window of these places, extended so that no tool result is at either edge without its call."""
    lowest, highest = max(0, start - GROUP_LIMIT), min(index.messages, stop + GROUP_LIMIT)
    while start < stop and start > lowest and index.is_result(start):
        start -= 1
    while start < stop < highest and index.is_result(stop):
        stop += 1
    return index.stretch(start, stop)


def read_stretch(
    opened: OpenSession, window: HistoryWindow, marked: int | None, *, redacting: bool, words: str = "", only: str = ""
) -> Stretch:
    """The rows of a window as messages and boundaries, with the `words` marked; `only` is the filter it is of."""
    urls, index = opened.urls, opened.index
    items = opened.reader.shown(opened.session.id, window.items)
    if redacting:
        items = [redacted_item(item) for item in items]
    newest = index.entry(index.messages - 1).id if index.messages else None
    counter, marks = counting.counter_for(opened.session.model), WordMarks(words) if words else None
    suspected = opened.reader.suspected_handoff(opened.session.id, index.live_ids)
    context = MessageContext(
        urls,
        counter,
        marked,
        newest,
        number=opened.number_of,
        words=marks,
        suspected=suspected,
        cwd=opened.session.cwd,
    )
    settled = len(items) if window.later or only else _settled(items)
    if only:
        shown: Iterable[ShownMessage | TurnWork | Matches | ShownBoundary] = _matches(items, context, opened, only)
    else:
        shown = _shown(items[:settled], context, opened, is_newest=not window.later)
    return Stretch(
        items=tuple(shown),
        earlier=_more(window.earlier, urls.view(before=window.first, q=words, only=only)),
        later=_more(window.later, urls.view(after=window.last, q=words, only=only)),
        live=None if window.later or only else _live(opened, items[settled:], context),
    )


def _settled(items: Sequence[HistoryMessage | Handoff]) -> int:
    """How many of the newest items are final: all except a last message that calls tools, while results are missing."""
    at = len(items) - 1
    while at >= 0 and not isinstance(item := items[at], Handoff) and item.row.role in engine.RESULT_ROLES:
        at -= 1
    last = items[at] if at >= 0 else None
    waits = isinstance(last, HistoryMessage) and _calls(last.row) > len(items) - 1 - at
    return at if waits else len(items)


def _calls(row: StoredMessage) -> int:
    return len(engine.calls({"role": row.role, "tool_calls": row.tool_calls, "content": row.content}))


def _live(opened: OpenSession, waiting: Sequence[HistoryMessage | Handoff], context: MessageContext) -> Live:
    seen = opened.index.messages
    state = opened.index.digest(seen)
    href = opened.urls.view("live", seen=seen, start=seen - len(waiting), state=state)
    return Live(href, tuple(_shown(waiting, context, opened, is_newest=True)))


def _more(count: int, href: str) -> Neighbour | None:
    return Neighbour(count, href) if count else None


def _shown(
    items: Sequence[HistoryMessage | Handoff], context: MessageContext, opened: OpenSession, *, is_newest: bool
) -> list[ShownMessage | TurnWork | ShownBoundary]:
    """Turns between boundaries; no boundary is between a call and its result. `is_newest` says that no messages are
    after them but those that wait for results.
    """
    result: list[ShownMessage | TurnWork | ShownBoundary] = []
    run: list[MessageToShow] = []

    def shown_run(*, running: bool) -> Iterator[ShownMessage | TurnWork]:
        return turns(shown_messages(run, context), run, opened.index, running=running)

    for item in items:
        if isinstance(item, Handoff):
            result += shown_run(running=False)
            result.append(_with_words(shown_boundary(item, opened, context.marked), context))
            run = []
        else:
            run.append(of_history(item, asks=begins_turn(item, opened.index)))
    return result + list(shown_run(running=is_newest))


def _matches(
    items: Sequence[HistoryMessage | Handoff], context: MessageContext, opened: OpenSession, only: str
) -> Iterator[ShownMessage | Matches]:
    """What a filter shows of its messages; calls by turn, below the prompt."""
    index = opened.index
    rows = [of_history(item) for item in items if not isinstance(item, Handoff)]
    if only == "thinking":
        rows = [replace(item, row=filters.thinking_of(item.row), part="reasoning") for item in rows]
    messages = shown_messages(rows, context)
    if not filters.FILTERS[only].of_calls:
        yield from (replace(each, calls=(), calls_left=0) for each in messages)  # their results are not read
        return
    turns_of = [(bisect_right(index.prompts, each.number - 1), each) for each in messages]
    asked = [index.prompts[number - 1] for number in dict.fromkeys(number for number, _ in turns_of) if number]
    prompts = {item.number: item for item in prompt_items(opened, asked, (0, 0), opened.redacting)}
    for number, of_turn in groupby(turns_of, lambda each: each[0]):
        shown = (
            replace(
                each,
                html=SafeString(),
                notes=(),
                calls=tuple(c for c in each.calls if filters.is_shown(c, filters.FILTERS[only])),
            )
            for _, each in of_turn
        )
        yield Matches(prompts[index.prompts[number - 1] + 1] if number else None, tuple(shown))


def _with_words(boundary: ShownBoundary, context: MessageContext) -> ShownBoundary:
    if context.words is None:
        return boundary
    return replace(boundary, summary=replace(boundary.summary, html=context.words.marked(boundary.summary.html)))


# -- where somebody wants to go: a number, a day, a place along the timeline -------------------------------------------


@dataclass(frozen=True, slots=True)
class Sought:
    """Where to go: an address, or a sentence that says why there is none. `typed` is the text of the request."""

    typed: str = ""
    href: str = ""
    problem: str = ""


def sought(request: HttpRequest, opened: OpenSession, only: str = "") -> Sought:
    """The target of `?at=` (a number, a day, "first", "newest", "last") or `?nth=` (counted from 1); empty without
    them. A number is a message's place, counted from 1, or else an id; with "#" it is an id. The first and the newest
    are those of the filter `only`.
    """
    index, urls = opened.index, opened.urls
    typed, nth = " ".join(request.GET.get("at", "")[:60].split()), request.GET.get("nth", "")
    if not typed and not nth.isdecimal():
        return Sought()
    if not index.messages:
        return Sought(typed, problem="This session has no messages yet.")
    last = index.messages - 1
    if not typed:
        return Sought("", urls.message(index.entry(min(max(int(nth[:9]) - 1, 0), last)).id))
    if typed.lower() == "first":
        first = index.entry(0).id
        return Sought(typed, urls.view(around=first, only=only) if only else urls.message(first))
    if typed.lower() in NEWEST:
        return Sought(typed, urls.view(only=only))  # where a session opens
    number = typed.removeprefix("#").replace(",", "")
    if number.isascii() and number.isdigit():
        return _by_number(opened, typed, int(number[:19]))
    return _by_time(opened, typed)


def times(opened: OpenSession, places: Sequence[int]) -> dict[int, float]:
    """The times of the messages at these places; messages without a known time are absent."""
    ids = {opened.index.entry(place).id: place for place in places}
    rows = opened.reader.messages(opened.session.id, list(ids))
    return {ids[row.id]: row.timestamp for row in rows.values() if row.timestamp}


def _by_number(opened: OpenSession, typed: str, number: int) -> Sought:
    index, urls = opened.index, opened.urls
    if 1 <= number <= index.messages and not typed.startswith("#"):
        return Sought(typed, urls.message(index.entry(number - 1).id))
    if index.boundary_at(number) is not None:
        return Sought(typed, urls.boundary(number))
    message = index.message_of(number)
    if message is not None:
        return Sought(typed, urls.message(message))
    if not typed.startswith("#"):
        return Sought(typed, problem=f"There is no message {number:,} here: they go from 1 to {index.messages:,}.")
    return Sought(typed, urls.message(number))  # where the nearest is shown


def _by_time(opened: OpenSession, typed: str) -> Sought:
    since = moment_of(typed)
    if since is None:
        return Sought(typed, problem=f"“{typed}” is no message number, as 1234, and no date, as 2026-11-03.")
    at = _first_since(opened, since)
    if at is not None:
        return Sought(typed, opened.urls.message(opened.index.entry(at).id))
    newest = formats.day(times(opened, [opened.index.messages - 1]).get(opened.index.messages - 1))
    ending = f" The newest message is of {newest}." if newest else ""
    return Sought(typed, problem=f"Nothing was said on or after {typed}.{ending}")


def moment_of(typed: str) -> float | None:
    """The moment that a date or a time in ISO 8601 names; None for other text."""
    try:
        parsed = datetime.fromisoformat(typed)
        return (parsed if parsed.tzinfo else timezone.make_aware(parsed)).timestamp()
    except (ValueError, OverflowError):
        return None


def _first_since(opened: OpenSession, moment: float) -> int | None:
    """The place of the first message since then; None if all are older."""
    low, high = 0, opened.index.messages
    while low < high:
        probes = range(low, high, max(1, (high - low) // PROBES))
        timestamps = times(opened, probes)
        later = next(
            (number for number, place in enumerate(probes) if timestamps.get(place, 0.0) >= moment), len(probes)
        )
        high = probes[later] if later < len(probes) else high
        low = probes[later - 1] + 1 if later else high
    return low if low < opened.index.messages else None
