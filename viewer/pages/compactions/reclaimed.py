"""Tokens reclaimed by compactions over time, as bars drawn here, with the same in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta

from viewer.rendering import formats
from viewer.rendering.charts import Chart, bars, day_name

DAYS = 60  # bars at most; a longer time is drawn in stretches of several days


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
        bars=bars(
            [(at, tokens, _words(at, tokens, counts[at], first, every)) for at, tokens in sorted(sums.items())],
            (last - first).days // every + 1,
        ),
        most=f"{formats.thin(most)} tokens",
        first=day_name(first),
        last=day_name(last),
        words=_in_words(len(days), sum(sums.values()), most, (first, last), every),
    )


def _in_words(count: int, total: int, most: int, between: tuple[date, date], every: int) -> str:
    of, days = formats.counted(count, "compaction"), formats.counted(every, "day")
    return (
        f"{formats.thin(total)} tokens reclaimed by {of} from {day_name(between[0])} to {day_name(between[1])}, "
        f"at most {formats.thin(most)} in {days}."
    )


def _words(at: int, tokens: int, count: int, first: date, every: int) -> str:
    begins = first + timedelta(days=at * every)
    ends = f" to {day_name(begins + timedelta(days=every - 1))}" if every > 1 else ""
    return f"{day_name(begins)}{ends}: {formats.thin(tokens)} tokens, {formats.counted(count, 'compaction')}"
