"""The context timeline: tokens in context over the session's messages, as an SVG drawn here, with the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import accumulate, filterfalse
from urllib.parse import parse_qs, urlsplit

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.history import index_cache
from viewer.pages.http import is_fragment, page, shows_refusals, whole_number
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacts
from viewer.rendering import formats
from viewer.stores.registry import agent_of, get_store, open_store
from viewer.stores.transcript import NONE, TranscriptIndex

from .header import header
from .window import times

WIDTH, HEIGHT, TOP = 680.0, 84.0, 16.0  # of the drawing; left of it are 44 more for the numbers of the axis
ASIDE = 52.0  # more to the right, for the last number: seven letters
LETTER, LINE = 6.5, 14.0  # about the width of a letter of a label, and its height
NOT_COUNTED = " Not every message is counted yet: the numbers are estimates."
COUNTING_SECONDS = 0.15  # for counting tokens before the drawing, which is requested after its page
POINTS = 360  # at most, so that a long session is a small drawing
HIGHEST = 1.5  # lines are drawn up to this many times the height of the tokens: above, those would be flat
SAMPLES = 24  # messages whose days are read for the label of the cursor


@dataclass(frozen=True, slots=True)
class Label:
    """A number on the drawing. `anchor` is SVG's text-anchor."""

    x: str
    y: str
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A number of the axis, with the heights of its line and of its foot."""

    y: str
    foot: str
    text: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """A slider to a place in the session: message `now` of `total` is shown. `days` says on which message a day begins,
    "1:3 Oct", separated by bars.
    """

    href: str
    now: int
    total: int
    days: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """`line` and `area` are path data; `cuts` the positions of compactions; `limit` the height of the tokens at which
    the agent compacts by itself, `window` that of the model's context window: "" if unknown, or if that is far above
    everything else. `notes` says what both are, as the CSS class of the line and the words.
    """

    line: str
    area: str
    labels: tuple[Label, ...]
    cuts: tuple[str, ...]
    limit: str
    window: str
    notes: tuple[tuple[str, str], ...]
    ticks: tuple[Tick, ...]
    words: str
    cursor: Cursor | None = None


@require_safe
@shows_refusals
def timeline(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        is_new = NONE in opened.index.tokens
        if is_new:
            index_cache.count_some(reader, opened.session, COUNTING_SECONDS)
            opened = open_session(reader, session_id, redacting=redacts(request))
        limit = agent_of(reader.store).threshold(opened.session.model, opened.window)
        about, places = NONE in opened.index.tokens, places_of(opened.index)
        data = drawn(rises(opened.index), places, limit, about=about, window=opened.window)
        data = replace(data, cursor=_cursor(request, opened), notes=(*_beyond_messages(opened), *data.notes))
        if is_fragment(request) and not is_new:
            return page(request, "session/_timeline.html", data)
        top = header(opened)
    template = "session/_timeline_and_tokens.html" if is_fragment(request) else "session/timeline.html"
    return page(request, template, {"header": top, "timeline": data})


def rises(index: TranscriptIndex) -> list[list[int]]:
    """For each stretch between compactions, the tokens in context after each message; first the block as a whole."""
    series: list[list[int]] = []
    block: Sequence[int] = ()
    for boundary in index.boundaries:
        series.append(_rise(index, block, boundary.before))
        block = boundary.block
    series.append(_rise(index, block, index.live))
    return [stretch for stretch in series if stretch]


def _rise(index: TranscriptIndex, block: Sequence[int], numbers: Sequence[int]) -> list[int]:
    messages = list(filterfalse(set(block).__contains__, numbers))
    stretch = list(accumulate(index.estimates(messages), initial=sum(index.estimates(block))))
    if block and not messages:
        return stretch * 2  # level from its drop to where it ends
    return stretch if block else stretch[1:]


def places_of(index: TranscriptIndex) -> list[list[float]]:
    """Where each number of `rises` is along the session's messages, from 0 to 1. A compaction is where History has it,
    before the first message that it kept: the numbers of what it kept are there before it, and at their messages
    after it.
    """
    stretches: list[list[float]] = []
    last, at = max(1, index.messages - 1), 0
    block: Sequence[int] = ()
    ends = [(boundary.before, boundary.block, boundary.place) for boundary in index.boundaries]
    for numbers, next_block, end in [*ends, (index.live, (), last)]:
        messages = filterfalse(set(block).__contains__, numbers)
        found = (min(index.places[number], end) for number in messages)
        stretch = list(accumulate(found, max, initial=at))
        if block and len(stretch) == 1:
            stretch *= 2
        at = max(at, min(end, last))
        stretches.append([place / last for place in [*stretch[:-1], at][0 if block else 1 :]])
        block = next_block
    return [stretch for stretch in stretches if stretch]


def _cursor(request: HttpRequest, opened: OpenSession) -> Cursor | None:
    """The cursor at the message that the page shows, or the newest; None if there are fewer than two messages."""
    total = opened.index.messages
    if total < 2:
        return None
    shown = parse_qs(urlsplit(request.headers.get("HX-Current-URL", "")).query).get("around", [""])[0]
    message = whole_number(shown)
    place = None if message is None else opened.index.place_of(message)
    places = sorted({*range(0, total, max(1, total // SAMPLES)), total - 1})
    timestamps = times(opened, places)
    days, last = [], None
    for each in places:
        at = formats.day(timestamps.get(each))
        if at is not None and at != last:
            days.append(f"{each + 1}:{at.day} {at:%b}{'' if at.year == date.today().year else f' {at.year}'}")
            last = at
    return Cursor(opened.urls.href, total if place is None else place + 1, total, "|".join(days))


def _height(tokens: float, top: int) -> float:
    return HEIGHT - 2 - tokens / top * (HEIGHT - TOP - 2)


def _ticks(top: int) -> tuple[Tick, ...]:
    """Round numbers, at most four and far enough from each other."""
    unit = 10 ** max(0, len(str(top // 3)) - 1)
    step = next(unit * each for each in (1, 2, 5, 10) if unit * each * 4 > top)
    heights = [(tokens, _height(tokens, top)) for tokens in range(0, top + 1, step)]
    return tuple(Tick(f"{y:.1f}", f"{min(y + 4, HEIGHT - 2):.1f}", formats.thin(tokens)) for tokens, y in heights)


def drawn(
    series: list[list[int]], places: list[list[float]], limit: int | None, *, about: bool = False, window: int = 0
) -> Timeline:
    """The drawing of a series, scaled to its highest point, with lines at `limit` tokens and the model's window.
    `places` are those of its numbers along the drawing, from 0 to 1.
    """
    highest = max(map(max, series), default=0) or 1
    lines = [each for each in (limit or 0, window) if each <= highest * HIGHEST]
    top = max([highest, *lines])
    points: list[tuple[float, float]] = []
    labels: list[Label] = []
    cuts: list[str] = []
    for number, (stretch, along) in enumerate(zip(series, places, strict=True)):
        every = max(1, len(stretch) * len(series) // POINTS)
        for index in sorted({*range(0, len(stretch), every), len(stretch) - 1}):
            points.append((along[index] * WIDTH, _height(stretch[index], top)))
        is_last = number == len(series) - 1
        if is_last and points[-1][0] < WIDTH:
            points.append((WIDTH, points[-1][1]))  # a level line up to now
        cuts += [] if is_last else [f"{points[-1][0]:.1f}"]
        labels.append(_label(points[-1], stretch[-1], about, last=is_last))
    path = " ".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return Timeline(
        line=f"M{path}",
        area=f"M0 {HEIGHT:.0f} L{path} L{points[-1][0] if points else 0:.1f} {HEIGHT:.0f}Z",
        labels=apart(labels),
        cuts=tuple(cuts),
        limit=f"{_height(limit, top):.1f}" if series and limit and limit <= top else "",
        window=f"{_height(window, top):.1f}" if series and window and window <= top else "",
        notes=_notes(limit or 0, window, top) if series else (),
        ticks=_ticks(top) if series else (),
        words=in_words(series, limit)
        + (f" The model takes {formats.thin(window)}." if series and window else "")
        + (NOT_COUNTED if about else ""),
    )


def _notes(limit: int, window: int, top: int) -> tuple[tuple[str, str], ...]:
    """What the lines are, below the drawing, each with its class; an arrow says that one is above the drawing."""
    lines = [("limit", limit, "the agent compacts by itself at "), ("window", window, "the model's window, ")]
    return tuple(
        ("above", f"↑ {text}{formats.thin(tokens)}") if tokens > top else (name, f"{text}{formats.thin(tokens)}")
        for name, tokens, text in lines
        if tokens
    )


def _beyond_messages(opened: OpenSession) -> tuple[tuple[str, str], ...]:
    """How much more the agent reports than what is drawn, which is messages alone."""
    more = (opened.reader.usage(opened.session.id).tokens or 0) - opened.index.context.tokens
    return (("", f"without prompt and tools, {formats.thin(more)}"),) if more > 0 and opened.index.messages else ()


def _label(point: tuple[float, float], tokens: int, about: bool, *, last: bool) -> Label:
    """The number at a peak: right of its drop, or left of it if it would overlap the last number."""
    x, y = point
    text = f"~{formats.thin(tokens)}" if about else formats.thin(tokens)
    if last:
        return Label(f"{x + 4:.1f}", f"{min(y + 4, HEIGHT - 4):.1f}", text, "start")
    on_left = x > WIDTH - 60
    return Label(f"{x - 4 if on_left else x + 4:.1f}", f"{max(10.0, y - 3):.1f}", text, "end" if on_left else "start")


def apart(labels: Sequence[Label]) -> tuple[Label, ...]:
    """The labels, with priority for the newest and then the highest; those that would overlap others are moved or left
    out.
    """
    placed: list[Label] = []
    for label in sorted(labels, key=lambda each: (each is not labels[-1], float(each.y))):
        x, other = float(label.x), "end" if label.anchor == "start" else "start"
        turned = replace(label, anchor=other, x=f"{x - 8 if other == 'end' else x + 8:.1f}")
        candidates = [label, turned, *(replace(each, y=f"{float(each.y) + LINE:.1f}") for each in (label, turned))]
        free = [each for each in candidates if _fits(each) and not any(_meet(each, other) for other in placed)]
        placed += free[:1]
    return tuple(sorted(placed, key=lambda each: float(each.x)))


def _span(label: Label) -> tuple[float, float]:
    width = LETTER * len(label.text)
    x = float(label.x)
    return (x, x + width) if label.anchor == "start" else (x - width, x)


def _fits(label: Label) -> bool:
    start, stop = _span(label)
    return start >= 0 and stop <= WIDTH + ASIDE and float(label.y) < HEIGHT


def _meet(a: Label, b: Label) -> bool:
    (start, stop), (first, last) = _span(a), _span(b)
    return abs(float(a.y) - float(b.y)) < LINE and start < last + 2 and first < stop + 2


def in_words(series: list[list[int]], limit: int | None = None) -> str:
    """The drawing as a sentence: peaks, drops, now, and where the agent compacts by itself."""
    if not series:
        return "Nothing is in context."
    parts = [
        f"{formats.thin(before[-1])} before compaction {number}, {formats.thin(after[0])} after it"
        for number, (before, after) in enumerate(zip(series, series[1:], strict=False), 1)
    ]
    itself = f" The agent compacts by itself at {formats.thin(limit)}." if limit else ""
    now = f"{formats.thin(series[-1][-1])} now"
    return f"Tokens in context over the session: {', '.join([*parts, now])}.{itself}"
