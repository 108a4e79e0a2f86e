"""The page Insights: figures of all measures, the sums of one of them over all sessions, contexts that will be full
soon, and startup reading that was left out.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.catalog import sums, sync
from viewer.catalog.models import StoreState
from viewer.catalog.sums import By, FillingContext, GroupSum, Measure, total
from viewer.catalog.sync import StoreListing
from viewer.enforcement.audit_statistics import habits
from viewer.pages.filters import Group, Link
from viewer.pages.http import page
from viewer.pages.preferences import real_stores
from viewer.pages.redaction import redacts
from viewer.pages.sessions.lines import named
from viewer.rendering import formats
from viewer.rendering.charts import Chart, bar_of, bars, day_name, days_of_a_bar, stretch_name
from viewer.rendering.texts import line
from viewer.stores.registry import all_stores

PERIODS = {"7": "7 days", "30": "30 days", "90": "90 days", "all": "all time"}
MEASURES = {
    "cost": "cost",
    "tokens": "tokens in context",
    "messages": "messages",
    "compactions": "compactions",
    "reclaimed": "tokens reclaimed",
    "lost": "lines lost",
}
GROUPINGS = {"": "day", "model": "model", "source": "source", "store": "store"}
OF_RUNS = ("reclaimed", "lost")
FILLING = 20
MOST = 100  # rows; the others are summed in one
NAMES = {"model": "model not known", "source": "source not known", "day": "time unknown"}


@dataclass(frozen=True, slots=True)
class SumRow:
    """One row of the table. `href` leads to the sessions of its group, "" if the list cannot be narrowed to it. `share`
    of the largest is the length of its bar, of 100.
    """

    sum: GroupSum
    label: str
    href: str
    value: SafeString
    share: str


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of the period as a number; `href` leads to its sums."""

    label: str
    href: str
    value: SafeString
    is_current: bool


@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    query, now = _query(request.GET), time.time()
    listings, demo = _listings()
    states = [listing.state for listing in listings if listing.state]
    query["days"] = query["days"] or _period(states, now)
    since = _since(query["days"], now)
    totals = dict(sums.totals(states, since))
    totals |= {name: total(_sums(states, name, "store", since)) for name in OF_RUNS}
    is_cost_known = totals["cost"].value is not None
    query["measure"] = measure = query["measure"] or ("cost" if is_cost_known else "tokens")
    by = cast(By, query["by"] or "day")
    group_sums = _sums(states, measure, by, since)
    all_of_them, of = total(group_sums), "compaction" if measure in OF_RUNS else "session"
    if measure == "cost" and by == "day":
        all_of_them = replace(all_of_them, of=sums.sessions_with_cost(states, since))
    data = {
        "groups": _groups(query),
        "figures": _figures(query, {**totals, measure: all_of_them}),
        "has_cost": is_cost_known,
        "has_runs": bool(totals["reclaimed"].of),
        "everything": _link(query, "days", "all", "all").href if query["days"] != "all" else "",
        "measure": MEASURES[measure],
        "by": by,
        "of": f"{of}s",
        "of_runs": measure in OF_RUNS,
        "total": exactly(all_of_them, measure),
        "unlike_list": 0 if measure in OF_RUNS else sums.unlike_list(states, measure, since),
        "repeats": sum(each.of for each in group_sums) > all_of_them.of,
        "counted": formats.counted(all_of_them.of, of),
        "rows": table(group_sums, measure, by),
        "unknown": all_of_them.unknown,
        "chart": chart(group_sums, measure, _axis(query["days"], now)) if by == "day" else None,
        "filling": _filling(sums.filling(states, now, FILLING), redacting=redacts(request)),
        "habits": [habit for habit in habits() if habit.store in {state.name for state in states}],
        "problems": [listing.problem for listing in listings if listing.problem],
        "unlisted": sum(state.unlisted for state in states),
        "uncounted": sums.uncounted(states),
        "demo": demo,
    }
    return page(request, "insights/insights.html", data)


def _since(days: str, now: float) -> float:
    return 0.0 if days == "all" else now - int(days) * sums.DAY


def _period(states: Sequence[StoreState], now: float) -> str:
    """The shortest period from 30 days on with sessions of more than one day; else the shortest with a session."""
    shortest = ""
    for days in ("30", "90", "all"):
        first, last = sums.active_between(states, _since(days, now))
        if last - first > sums.DAY:
            return days
        shortest = shortest or (days if last else "")
    return shortest or "30"


def _listings() -> tuple[list[StoreListing], bool]:
    """The stores that count, and whether that is only the demo store."""
    stores = real_stores(all_stores())
    return sync.store_listings(stores), all(store.is_managed for store in stores)


def _figures(query: Mapping[str, str], totals: Mapping[str, GroupSum]) -> list[Figure]:
    """Those of the measures that have a number."""
    links = ((measure, _link(query, "measure", measure, label)) for measure, label in MEASURES.items())
    return [
        Figure(link.label, link.href, exactly(totals[measure], measure), link.current)
        for measure, link in links
        if totals[measure].value is not None
    ]


def _sums(states: Sequence[StoreState], measure: str, by: By, since: float) -> list[GroupSum]:
    if measure == "reclaimed":
        return sums.of_reclaimed(states, by, since)
    if measure == "lost":
        return sums.of_lost(states, by, since)
    return sums.of_sessions(states, cast(Measure, measure), by, since)


