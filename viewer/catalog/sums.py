"""Sums over all listed sessions and all runs, by day, model, source or store, and contexts that will soon be full.

Each is one query, whatever the number of sessions. Branches are left out of sums, as they have the same messages again,
except for their cost, without the part that was spent in another session.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from threading import Lock
from typing import Any, Literal

from cachetools import LRUCache, cached
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    F,
    FloatField,
    Func,
    Max,
    Min,
    OuterRef,
    Q,
    Subquery,
    Sum,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Greatest, TruncDate
from django.utils import timezone

from viewer.catalog.lines import UNSHOWN, edition
from viewer.catalog.models import FacetGroup, SessionDay, SessionIndex, StoreState, day_number
from viewer.runs.models import Run

By = Literal["day", "model", "source", "store"]
Measure = Literal["tokens", "cost", "messages", "compactions"]
QUARTER, HOUR, DAY, WEEK = 900.0, 3_600.0, 86_400.0, 604_800.0
ZONE_YEARS = 10  # how far back changes of a zone's offset are known; the days of older sessions may be an hour off
_LEAST = Count("pk", filter=Q(is_least=True))
_KEYS = {"model": "model", "source": "source", "store": "state__name"}


@dataclass(frozen=True, slots=True)
class GroupSum:
    """The sum of one group. `key` is a day as 2026-07-14, or a name; `of` counts sessions or compactions, `unknown` of
    which have no number; `value` is None if none has one, and `is_least`: the true value is higher.
    """

    key: str
    of: int
    unknown: int
    value: float | None
    is_least: bool = False


@dataclass(frozen=True, slots=True)
class FillingContext:
    """A session whose context is full within `hours` if it continues at its `pace`, in tokens per hour."""

    line: SessionIndex
    pace: float
    hours: float


class _Whole(Func):
    """A positive number without its fraction. Django's own floor is a Python function on SQLite, called for each row; a
    cast rounds on PostgreSQL.
    """

    output_field = BigIntegerField()
    template = "CAST(%(expressions)s AS integer)"

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="floor(%(expressions)s)::bigint", **extra)


def of_sessions(states: Sequence[StoreState], measure: Measure, by: By, since: float) -> list[GroupSum]:
    """Sums over conversations active since then (epoch seconds); cost by the days on which it was spent."""
    lines = SessionIndex.objects.filter(state__in=states, kind__isnull=False, last_active__gt=since).order_by()
    value: Any = Sum(measure)
    spent: list[GroupSum] = []
    if measure == "cost" and (by == "day" or since):
        spent, lines = _spent(states, by, since), lines.filter(cost__isnull=True)
    if measure == "cost":
        value = Sum(F("cost") - F("cost_inherited"), output_field=FloatField())
    else:
        lines = lines.filter(branched_from="")
    least = Count("pk", filter=Q(cost_is_least=True)) if measure == "cost" else Value(0)
    sums: dict[str, Any] = {"of": Count("pk"), "known": Count(measure), "value": value, "least": least}
    if by == "day":
        days = lines.annotate(day=_day_number(since)).values_list("day")
        return _joined(
            spent,
            [
                GroupSum(_day(day), of, of - counted, value, bool(least))
                for day, of, counted, value, least in days.annotate(**sums)
            ],
        )
    names = _names(states, by)
    return _joined(
        spent,
        [
            GroupSum(names.get(kind, ""), of, of - counted, value, bool(least))
            for kind, of, counted, value, least in lines.values_list("kind_id").annotate(**sums)
        ],
    )


def _hour_of(states: Sequence[StoreState], since: float) -> tuple[Any, ...]:
    """Changes when lines of these stores were written, and each hour."""
    return *map(edition, states), since // HOUR


def forget() -> None:
    """Clear what is cached: for tests, which roll back their writes to our own database."""
    totals.cache_clear()


@cached(LRUCache(64), key=_hour_of, lock=Lock())
def totals(states: Sequence[StoreState], since: float) -> dict[str, GroupSum]:
    """The sums of all measures of sessions, by measure, without groups; read once an hour and edition."""
    lines = SessionIndex.objects.filter(state__in=states, kind__isnull=False, last_active__gt=since, branched_from="")
    measures: tuple[Measure, ...] = ("tokens", "messages", "compactions")
    known = {f"{measure}_known": Count(measure) for measure in measures}
    of_all = lines.aggregate(of=Count("pk"), **known, **{f"{measure}_sum": Sum(measure) for measure in measures})
    spent = _days_after(states, since).aggregate(of=Count("pk"), value=Sum("dollars"), least=_LEAST)
    by_measure = {"cost": GroupSum("", spent["of"], 0, spent["value"], bool(spent["least"]))}
    for measure in measures:
        unknown = of_all["of"] - of_all[f"{measure}_known"]
        by_measure[measure] = GroupSum("", of_all["of"], unknown, of_all[f"{measure}_sum"])
    return by_measure


def _names(states: Sequence[StoreState], by: By) -> dict[int, str]:
    """The name of each kind's group: kinds are few, where lines are many."""
    return dict(FacetGroup.objects.filter(state__in=states).values_list("pk", _KEYS[by]))


