"""Charts of days as bars drawn by the server, with the same in words; no script is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

WIDTH, HEIGHT = 720.0, 96.0  # of the drawing
WIDEST = 24.0
MOST = 60  # bars; a longer time is drawn in stretches of several days


@dataclass(frozen=True, slots=True)
class Bar:
    """One day, or one stretch of days, and its text on hover."""

    x: str
    y: str
    width: str
    height: str
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`most` labels the highest bar, `first` and `last` are the days at the ends, `words` says everything as text."""

    bars: tuple[Bar, ...]
    most: str
    first: str
    last: str
    words: str


def bars(values: Sequence[tuple[int, float, str]], places: int) -> tuple[Bar, ...]:
    """Bars of (position from 0, value, words) for so many places; every value above 0 is visible."""
    highest = max((value for _, value, _ in values), default=0.0)
    step = WIDTH / places
    width = min(WIDEST, step * 0.8)
    return tuple(
        _bar(position * step + (step - width) / 2, width, max(1.0, value / highest * HEIGHT), words)
        for position, value, words in values
        if value > 0
    )


def _bar(x: float, width: float, height: float, words: str) -> Bar:
    return Bar(f"{x:.1f}", f"{HEIGHT - height:.1f}", f"{width:.1f}", f"{height:.1f}", words)


def days_of_a_bar(first: date, last: date) -> int:
    """The days of each bar between these days: one, or as many as leave `MOST` bars."""
    return -(-((last - first).days + 1) // MOST)


def stretch_name(first: date, every: int, at: int) -> str:
    """The days of the bar at this position: "14 Jul 2026", or "14 Jul 2026 to 18 Jul 2026"."""
    begins = first + timedelta(days=at * every)
    return f"{day_name(begins)} to {day_name(begins + timedelta(days=every - 1))}" if every > 1 else day_name(begins)


def bar_of(days: int, most: str) -> str:
    """What a bar is, as a sentence; `most` is the highest one's value."""
    return f"A bar is {'a day' if days == 1 else f'{days} days'}; the highest is {most}."


def day_name(day: date) -> str:
    """ "14 Jul 2026"."""
    return f"{day.day} {day:%b %Y}"
