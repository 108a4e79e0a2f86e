"""The page Insights: sums over all sessions, contexts that will be full soon, and startup reading left out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
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
from viewer.rendering.charts import Chart
from viewer.rendering.texts import line
from viewer.stores.registry import all_stores
from viewer.web.session_urls import SessionUrls

from .tables import SumRow, chart, exactly, table

PERIODS = {"7": "7 days", "": "30 days", "90": "90 days", "all": "all"}
MEASURES = {
    "": "tokens in context",
    "cost": "cost",
    "messages": "messages",
    "compactions": "compactions",
    "reclaimed": "tokens reclaimed",
    "lost": "details lost",
}
GROUPINGS = {"": "day", "model": "model", "source": "source", "store": "store"}
OF_RUNS = ("reclaimed", "lost")
FILLING = 20


@dataclass(frozen=True, slots=True)
class FillingLine:
    """A session whose context will be full within a day; `pace` is in tokens an hour, `left` an estimate."""

    href: str
    name: str
    store: str
    tokens: SafeString
    pace: SafeString
    left: str


@dataclass(frozen=True, slots=True)
class SkippedReading:
    """How often agents of a store and model did not read again what their startup asks for."""

    store: str
    model: str
    skipped: str


@dataclass(frozen=True, slots=True)
class InsightsPage:
    """`of` names what is counted beside each sum; `uncounted` says how many sessions are not listed yet; `demo` that
    nothing but the demo store is shown.
    """

    groups: tuple[Group, ...]
    measure: str
    by: str
    of: str
    of_runs: bool
    total: SafeString
    counted: str
    rows: tuple[SumRow, ...]
    chart: Chart | None
    filling: tuple[FillingLine, ...]
    skipped: tuple[SkippedReading, ...]
    problems: tuple[str, ...]
    uncounted: str
    demo: bool


@require_safe
def insights(request: HttpRequest) -> HttpResponse:
    query, now = _asked(request.GET), time.time()
    listings, demo = _listings()
    states = [listing.state for listing in listings if listing.state]
    since = 0.0 if query["days"] == "all" else now - int(query["days"] or 30) * sums.DAY
    measure, by = query["measure"] or "tokens", cast(By, query["by"] or "day")
    found = _sums(states, measure, by, since)
    all_of_them, of = total(found), "compaction" if measure in OF_RUNS else "session"
    unlisted = sum(state.unlisted for state in states)
    data = InsightsPage(
        groups=_groups(query),
        measure=MEASURES[query["measure"]],
        by=by,
        of=f"{of}s",
        of_runs=measure in OF_RUNS,
        total=exactly(all_of_them, measure),
        counted=formats.counted(all_of_them.of, of),
        rows=table(found, measure, by),
        chart=chart(found, measure) if by == "day" else None,
        filling=_filling(sums.filling(states, now, FILLING), redacting=redacts(request)),
        skipped=_skipped({state.name for state in states}),
        problems=tuple(listing.problem for listing in listings if listing.problem),
        uncounted=formats.counted(unlisted, "session") if unlisted else "",
        demo=demo,
    )
    return page(request, "insights/insights.html", data)


def _listings() -> tuple[list[StoreListing], bool]:
    """The stores that count: the demo store only where there is no other."""
    stores = real_stores(all_stores())
    return sync.store_listings(stores), all(store.is_managed for store in stores)


def _sums(states: Sequence[StoreState], measure: str, by: By, since: float) -> list[GroupSum]:
    if measure == "reclaimed":
        return sums.of_reclaimed(states, by, since)
    if measure == "lost":
        return sums.of_lost(states, by, since)
    return sums.of_sessions(states, cast(Measure, measure), by, since)


def _filling(found: Sequence[FillingContext], *, redacting: bool) -> tuple[FillingLine, ...]:
    return tuple(
        FillingLine(
            href=SessionUrls(each.line.state.name, each.line.session_id).href,
            name=named([each.line], redacting=redacting)[each.line.session_id],
            store=each.line.state.name,
            tokens=formats.of_window(each.line.tokens or 0, each.line.window),
            pace=formats.number(round(each.pace), "tokens an hour"),
            left="full now" if each.hours <= 0 else f"about {formats.counted(max(round(each.hours), 1), 'hour')}",
        )
        for each in found
    )


def _skipped(stores: set[str]) -> tuple[SkippedReading, ...]:
    return tuple(
        SkippedReading(each.store, line(each.model, 80) or "not known", f"{each.not_read:,} of {each.audited:,}")
        for each in habits()
        if each.store in stores
    )


# -- the query ---------------------------------------------------------------------------------------------------------


def _asked(query: QueryDict) -> dict[str, str]:
    """What the address asks for; values that mean nothing are left out."""
    options = {"days": PERIODS, "measure": MEASURES, "by": GROUPINGS}
    return {name: value if (value := query.get(name, "")) in known else "" for name, known in options.items()}


def _groups(query: Mapping[str, str]) -> tuple[Group, ...]:
    rows = (("days", "Last", PERIODS), ("measure", "Measure", MEASURES), ("by", "By", GROUPINGS))
    return tuple(
        Group(title, tuple(_link(query, name, value, label) for value, label in options.items()))
        for name, title, options in rows
    )


def _link(query: Mapping[str, str], name: str, value: str, label: str) -> Link:
    changed = {key: kept for key, kept in {**query, name: value}.items() if kept}
    return Link(label, f"?{urlencode(changed)}", query[name] == value)