def _spent(states: Sequence[StoreState], by: By, since: float) -> list[GroupSum]:
    """Sums of what was spent after the day of `since`; a session counts once in each group."""
    days = _days_after(states, since)
    sums: dict[str, Any] = {"value": Sum("dollars"), "least": _LEAST}
    if by == "day":
        rows = days.values_list("day").annotate(of=Count("pk"), **sums)
        return [GroupSum(_day(day), of, 0, value, bool(least)) for day, of, value, least in rows]
    names = _names(states, by)
    rows = days.values_list("line__kind").annotate(of=Count("line", distinct=True), **sums)
    return [GroupSum(names.get(kind, ""), of, 0, value, bool(least)) for kind, of, value, least in rows]


def _days_after(states: Sequence[StoreState], since: float) -> Any:
    after = day_number(since) if since else -1
    return SessionDay.objects.filter(state__in=states, day__gt=after).order_by()


def active_between(states: Sequence[StoreState], since: float) -> tuple[float, float]:
    """The first and the last time since then at which a session was active last; (0.0, 0.0) without one."""
    lines = SessionIndex.objects.filter(state__in=states, kind__isnull=False, last_active__gt=since)
    times = lines.aggregate(first=Min("last_active"), last=Max("last_active"))
    return times["first"] or 0.0, times["last"] or 0.0


def sessions_with_cost(states: Sequence[StoreState], since: float) -> int:
    """The number of sessions in sums of cost by day, in which one counts on several days."""
    unknown = SessionIndex.objects.filter(state__in=states, kind__isnull=False, last_active__gt=since, cost=None)
    spent: int = _days_after(states, since).aggregate(of=Count("line", distinct=True))["of"]
    return spent + unknown.count()


def unlike_list(states: Sequence[StoreState], measure: str, since: float) -> int:
    """The number of sessions in these sums that the list does not begin with: sub-agents', and archived ones."""
    kinds = FacetGroup.objects.filter(Q(delegated=True) | Q(archived=True), state__in=states).values("pk")
    lines = SessionIndex.objects.filter(kind__in=kinds, last_active__gt=since)
    return (lines if measure == "cost" else lines.filter(branched_from="")).count()


def uncounted(states: Sequence[StoreState]) -> int:
    """The number of sessions that a worker has still to count."""
    return SessionIndex.objects.filter(state__in=states, due=True).count()


def _joined(*groups: Sequence[GroupSum]) -> list[GroupSum]:
    """One sum for each key."""
    by_key: dict[str, list[GroupSum]] = {}
    for each in (each for sums in groups for each in sums):
        by_key.setdefault(each.key, []).append(each)
    return [replace(total(parts), key=key) for key, parts in by_key.items()]


def _day_number(since: float) -> _Whole:
    """The days from 1970 to a line's last activity, in this site's zone.

    The SQL adds the zone's offset at that time, which is twice as fast as date functions.
    """
    offsets = _offsets(since, time.time())
    changes = [When(last_active__gte=start, then=Value(offset)) for start, offset in offsets[:-1]]
    offset = Case(*changes, default=Value(offsets[-1][1]), output_field=FloatField())
    return _Whole((F("last_active") + offset) / DAY)


