"""The compactions page: all runs of this site, and all boundaries found in the stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from statistics import median
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from viewer.catalog.lines import SessionFilter, page_of_lines
from viewer.catalog.models import SessionIndex
from viewer.enforcement.audit_statistics import habits
from viewer.history import index_cache
from viewer.labels.sessions import all_labels
from viewer.pages.http import page
from viewer.pages.parts.run_card import STATUS, after_tokens
from viewer.pages.preferences import listed_stores
from viewer.pages.redaction import redacts, session_for
from viewer.pages.sessions.lines import shown_lines
from viewer.rendering import formats
from viewer.rendering.charts import Chart, bar_of, bars, day_name, days_of_a_bar, stretch_name
from viewer.rendering.texts import line
from viewer.runs import compaction_list, service
from viewer.runs.compaction_list import Numbers
from viewer.runs.detail_loss import lines_in
from viewer.runs.models import Run
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.registry import Reader, all_stores, open_store
from viewer.web.session_urls import SessionUrls
from viewer.web.unreadable import UnreadableLine, lines_of

FEW = 5  # bars; fewer are not worth a drawing
RUNS = 50
NEAR = 20  # sessions that need compaction, the ones active last
SESSIONS = 50  # compacted sessions whose boundaries are listed, the newest of each store


@dataclass(frozen=True, slots=True)
class BoundaryLine:
    """One compaction that is in effect in a store, ours or the agent's; a value that names what its HTML depends on.

    `session` is the session's name, `time` its time and `who` compacted it. `adds` says that it counts in sums: a
    branch's does not, because its origin has it too. The demo's count only where there is no other store.
    """

    numbers: Numbers
    place: SessionUrls
    session: str
    time: SafeString
    who: str
    adds: bool

    @property
    def href(self) -> str:
        return self.place.boundary(self.numbers.handoff_id)

    @property
    def reclaimed(self) -> int:
        """Tokens; below zero if the context grew."""
        return self.numbers.tokens_before - self.numbers.tokens_after


@dataclass(slots=True)
class StoreFindings:
    """What was read from the stores: boundaries, lines that cannot be shown, the names of the sessions of runs (by
    store and id), stores that cannot be read; `cut`: one has more compacted sessions.
    """

    boundaries: list[BoundaryLine] = field(default_factory=list)
    broken: list[UnreadableLine] = field(default_factory=list)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    cut: bool = False


@never_cache
@require_safe
def compactions(request: HttpRequest) -> HttpResponse:
    runs, stores = service.listed(RUNS, large="report"), listed_stores(request)
    findings = _in_stores(request, stores, runs)
    near = page_of_lines(SessionFilter(near=True), stores, NEAR)
    near_lines, unshown = shown_lines(near, all_labels(), redacting=redacts(request))
    run_lines, unshown_runs = lines_of(runs, partial(_run, findings.names), lambda run: (f"Run {run.pk}", run.store))
    real = {store.name for store in stores if not store.is_managed} or {store.name for store in stores}
    counted = [each for each in findings.boundaries if each.adds and each.place.store in real]
    chart = drawn((each.numbers.at, each.reclaimed) for each in counted)
    data = {
        "runs": run_lines,
        "priced": any(each["cost"] for each in run_lines),
        "boundaries": sorted(findings.boundaries, key=lambda each: each.numbers.at or 0.0, reverse=True),
        "figures": list(_figures(counted)),
        "chart": chart if chart and len(chart.bars) >= FEW else None,
        "habits": habits(),
        "near": near_lines,
        "more_near": near.more,
        "broken": (*findings.broken, *unshown, *unshown_runs),
        "problems": findings.problems,
        "cut": findings.cut,
    }
    return page(request, "compactions/compactions.html", data)


def _figures(compactions: Sequence[BoundaryLine]) -> Iterator[tuple[str, SafeString]]:
    """What all of them did, in numbers with their names; none without a compaction."""
    if compactions:
        yield "Tokens reclaimed", formats.number(sum(max(each.reclaimed, 0) for each in compactions), "tokens")
        yield "Compactions", formats.number(len(compactions))
        yield "Sessions", formats.number(len({each.place for each in compactions}))
        before, after = (
            formats.number(int(median(getattr(each.numbers, name) for each in compactions)), "tokens")
            for name in ("tokens_before", "tokens_after")
        )
        yield "Median context", format_html("{} → {}", before, after)


def _in_stores(request: HttpRequest, stores: Sequence[Store], runs: list[Run]) -> StoreFindings:
    """Opens each store once: for its boundaries if it is listed, and for the names of the sessions of runs."""
    findings = StoreFindings()
    for store in all_stores():
        if store not in stores and store.name not in {run.store for run in runs}:
            continue
        try:
            with open_store(store, listed=True) as reader:
                findings.names |= _names(request, reader, store, runs)
                if store in stores:
                    _add_boundaries(request, reader, findings)
        except StoreError as problem:
            findings.problems.append(problem.message)
    return findings


def _add_boundaries(request: HttpRequest, reader: Reader, findings: StoreFindings) -> None:
    listed = page_of_lines(SessionFilter(compacted=True), [reader.store], SESSIONS)
    boundary_lines, unshown = _boundary_lines(request, reader, listed.lines)
    findings.boundaries += boundary_lines
    findings.broken += unshown
    findings.cut = findings.cut or listed.more


def _boundary_lines(
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
    urls = SessionUrls(reader.store.name, session.id)
    counted = compaction_list.numbers(reader, session, runs_here)
    name = line(session_for(request, session).name, 80)
    adds = not listed.branched_from
    return [BoundaryLine(each, urls, name, formats.known_moment(each.at), each.who, adds) for each in counted]


def _lost(run: Run) -> str:
    """How many lines the run lost; "" if its report is from a version that counted none."""
    lost = lines_in(run.report)
    return "" if lost is None else f"{lost:,}"


def _cost(run: Run) -> str:
    if not run.usage.get("calls"):
        return ""
    cost = run.usage.get("cost")
    return "not known" if cost is None else formats.dollars(cost)


def _names(request: HttpRequest, reader: Reader, store: Store, runs: list[Run]) -> dict[tuple[str, str], str]:
    """Names of the sessions of this store's runs; a session that is gone has none."""
    names = {}
    for session_id in {run.session_id for run in runs if run.store == store.name}:
        try:
            session = session_for(request, reader.session(session_id))
            names[store.name, session_id] = line(session.name, 80)
        except StoreError:
            continue
    return names


