"""Tokens reclaimed by compactions over time, as bars drawn here, with the same in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from viewer.rendering import formats

WIDTH, HEIGHT, TOP = 720.0, 72.0, 14.0  # of the drawing
DAYS = 60  # bars at most; a longer time is drawn in stretches of several days
WIDEST = 24.0


@dataclass(frozen=True, slots=True)
class Bar:
    """The compactions of one stretch of days."""

    x: str
    y: str
    width: str
    height: str
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`most` labels the highest bar; `first` and `last` are the days it begins and ends with."""

    bars: tuple[Bar, ...]
    most: str
    first: str
    last: str
    words: str


def drawn(found: Iterable[tuple[float | None, int]]) -> Chart | None:
    """The chart of compactions, (epoch seconds, tokens reclaimed); None where it would be a single bar. Those whose
    time is not known, and those that made the context larger, are left out.
    """
    days = [(day, tokens) for at, tokens in found if tokens > 0 and (day := formats.day(at)) is not None]
    if len({day for day, _ in days}) < 2:
        return None
    first, last = min(days)[0], max(days)[0]
    every = -(-((last - first).days + 1) // DAYS)
    sums, counts = Counter[int](), Counter[int]()
    for day, tokens in days:
        sums[(day - first).days // every] += tokens
        counts[(day - first).days // every] += 1
    most = max(sums.values())
    return Chart(
        bars=tuple(_bar(at, sums, counts, first, last, every) for at in sorted(sums)),
        most=formats.thin(most),
        first=_name(first),
        last=_name(last),
        words=_in_words(len(days), sum(sums.values()), most, (first, last), every),
    )


def _in_words(count: int, total: int, most: int, between: tuple[date, date], every: int) -> str:
    return (
        f"{formats.thin(total)} tokens reclaimed by {formats.counted(count, 'compaction')} from {_name(between[0])} to "
        f"{_name(between[1])}, at most {formats.thin(most)} in {formats.counted(every, 'day')}."
    )


def _bar(at: int, sums: Counter[int], counts: Counter[int], first: date, last: date, every: int) -> Bar:
    step = WIDTH / ((last - first).days // every + 1)
    width = min(WIDEST, step * 0.8)
    height = max(1.0, sums[at] / max(sums.values()) * (HEIGHT - TOP))
    begins = first + timedelta(days=at * every)
    ends = f" to {_name(begins + timedelta(days=every - 1))}" if every > 1 else ""
    return Bar(
        x=f"{at * step + (step - width) / 2:.1f}",
        y=f"{HEIGHT - height:.1f}",
        width=f"{width:.1f}",
        height=f"{height:.1f}",
        words=f"{_name(begins)}{ends}: {formats.thin(sums[at])} tokens, {formats.counted(counts[at], 'compaction')}",
    )


def _name(day: date) -> str:
    return f"{day.day} {day:%b %Y}"
