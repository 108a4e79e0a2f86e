"""The compactions page: all runs of this site, and all boundaries found in the stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.catalog.lines import SessionFilter, page_of_lines
from viewer.catalog.models import SessionIndex
from viewer.enforcement.audit_statistics import Habit, habits
from viewer.history import index_cache
from viewer.labels.sessions import all_labels
from viewer.pages.http import page
from viewer.pages.parts.run_card import STATUS, after_tokens
from viewer.pages.preferences import listed_stores
from viewer.pages.redaction import redacts, session_for
from viewer.pages.sessions.lines import SessionLine, shown_lines
from viewer.rendering import formats
from viewer.rendering.charts import Chart
from viewer.rendering.texts import line
from viewer.runs import compaction_list, service
from viewer.runs.compaction_list import Numbers
from viewer.runs.detail_loss import lost_of
from viewer.runs.models import Run
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.registry import Reader, all_stores, open_store
from viewer.web.session_urls import SessionUrls
from viewer.web.unreadable import UnreadableLine, lines_of

from .reclaimed import drawn

RUNS = 50
NEAR = 20  # sessions that need compaction, the ones active last
SESSIONS = 50  # compacted sessions whose boundaries are listed, the newest of each store


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run. `lost` counts the exact details that are lost by it, `took` how long it went, `cost` what the
    model cost, `tokens_after` what is in context then; each is "" where there is nothing to tell.
    """

    href: str
    id: int
    session: str
    session_href: str
    store: str
    status: str
    tokens_before: SafeString
    tokens_after: SafeString
    lost: str
    took: str
    cost: str
    started: SafeString


@dataclass(frozen=True, slots=True)
class BoundaryLine:
    """One compaction that stands in a store, ours or the agent's. `reclaimed`, `tokens` as a number, is below zero when
    the context grew. `adds` says that it counts in sums: not that of a branch, which its origin has too, nor the demo.
    """

    at: float | None
    tokens: int
    adds: bool
    href: str
    session: str
    store: str
    by: str
    time: SafeString
    messages: str
    tokens_before: SafeString
    tokens_after: SafeString
    reclaimed: SafeString


@dataclass(frozen=True, slots=True)
class HabitLine:
    """How often agents of a store and model read again what their startup asks for, each as "1 of 3"."""

    store: str
    model: str
    at_once: str
    a_turn_later: str
    not_read: str


@dataclass(frozen=True, slots=True)
class CompactionsPage:
    """`near` are sessions close to where their agent compacts by itself, `more_near` says that there are others;
    `problems` say which stores cannot be read, `broken` which lines cannot be shown; `cut` that a store has more
    compacted sessions.
    """

    runs: tuple[RunLine, ...]
    boundaries: tuple[BoundaryLine, ...]
    chart: Chart | None
    habits: tuple[HabitLine, ...]
    near: tuple[SessionLine, ...]
    more_near: bool
    broken: tuple[UnreadableLine, ...]
    problems: tuple[str, ...]
    cut: bool


@dataclass(slots=True)
class StoreFindings:
    """What the stores gave: boundaries, lines that cannot be shown, the names of the sessions that runs are about (by
    store and id), stores that cannot be read; `cut` that one has more compacted sessions.
    """

    boundaries: list[BoundaryLine] = field(default_factory=list)
    broken: list[UnreadableLine] = field(default_factory=list)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    cut: bool = False


@require_safe
def compactions(request: HttpRequest) -> HttpResponse:
    runs, stores = service.listed(RUNS, large="report"), listed_stores(request)
    found = _in_stores(request, stores, runs)
    near = page_of_lines(SessionFilter(near=True), stores, NEAR)
    near_lines, unshown = shown_lines(near, all_labels(), redacting=redacts(request))
    run_lines, unshown_runs = lines_of(runs, partial(_run, found.names), lambda run: (f"Run {run.pk}", run.store))
    data = CompactionsPage(
        runs=run_lines,
        boundaries=tuple(sorted(found.boundaries, key=lambda each: each.at or 0.0, reverse=True)),
        chart=drawn((each.at, each.tokens) for each in found.boundaries if each.adds),
        habits=tuple(map(_habit, habits())),
        near=near_lines,
        more_near=near.more,
        broken=(*found.broken, *unshown, *unshown_runs),
        problems=tuple(found.problems),
        cut=found.cut,
    )
    return page(request, "compactions/compactions.html", data)