def _run(names: dict[tuple[str, str], str], run: Run) -> dict[str, Any]:
    """A run with the name of its session; what it lost and cost is "" if there is nothing to report."""
    return {
        "run": run,
        "place": SessionUrls(run.store, run.session_id),
        "session": names.get((run.store, run.session_id)) or line(run.session_id, 80),
        "status": STATUS.get(run.status, run.status),
        "tokens_after": after_tokens(run),
        "lost": _lost(run),
        "cost": _cost(run),
    }


# -- the chart of tokens reclaimed -------------------------------------------------------------------------------------


def drawn(reclaimed: Iterable[tuple[float | None, int]]) -> Chart | None:
    """The chart of compactions, (epoch seconds, tokens reclaimed); None if it would be a single bar. Compactions of
    unknown time, and those that made the context larger, are left out.
    """
    all_of_them = list(reclaimed)
    days = [(day, tokens) for at, tokens in all_of_them if tokens > 0 and (day := formats.day(at)) is not None]
    if len({day for day, _ in days}) < 2:
        return None
    first, last = min(days)[0], max(days)[0]
    every = days_of_a_bar(first, last)
    sums, counts = Counter[int](), Counter[int]()
    for day, tokens in days:
        sums[(day - first).days // every] += tokens
        counts[(day - first).days // every] += 1
    most = max(sums.values())
    undrawn = len(all_of_them) - len(days)
    return Chart(
        bars=bars(
            [(at, tokens, _words(at, tokens, counts[at], first, every)) for at, tokens in sorted(sums.items())],
            (last - first).days // every + 1,
        ),
        most=f"{formats.thin(most)} tokens",
        first=day_name(first),
        last=day_name(last),
        words=_in_words(len(days), sum(sums.values()), most, (first, last), every) + _undrawn(undrawn),
    )


def _in_words(count: int, total: int, most: int, between: tuple[date, date], every: int) -> str:
    of = formats.counted(count, "compaction")
    return (
        f"{formats.thin(total)} tokens reclaimed by {of} from {day_name(between[0])} to {day_name(between[1])}. "
        f"{bar_of(every, f'{formats.thin(most)} tokens')}"
    )


def _undrawn(count: int) -> str:
    return f" Not drawn: {count:,} of unknown time, or that reclaimed nothing." if count else ""


def _words(at: int, tokens: int, count: int, first: date, every: int) -> str:
    days = stretch_name(first, every, at)
    return f"{days}: {formats.thin(tokens)} tokens, {formats.counted(count, 'compaction')}"
