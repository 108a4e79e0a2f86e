"""The context timeline: tokens in context over the session's messages, as SVG drawn here, with the same in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.runs.ours import history_of
from viewer.store import agent_config
from viewer.store.history import Boundary, History
from viewer.store.reading import live_context
from viewer.store.sessions import get_session
from viewer.store.stores import get_store, open_store

from . import formats
from .answers import is_fragment, page, shows_refusals
from .gauge import context_gauge, weights
from .header import Header, header

WIDTH, HEIGHT, TOP = 680.0, 64.0, 12.0  # of the drawing; 40 more to the right are for the last number
POINTS = 360  # at most, so that a long session is a small drawing


@dataclass(frozen=True, slots=True)
class Label:
    """A number on the drawing. `anchor` is SVG's text-anchor."""

    x: str
    y: str
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """`line` and `area` are path data; `cuts` the places of compactions; `limit` the height of the tokens at
    which the agent compacts by itself, where that lies within the drawing.
    """

    line: str
    area: str
    labels: tuple[Label, ...]
    cuts: tuple[str, ...]
    limit: str
    limit_label: str
    words: str


@dataclass(frozen=True, slots=True)
class TimelinePage:
    header: Header
    timeline: Timeline


@require_safe
@shows_refusals
def timeline(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    with open_store(get_store(store)) as reader:
        session = get_session(reader, session_id)
        history = history_of(reader, session_id)
        live = [row.id for row in live_context(reader, session_id)]
        series = rises(history, live, weights(reader, session))
        limit = agent_config.threshold(reader.store, session.model, context_gauge(reader, session).window)
        data = drawn(series, limit)
        if is_fragment(request):
            return page(request, "session/_timeline.html", data)
        top = header(reader, session)
    return page(request, "session/timeline.html", TimelinePage(top, data))


def rises(history: History, live: Sequence[int], weights: dict[int, int]) -> list[list[int]]:
    """For each stretch between compactions, the tokens in context after each message; first the block as a whole."""
    series: list[list[int]] = []
    block: Boundary | None = None
    for boundary in history.boundaries:
        series.append(_rise(block, boundary.before_ids, weights))
        block = boundary
    series.append(_rise(block, live, weights))
    return [stretch for stretch in series if stretch]


def _rise(block: Boundary | None, ids: Iterable[int], weights: dict[int, int]) -> list[int]:
    held = set(block.block_ids) if block else set()
    total = sum(weights.get(row_id, 0) for row_id in held)
    stretch = [total] if block else []
    for row_id in ids:
        if row_id not in held:
            total += weights.get(row_id, 0)
            stretch.append(total)
    return stretch


def drawn(series: list[list[int]], limit: int | None) -> Timeline:
    """The drawing of a series, scaled to its highest point, with a line at `limit` tokens."""
    steps = max(1, sum(len(stretch) - 1 for stretch in series))  # a drop is upright: both its ends share a place
    top = max((max(stretch) for stretch in series), default=0) or 1
    points: list[tuple[float, float]] = []
    labels: list[Label] = []
    cuts: list[str] = []
    at = 0
    for number, stretch in enumerate(series):
        every = max(1, len(stretch) * len(series) // POINTS)
        for index in sorted({*range(0, len(stretch), every), len(stretch) - 1}):
            points.append(((at + index) / steps * WIDTH, HEIGHT - 2 - stretch[index] / top * (HEIGHT - TOP - 2)))
        at += len(stretch) - 1
        cuts += [f"{points[-1][0]:.1f}"] if number < len(series) - 1 else []
        labels.append(_label(points[-1], stretch[-1], last=number == len(series) - 1))
    path = " ".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return Timeline(
        line=f"M{path}",
        area=f"M0 {HEIGHT:.0f} L{path} L{points[-1][0] if points else 0:.1f} {HEIGHT:.0f}Z",
        labels=tuple(labels),
        cuts=tuple(cuts),
        limit=f"{HEIGHT - 2 - limit / top * (HEIGHT - TOP - 2):.1f}" if limit and limit <= top else "",
        limit_label=f"the agent compacts by itself at {formats.thin(limit)}" if limit else "",
        words=in_words(series),
    )


def _label(point: tuple[float, float], tokens: int, *, last: bool) -> Label:
    """The number at a peak: right of its drop, or left of it where that would run into the last number."""
    x, y = point
    if last:
        return Label(f"{x + 4:.1f}", f"{min(y + 4, HEIGHT - 4):.1f}", formats.thin(tokens), "start")
    left = x > WIDTH - 60
    return Label(
        f"{x - 4 if left else x + 4:.1f}", f"{max(10.0, y - 3):.1f}", formats.thin(tokens), "end" if left else "start"
    )


def in_words(series: list[list[int]]) -> str:
    """The drawing as a sentence: peaks, drops, now."""
    if not series:
        return "Nothing is in context."
    parts = [
        f"{formats.thin(before[-1])} before compaction {number}, {formats.thin(after[0])} after it"
        for number, (before, after) in enumerate(zip(series, series[1:], strict=False), 1)
    ]
    return "Tokens in context over the session: " + ", ".join([*parts, f"{formats.thin(series[-1][-1])} now"]) + "."
