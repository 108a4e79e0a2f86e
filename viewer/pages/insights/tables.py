"""The sums of the page as a table and, of days, a chart of the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from viewer.catalog.sums import GroupSum, total
from viewer.rendering import formats
from viewer.rendering.charts import Chart, bars, day_name
from viewer.rendering.texts import line

MOST = 100  # rows; the others are summed in one
NAMES = {"model": "model not known", "source": "source not known", "day": "time unknown"}


@dataclass(frozen=True, slots=True)
class SumRow:
    """One group; `href` leads to its sessions, "" where the list cannot be narrowed to it. `share` of the largest is
    the length of its bar, of 100.
    """

    label: str
    href: str
    value: SafeString
    of: str
    unknown: str
    share: str


def table(sums: Sequence[GroupSum], measure: str, by: str) -> tuple[SumRow, ...]:
    """Days newest first, all else the largest first."""
    ordered = sorted(sums, key=lambda each: each.key, reverse=True)
    if by != "day":
        ordered.sort(key=lambda each: (each.value is None, -(each.value or 0.0)))
    highest = max((each.value or 0.0 for each in sums), default=0.0)
    rows = [_row(each, measure, by, highest) for each in ordered[:MOST]]
    if ordered[MOST:]:
        rows.append(_row(total(ordered[MOST:]), measure, "others", highest))
    return tuple(rows)


def chart(sums: Sequence[GroupSum], measure: str) -> Chart | None:
    """The chart of days; None where it would be a single column."""
    days = sorted((day, each.value or 0.0) for each in sums if (day := _date(each.key)) and (each.value or 0) > 0)
    if len(days) < 2:
        return None
    first, last, whole = days[0][0], days[-1][0], total(sums)
    most = max(value for _, value in days)
    drawn = [((day - first).days, value, f"{day_name(day)}: {words(value, measure)}") for day, value in days]
    return Chart(
        bars=bars(drawn, (last - first).days + 1),
        most=words(most, measure),
        first=day_name(first),
        last=day_name(last),
        words=f"{words(whole.value, measure, is_least=whole.is_least)} from {day_name(first)} to {day_name(last)}, "
        f"at most {words(most, measure)} in one day.",
    )


def words(value: float | None, measure: str, *, is_least: bool = False) -> str:
    """A sum in short words; "not known" where nothing gave a number."""
    if value is None:
        return "not known"
    return formats.dollars(value, is_least=is_least) if measure == "cost" else formats.thin(int(value))


def exactly(found: GroupSum, measure: str) -> SafeString:
    """The same with the exact number on hover."""
    value = found.value
    if value is None or measure != "cost":
        return SafeString("not known") if value is None else formats.number(int(value))
    price = formats.dollars(value, is_least=found.is_least)
    return format_html('<span title="{}">{}</span>', f"${value:,.4f}", price)


def _row(each: GroupSum, measure: str, by: str, highest: float) -> SumRow:
    share = (each.value or 0.0) / highest * 100 if highest else 0.0
    return SumRow(
        label=_label(each.key, by),
        href=_href(each.key, by),
        value=exactly(each, measure),
        of=f"{each.of:,}",
        unknown=f"{each.unknown:,}" if each.unknown else "",
        share=f"{min(max(share, 0.0), 100.0):.1f}",
    )


def _label(key: str, by: str) -> str:
    if by == "others":
        return "all others"
    if by == "day" and (day := _date(key)):
        return day_name(day)
    return line(key, 80) or NAMES.get(by, "")


def _href(key: str, by: str) -> str:
    """Sessions of this group; of sub-agents too, as they count."""
    if not key or by not in ("model", "source", "store"):
        return ""
    return reverse("pages:sessions", query={by: key, "sub-agents": "shown"})


def _date(key: str) -> date | None:
    """None for a time that no calendar holds."""
    try:
        return date.fromisoformat(key)
    except ValueError:
        return None