def _in_stores(request: HttpRequest, stores: Sequence[Store], runs: list[Run]) -> StoreFindings:
    """Each store is opened once: for its boundaries where it is listed, and for the names of what runs are about."""
    found = StoreFindings()
    for store in all_stores():
        if store not in stores and store.name not in {run.store for run in runs}:
            continue
        try:
            with open_store(store, listed=True) as reader:
                found.names |= _names(request, reader, store, runs)
                if store in stores:
                    _add_boundaries(request, reader, found)
        except StoreError as problem:
            found.problems.append(problem.message)
    return found


def _add_boundaries(request: HttpRequest, reader: Reader, found: StoreFindings) -> None:
    listed = page_of_lines(SessionFilter(compacted=True), [reader.store], SESSIONS)
    boundary_lines, unshown = _found(request, reader, listed.lines)
    found.boundaries += boundary_lines
    found.broken += unshown
    found.cut = found.cut or listed.more


def _found(
    request: HttpRequest, reader: Reader, sessions: Sequence[SessionIndex]
) -> tuple[list[BoundaryLine], tuple[UnreadableLine, ...]]:
    """The boundaries of these sessions, and the sessions whose boundaries cannot be shown."""
    runs_here = index_cache.all_runs(reader.store)
    shown, broken = lines_of(
        sessions,
        lambda each: _boundaries(request, reader, each, runs_here),
        lambda each: (each.session_id, reader.store.name),
    )
    return [line for lines in shown for line in lines], broken


def _boundaries(
    request: HttpRequest, reader: Reader, listed: SessionIndex, runs_here: index_cache.AllRuns
) -> list[BoundaryLine]:
    try:
        session = reader.session(listed.session_id)
    except NotFound:  # deleted since it was listed
        return []
    place = SessionUrls(reader.store.name, session.id)
    counted = compaction_list.numbers(reader, session, runs_here)
    name = line(session_for(request, session).name, 80)
    adds = not listed.branched_from and not reader.store.is_managed
    return [_boundary(each, place, name, adds) for each in counted]


def _boundary(each: Numbers, place: SessionUrls, name: str, adds: bool) -> BoundaryLine:
    return BoundaryLine(
        at=each.at,
        tokens=each.tokens_before - each.tokens_after,
        adds=adds,
        href=place.boundary(each.handoff_id),
        session=name,
        store=place.store,
        by=each.by,
        time=formats.moment(each.at),
        messages=_messages(each),
        tokens_before=formats.number(each.tokens_before, "tokens"),
        tokens_after=formats.number(each.tokens_after, "tokens"),
        reclaimed=formats.number(each.tokens_before - each.tokens_after, "tokens"),
    )


def _messages(each: Numbers) -> str:
    """How many were in context before and after, or how many were shortened where none left it."""
    if each.shortened_ids and not each.summarised_ids:
        return f"{len(each.shortened_ids):,} shortened"
    return f"{each.messages_before:,} → {each.messages_after:,}"


def _habit(each: Habit) -> HabitLine:
    return HabitLine(
        store=line(each.store, 80),
        model=line(each.model, 80) or "not known",
        at_once=f"{each.at_once:,} of {each.audited:,}",
        a_turn_later=f"{each.a_turn_later:,} of {each.audited:,}",
        not_read=f"{each.not_read:,} of {each.audited:,}",
    )


def _lost(run: Run) -> str:
    """Nothing of a run whose version recognised less."""
    report = run.report or {}
    lost, total = lost_of(report["anchors"]) if "statements" in report else (0, 0)
    return f"{lost:,} of {total:,}" if total else ""


def _cost(run: Run) -> str:
    if not run.usage.get("calls"):
        return ""
    cost = run.usage.get("cost")
    return "not known" if cost is None else formats.dollars(cost)


def _names(request: HttpRequest, reader: Reader, store: Store, runs: list[Run]) -> dict[tuple[str, str], str]:
    """Names of the sessions that runs of this store are about; one that is gone keeps its id."""
    names = {}
    for session_id in {run.session_id for run in runs if run.store == store.name}:
        try:
            session = session_for(request, reader.session(session_id))
            names[store.name, session_id] = line(session.name, 80)
        except StoreError:
            continue
    return names


def _run(names: dict[tuple[str, str], str], run: Run) -> RunLine:
    return RunLine(
        href=reverse("pages:run", args=[run.pk]),
        id=run.pk,
        session=names.get((run.store, run.session_id)) or line(run.session_id, 80),
        session_href=SessionUrls(run.store, run.session_id).href,
        store=run.store,
        status=STATUS.get(run.status, run.status),
        tokens_before=formats.number(run.tokens_before, "tokens") if run.tokens_before is not None else SafeString(),
        tokens_after=after_tokens(run),
        lost=_lost(run),
        took=formats.seconds(run.worked_seconds) if run.worked_seconds is not None else "",
        cost=_cost(run),
        started=formats.moment(run.created_at),
    )
