"""The compactions page: all runs of this site, and all boundaries found in the stores."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.runs.models import Run
from viewer.runs.past import CompactionView
from viewer.runs.past import compactions as compactions_of
from viewer.store.errors import StoreError
from viewer.store.sessions import Session, SessionFilter, get_session, list_sessions
from viewer.store.stores import Reader, Store, all_stores, open_store

from . import formats
from .addresses import Place
from .answers import page
from .card import STATUS
from .texts import line

RUNS = 50
SESSIONS = 50  # compacted sessions whose boundaries are listed, the newest of each store


@dataclass(frozen=True, slots=True)
class RunLine:
    href: str
    id: int
    session: str
    session_href: str
    store: str
    status: str
    tokens_before: SafeString
    tokens_after: SafeString
    started: SafeString


@dataclass(frozen=True, slots=True)
class BoundaryLine:
    """One compaction that stands in a store, ours or the agent's. `reclaimed` is below zero when the context grew."""

    at: float | None
    href: str
    session: str
    store: str
    by: str
    time: SafeString
    messages_before: str
    messages_after: str
    tokens_before: SafeString
    tokens_after: SafeString
    reclaimed: SafeString


@dataclass(frozen=True, slots=True)
class CompactionsPage:
    """`problems` are (store, sentence) of unreadable ones; `cut` that a store has more compacted sessions."""

    runs: tuple[RunLine, ...]
    boundaries: tuple[BoundaryLine, ...]
    problems: tuple[tuple[str, str], ...]
    cut: bool


@require_safe
def compactions(request: HttpRequest) -> HttpResponse:
    boundaries: list[BoundaryLine] = []
    problems: list[tuple[str, str]] = []
    names: dict[tuple[str, str], str] = {}
    runs = list(Run.objects.order_by("-pk")[:RUNS])
    cut = False
    for store in all_stores():
        try:
            with open_store(store) as reader:
                found = list_sessions(reader, SessionFilter(compacted=True), SESSIONS + 1)
                cut = cut or len(found) > SESSIONS
                for session in found[:SESSIONS]:
                    boundaries += _boundaries(reader, session)
                names |= _names(reader, store, runs)
        except StoreError as problem:
            problems.append((store.name, problem.message))
    boundaries.sort(key=lambda each: each.at or 0.0, reverse=True)
    data = CompactionsPage(tuple(_run(each, names) for each in runs), tuple(boundaries), tuple(problems), cut)
    return page(request, "compactions/compactions.html", data)


def _boundaries(reader: Reader, session: Session) -> list[BoundaryLine]:
    place = Place(reader.store.name, session.id)
    return [_boundary(each, place, line(session.name, 80)) for each in compactions_of(reader, session.id)]


def _boundary(each: CompactionView, place: Place, name: str) -> BoundaryLine:
    return BoundaryLine(
        at=each.at,
        href=place.boundary(each.handoff_id),
        session=name,
        store=place.store,
        by=each.by,
        time=formats.moment(each.at),
        messages_before=formats.exact(each.messages_before),
        messages_after=formats.exact(each.messages_after),
        tokens_before=formats.number(each.tokens_before, "tokens"),
        tokens_after=formats.number(each.tokens_after, "tokens"),
        reclaimed=formats.number(each.tokens_before - each.tokens_after, "tokens"),
    )


def _names(reader: Reader, store: Store, runs: list[Run]) -> dict[tuple[str, str], str]:
    """Names of the sessions that runs of this store are about; one that is gone keeps its id."""
    names = {}
    for session_id in {run.session_id for run in runs if run.store == store.name}:
        try:
            names[store.name, session_id] = line(get_session(reader, session_id).name, 80)
        except StoreError:
            continue
    return names


def _run(run: Run, names: dict[tuple[str, str], str]) -> RunLine:
    return RunLine(
        href=f"/runs/{run.pk}",
        id=run.pk,
        session=names.get((run.store, run.session_id)) or line(run.session_id, 80),
        session_href=Place(run.store, run.session_id).href,
        store=run.store,
        status=STATUS.get(run.status, run.status),
        tokens_before=formats.number(run.tokens_before or 0, "tokens"),
        tokens_after=formats.number(run.tokens_after or 0, "tokens"),
        started=formats.clock(run.created_at),
    )