def _filling(contexts: Sequence[FillingContext], *, redacting: bool) -> list[dict[str, Any]]:
    """Contexts with the names of their sessions; whole tokens an hour, and whole hours, 0 for a full one."""
    return [
        {
            "line": each.line,
            "name": named([each.line], redacting=redacting)[each.line.session_id],
            "pace": round(each.pace),
            "hours": max(round(each.hours), 1) if each.hours > 0 else 0,
        }
        for each in contexts
    ]


# -- the table, and the chart of days ----------------------------------------------------------------------------------


def table(sums: Sequence[GroupSum], measure: str, by: str) -> tuple[SumRow, ...]:
    """Days newest first, other groups the largest first."""
    ordered = sorted(sums, key=lambda each: each.key, reverse=True)
    if by != "day":
        ordered.sort(key=lambda each: (each.value is None, -(each.value or 0.0)))
    highest = max((each.value or 0.0 for each in sums), default=0.0)
    rows = [_row(each, measure, by, highest) for each in ordered[:MOST]]
    if ordered[MOST:]:
        rows.append(_row(total(ordered[MOST:]), measure, "others", highest))
    return tuple(rows)


def _axis(days: str, now: float) -> tuple[date | None, date | None]:
    """The first and last day of a period; None for both of "all", which is as long as numbers are known."""
    last = formats.day(now)
    return (None, None) if days == "all" or last is None else (last - timedelta(days=int(days)), last)


def chart(sums: Sequence[GroupSum], measure: str, axis: tuple[date | None, date | None] = (None, None)) -> Chart | None:
    """The chart of the days of an axis, or of those with a number; None if only one day has one."""
    days = {day: each.value for each in sums if (day := _date(each.key)) and each.value and each.value > 0}
    if len(days) < 2:
        return None
    first, last = min([*days, *filter(None, axis[:1])]), max([*days, *filter(None, axis[1:])])
    every, whole = days_of_a_bar(first, last), total(sums)
    values = defaultdict[int, float](float)
    for day, value in days.items():
        values[(day - first).days // every] += value
    most = max(values.values())
    drawn = [
        (at, value, f"{stretch_name(first, every, at)}: {words(value, measure)}")
        for at, value in sorted(values.items())
    ]
    return Chart(
        bars=bars(drawn, (last - first).days // every + 1),
        most=words(most, measure),
        first=day_name(first),
        last=day_name(last),
        words=f"{words(whole.value, measure, is_least=whole.is_least)} from {day_name(first)} to {day_name(last)}. "
        f"{bar_of(every, words(most, measure))}{_without_bar(sums)}",
    )


def _without_bar(sums: Sequence[GroupSum]) -> str:
    unknown = sorted(day for each in sums if each.value is None and (day := _date(each.key)))
    if not unknown:
        return ""
    between = (
        f" between {day_name(unknown[0])} and {day_name(unknown[-1])}" if unknown[1:] else f", {day_name(unknown[0])}"
    )
    return f" Not drawn: {formats.counted(len(unknown), 'day')}{between}, whose number is not known."


def words(value: float | None, measure: str, *, is_least: bool = False) -> str:
    """A sum in short words; "not known" without a number."""
    if value is None:
        return "not known"
    return formats.dollars(value, is_least=is_least) if measure == "cost" else formats.thin(int(value))


def exactly(group_sum: GroupSum, measure: str) -> SafeString:
    """The sum with the exact number on hover."""
    value = group_sum.value
    if value is None or measure != "cost":
        return SafeString("not known") if value is None else formats.number(int(value))
    price = formats.dollars(value, is_least=group_sum.is_least)
    return format_html('<span title="{}">{}</span>', f"${value:,.4f}", price)


def _row(each: GroupSum, measure: str, by: str, highest: float) -> SumRow:
    share = (each.value or 0.0) / highest * 100 if highest else 0.0
    return SumRow(
        sum=each,
        label=_label(each.key, by),
        href=_href(each.key, by),
        value=exactly(each, measure),
        share=f"{min(max(share, 0.0), 100.0):.1f}",
    )


def _label(key: str, by: str) -> str:
    if by == "others":
        return "all others"
    if by == "day" and (day := _date(key)):
        return day_name(day)
    return line(key, 80) or NAMES.get(by, "")


def _href(key: str, by: str) -> str:
    """The sessions of this group, including sub-agents, as they count."""
    if not key or by not in ("model", "source", "store"):
        return ""
    return reverse("pages:sessions", query={by: key, "sub-agents": "shown"})


def _date(key: str) -> date | None:
    """The day; None if it is not a calendar date."""
    try:
        return date.fromisoformat(key)
    except ValueError:
        return None


# -- the query ---------------------------------------------------------------------------------------------------------


def _query(query: QueryDict) -> dict[str, str]:
    """The values in the address; invalid ones are ""."""
    options = {"days": PERIODS, "measure": MEASURES, "by": GROUPINGS}
    return {name: value if (value := query.get(name, "")) in choices else "" for name, choices in options.items()}


def _groups(query: Mapping[str, str]) -> tuple[Group, ...]:
    rows = (("days", "Time", PERIODS), ("by", "By", GROUPINGS))
    return tuple(
        Group(title, tuple(_link(query, name, value, label) for value, label in options.items()))
        for name, title, options in rows
    )


def _link(query: Mapping[str, str], name: str, value: str, label: str) -> Link:
    changed = {key: chosen for key, chosen in {**query, name: value}.items() if chosen}
    return Link(label, f"?{urlencode(changed)}", query[name] == value)