def _offsets(since: float, now: float) -> list[tuple[float, float]]:
    """This site's zone as (start in epoch seconds, seconds ahead of UTC), the newest first."""

    def ahead(at: float) -> float:
        offset = datetime.fromtimestamp(at, zone).utcoffset()
        return offset.total_seconds() if offset else 0.0

    zone, at = timezone.get_current_timezone(), now // QUARTER * QUARTER + DAY
    first, offsets = max(since, now - ZONE_YEARS * 366 * DAY), []
    while at > first:
        if ahead(at - WEEK) != ahead(at):
            steps = (at - WEEK + step * QUARTER for step in range(1, 7 * 96 + 1))
            offsets.append((next(later for later in steps if ahead(later) == ahead(at)), ahead(at)))
        at -= WEEK
    return [*offsets, (0.0, ahead(at))]


def _day(number: int) -> str:
    """As 2026-07-14; "" for a time outside of the calendar."""
    try:
        return (date(1970, 1, 1) + timedelta(days=number)).isoformat()
    except OverflowError:
        return ""


def total(sums: Sequence[GroupSum]) -> GroupSum:
    """All groups as one, without a key."""
    values = [each.value for each in sums if each.value is not None]
    return GroupSum(
        "",
        sum(each.of for each in sums),
        sum(each.unknown for each in sums),
        sum(values) if values else None,
        any(each.is_least for each in sums),
    )


def of_reclaimed(states: Sequence[StoreState], by: By, since: float) -> list[GroupSum]:
    """Tokens that compactions made here, and not undone, removed from contexts."""
    gain = Cast("tokens_before", BigIntegerField()) - Cast("tokens_after", BigIntegerField())
    rows = (
        _applied(states, by, since)
        .order_by()
        .values_list("key")
        .annotate(of=Count("pk"), known=Count(gain), value=Sum(gain))
    )
    return [GroupSum(str(key or ""), of, of - counted, value) for key, of, counted, value in rows]


def of_lost(states: Sequence[StoreState], by: By, since: float) -> list[GroupSum]:
    """Lines that the same compactions lost. Reports of versions that counted no lines count as unknown."""
    by_key: dict[str, list[int | None]] = {}
    counted = Q(report__has_key="ranked")
    applied = _applied(states, by, since)
    for key, lost in applied.filter(counted).values_list("key", "report__things").iterator():
        by_key.setdefault(str(key or ""), []).append(lost)
    for key, of in applied.exclude(counted).order_by().values_list("key").annotate(of=Count("pk")):
        by_key.setdefault(str(key or ""), []).extend([None] * of)
    return [_summed(key, numbers) for key, numbers in by_key.items()]


def filling(states: Sequence[StoreState], now: float, most: int) -> list[FillingContext]:
    """Open sessions active within a day whose context is full within another day, the soonest first.

    The pace is the tokens in context over the time from the session's start to its last message, at least an hour.
    """
    span = Greatest(F("last_active") - F("started_at"), HOUR, output_field=FloatField()) / HOUR
    pace = Cast("tokens", FloatField()) / span
    lines = (
        SessionIndex.objects.filter(state__in=states, kind__isnull=False, archived=False, ended_at__isnull=True)
        .filter(last_active__gt=now - DAY, started_at__gt=0, tokens__gt=0, window__gt=0)
        .annotate(pace=pace, hours=(F("window") - F("tokens")) / pace)
        .filter(hours__lte=24)
        .order_by("hours", "pk")
        .select_related("state")
        .defer(*UNSHOWN)[:most]
    )
    return [FillingContext(line, line.pace, max(line.hours, 0.0)) for line in lines]


def _applied(states: Sequence[StoreState], by: By, since: float) -> Any:
    """The runs in effect, each with its `key`; runs of a branch are left out."""
    lines = SessionIndex.objects.filter(
        state__in=states, state__name=OuterRef("store"), session_id=OuterRef("session_id")
    )
    keys: Mapping[str, Any] = {
        "day": TruncDate("applied_at"),
        "store": F("store"),
        "model": Subquery(lines.values("model")[:1]),
        "source": Subquery(lines.values("source")[:1]),
    }
    branched_from = Subquery(lines.values("branched_from")[:1])
    return (
        Run.objects.filter(status="applied", store__in=[state.name for state in states])
        .filter(applied_at__gt=datetime.fromtimestamp(since, UTC))
        .annotate(
            key=keys[by],
            branch=Coalesce(branched_from, Value("", output_field=TextField())),
        )
        .filter(branch="")
    )


def _summed(key: str, numbers: Sequence[int | None]) -> GroupSum:
    counted = [number for number in numbers if number is not None]
    return GroupSum(key, len(numbers), len(numbers) - len(counted), sum(counted) if counted else None)
