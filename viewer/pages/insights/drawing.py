"""Sums by day as columns, and the place of every column; drawn by the server, without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720.0, 96.0
WIDEST = 24.0


@dataclass(frozen=True, slots=True)
class DayColumn:
    """One day's column, and what it says on hover."""

    x: str
    y: str
    width: str
    height: str
    words: str


def columns(values: Sequence[tuple[int, float, str]], days: int) -> tuple[DayColumn, ...]:
    """Columns of (day counted from the first, value, words), along so many days; a value that is not 0 is seen."""
    highest = max((value for _, value, _ in values), default=0.0)
    step = WIDTH / days
    width = min(WIDEST, step * 0.8)
    return tuple(
        _column(at * step + (step - width) / 2, width, max(1.0, value / highest * HEIGHT), words)
        for at, value, words in values
        if value > 0
    )


def _column(x: float, width: float, height: float, words: str) -> DayColumn:
    return DayColumn(f"{x:.1f}", f"{HEIGHT - height:.1f}", f"{width:.1f}", f"{height:.1f}", words)
