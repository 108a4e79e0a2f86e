"""Charts of days as bars drawn by the server, with the same in words; no script is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

WIDTH, HEIGHT = 720.0, 96.0  # of the drawing
WIDEST = 24.0


@dataclass(frozen=True, slots=True)
class Bar:
    """One day, or one stretch of days, and what it says on hover."""

    x: str
    y: str
    width: str
    height: str
    words: str


@dataclass(frozen=True, slots=True)
class Chart:
    """`most` labels the highest bar, `first` and `last` are the days at the ends, `words` says all of it."""

    bars: tuple[Bar, ...]
    most: str
    first: str
    last: str
    words: str


def bars(values: Sequence[tuple[int, float, str]], places: int) -> tuple[Bar, ...]:
    """Bars of (place from 0, value, words) along so many places; a value that is not 0 is seen."""
    highest = max((value for _, value, _ in values), default=0.0)
    step = WIDTH / places
    width = min(WIDEST, step * 0.8)
    return tuple(
        _bar(place * step + (step - width) / 2, width, max(1.0, value / highest * HEIGHT), words)
        for place, value, words in values
        if value > 0
    )


def _bar(x: float, width: float, height: float, words: str) -> Bar:
    return Bar(f"{x:.1f}", f"{HEIGHT - height:.1f}", f"{width:.1f}", f"{height:.1f}", words)


def day_name(day: date) -> str:
    """ "14 Jul 2026"."""
    return f"{day.day} {day:%b %Y}"
