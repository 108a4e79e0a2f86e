"""The search page: sessions with the words in their name, then messages of all stores with them, newest
or best first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.catalog import lines
from viewer.catalog.lines import SessionFilter, SessionList
from viewer.catalog.models import SessionIndex, name_of
from viewer.catalog.search import store_search
from viewer.catalog.sync import StoreListing
from viewer.catalog.upsert import storable
from viewer.pages import redaction
from viewer.pages.filters import Group, Link
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.parts.projects import names_of
from viewer.pages.preferences import listed_stores
from viewer.rendering.texts import line
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.registry import Reader, open_store
from viewer.stores.search.pages import HitPage, PageRequest, SearchFilter
from viewer.stores.search.passages import PassagePart, passage
from viewer.stores.search.query import LONGEST, Query, fold, parse
from viewer.web.session_urls import SessionUrls
from viewer.web.unreadable import UnreadableLine, lines_of
from viewer.web.url_segments import name_in, segment

from . import hits
from .hits import Positions

PAGE = 25
PROJECTS = 8  # choices of the filter
SESSIONS = 5  # found by their names
LOOKED = 50  # sessions with the words anywhere in their names, among which those are
FIRST = ("Store", "Said by", "When")  # filters that are not behind "More filters"
ROLES = {"": "anybody", "user": "user", "assistant": "assistant", "tool": "tool results"}
ORDERS = {"": "newest", "best": "best match"}
AGES = {7: "last 7 days", 30: "last 30 days", 365: "last year"}


@dataclass(frozen=True, slots=True)
class SearchForm:
    """The query of a search. `session` is an id as in addresses: a form would change others. `since` and `until` are
    days, as ISO dates, both included; `scan` looks through the messages themselves.
    """

    q: str = ""
    store: str = ""
    session: str = ""
    role: str = ""
    source: str = ""
    project: str = ""
    since: str = ""
    until: str = ""
    order: str = ""
    scan: str = ""
    after: str = ""

    @property
    def session_id(self) -> str:
        return name_in(self.session)

    @property
    def is_narrowed(self) -> bool:
        return any((self.store, self.session, self.role, self.source, self.project, self.since, self.until))


@dataclass(frozen=True, slots=True)
class Searched:
    """The hits of one store, or the `problem` why there are none."""

    store: Store
    page: HitPage | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NamedSession:
    """A session found by its name, its id or its first words: `name` and `words` have the found words marked; `copies`
    are the same session in other stores.
    """

    facts: tuple[str | SafeString, ...]
    source: str
    place: SessionUrls
    name: tuple[PassagePart, ...]
    words: tuple[PassagePart, ...]
    copies: tuple[SessionUrls, ...] = ()


@require_safe
@shows_refusals
def messages(request: HttpRequest) -> HttpResponse:
    form = form_of(request.GET)
    stores = listed_stores(request, form.store)
    if form.store and form.store not in {store.name for store in stores}:
        raise NotFound(f"There is no store named {form.store!r}.")
    query, positions = parse(form.q), hits.positions(form.after)
    chosen = [store for store in stores if form.store in ("", store.name)]
    redacted = redaction.redacts(request)
    searched, unsearched = lines_of(
        (store for store in chosen if not positions.done(store.name)),
        lambda store: _searched(store, query, form, positions, redacted),
        lambda store: (store.name, store.name),
    )
    further = is_fragment(request) and bool(form.after)
    listed = SessionList((), (), (), more=False) if further else _named(query, chosen, form)
    data = _page(form, query, stores, listed, searched, positions, redacted)
    data["broken"] = (*unsearched, *data["broken"])
    return page(request, "search/_hits.html" if further else "search/search.html", data)


# -- the query -------------------------------------------------------------------------------------------------------


def form_of(query: QueryDict) -> SearchForm:
    """The query of the address; invalid values are left out."""
    role, order = query.get("role", ""), query.get("order", "")
    return SearchForm(
        q=" ".join(query.get("q", "")[:LONGEST].replace("\x00", " ").split()),
        store=query.get("store", ""),
        session=_session(query.get("session", "")),
        role=role if role in ROLES else "",
        source=query.get("source", ""),
        project=storable(query.get("project", "")),
        since=query.get("since", "") if day(query.get("since", "")) else "",
        until=query.get("until", "") if day(query.get("until", "")) else "",
        order=order if order in ORDERS else "",
        scan="1" if query.get("scan") == "1" else "",
        after=query.get("after", ""),
    )


def _session(text: str) -> str:
    """The segment, "" if it names no session."""
    try:
        return text and segment(name_in(text))
    except ValueError:
        return ""


def day(text: str, *, end: bool = False) -> float | None:
    """When a day (an ISO date) begins or ends in this site's zone, in epoch seconds; None for no date."""
    try:
        date = parse_date(text)
        if date is None:
            return None
        midnight = timezone.make_aware(datetime.combine(date, time.min))
        return midnight.timestamp() + 86_400 * end
    except (ValueError, OverflowError):
        return None


def address(form: SearchForm, **changes: str) -> str:
    """The page's address with some values changed, without the position in the list."""
    pairs = _pairs(form, **changes)
    return f"?{urlencode(pairs, errors='replace')}" if pairs else "?"


def _pairs(form: SearchForm, **changes: str) -> list[tuple[str, str]]:
    return [(name, value) for name, value in {**asdict(form), "after": "", **changes}.items() if value]


# -- the results -------------------------------------------------------------------------------------------------------


def _searched(store: Store, query: Query, form: SearchForm, positions: Positions, redacted: bool) -> Searched:
    """The next hits of one store. A store that cannot be read must not hide the others."""
    if query.empty:
        return Searched(store, None)
    try:
        with open_store(store, listed=True) as reader:
            after, stage = positions.after(store.name), positions.stage(store.name)
            result = store_search.search(
                reader, query, search_filter(reader, form), PageRequest(PAGE, after, stage, redacted)
            )
            return Searched(store, result)
    except StoreError as problem:
        return Searched(store, None, problem.message)


def search_filter(reader: Reader, form: SearchForm) -> SearchFilter:
    """The form as a filter of one store. Raises NotFound if it names a session that is not in it."""
    return SearchFilter(
        role=form.role,
        sessions=tuple(reader.parts(form.session_id)) if form.session else (),
        source=form.source,
        project=form.project,
        since=day(form.since),
        until=day(form.until, end=True),
        order="best" if form.order == "best" else "newest",
        indexed=not form.scan,
    )


def _named(query: Query, stores: Sequence[Store], form: SearchForm) -> SessionList:
    """The sessions with the words in their title, id or first words, also inside of words, and the existing sources."""
    words = " ".join(term.typed for term in query.wanted)
    if not words:
        return SessionList((), (), (), more=False)
    return lines.page_of_lines(SessionFilter(q=words, source=form.source, project=form.project), stores, LOOKED)


def _page(
    form: SearchForm,
    query: Query,
    stores: Sequence[Store],
    listed: SessionList,
    searched: Sequence[Searched],
    positions: Positions,
    redacted: bool,
) -> dict[str, Any]:
    """The page's data: sessions by name, hits by session (`found`), and remarks.

    `facets` is the address of the filters with numbers, `more` that of the next hits, "" at the end, which
    come by themselves unless all of these are of `one_session`; `limits` say where
    a page ended before it was full, `notes` how it was searched, and `gaps`, after the last hits, what is in no index.
    `scan` is the address of the same search without the indexes, `indexed` with them, `cleared` without filters.
    """
    pages = [(each.store.name, each.page) for each in searched if each.page]
    page_hits, behind = hits.merged(pages, PAGE, positions)
    further = any(behind.keys.get(name) is not None or name not in behind.keys for name, _ in pages)
    narrow = form.session or form.role
    groups, more_groups = filter_rows(form, filter_groups(form, stores, listed.listings, redacting=redacted))
    named, unnamed = _named_sessions(listed, query, redacted)
    shown, unshown = lines_of(
        page_hits,
        lambda each: hits.shown_hit(each[1], SessionUrls(each[0], each[1].session.id), form.q),
        lambda each: (each[1].id, each[0]),
    )
    return {
        "form": form,
        "hidden": [pair for pair in _pairs(form) if pair[0] not in ("q", "since", "until")],
        "groups": groups,
        "more_groups": more_groups,
        "narrowed_by": ", ".join(word for each in (*groups, *more_groups) for word in each.narrows),
        "dated": bool(form.until) or form.since not in ("", *map(_days_ago, AGES)),
        "facets": f"search/facets{address(form, scan='')}",
        "sessions": () if narrow else named,
        "found": hits.grouped(
            shown, lambda store, segment: address(form, store=store, session=segment), _rows(searched, shown)
        ),
        "broken": (*unshown, *(() if narrow else unnamed)),
        "more": address(form, after=behind.text) if further else "",
        "one_session": len({hit.place for hit in shown}) == 1,
        "limits": list(_limits(pages, several=len(searched) > 1)),
        "notes": list(_notes(pages, gaps=False)),
        "gaps": () if further else list(_notes(pages, gaps=True)),
        "problems": [each.problem for each in searched if each.problem],
        "scan": address(form, scan="1"),
        "stores": [each.store.name for each in searched if not each.problem],
        "unsearched": [each.store.name for each in searched if each.problem],
        "tips": list(_tips(query)),
        "cleared": address(SearchForm(q=form.q)),
        "indexed": address(form, scan=""),
    }


def _rows(searched: Sequence[Searched], shown: Sequence[hits.ShownHit]) -> dict[SessionUrls, SessionIndex]:
    """The rows of the catalog of the sessions that these hits are in, as far as they are listed."""
    rows: dict[SessionUrls, SessionIndex] = {}
    for each in searched:
        ids = {hit.place.session for hit in shown if hit.place.store == each.store.name}
        if ids:
            with suppress(StoreError):
                listed = lines.of_sessions(each.store, sorted(ids))
                rows |= {SessionUrls(each.store.name, row.session_id): row for row in listed}
    return rows


def _limits(pages: Sequence[tuple[str, HitPage]], *, several: bool) -> Iterator[str]:
    for name, each in pages:
        if each.stopped:
            of_store = f" of {name}" if several else ""
            rows = f"{each.looked:,} messages{of_store}"
            yield f"Only {rows}{'' if each.scanned else ' that an index names'} were looked at in this step."


def _notes(pages: Sequence[tuple[str, HitPage]], *, gaps: bool) -> Iterator[str]:
    """The remarks about the results, each once for all stores that it is about."""
    names_of: dict[str, list[str]] = {}
    for name, each in pages:
        for note in each.notes:
            if note.is_gap == gaps:
                names_of.setdefault(note.message, []).append(name)
    for message, names in names_of.items():
        yield f"{', '.join(names)}: {message}" if len(names) < len(pages) else message


def _tips(query: Query) -> Iterator[str]:
    """What else to try if nothing matches; `search` tried beginnings and parts of words by itself."""
    if any(term.quoted for term in query.wanted):
        yield "the words without quotation marks"
    if query.excluded:
        yield f"without {' '.join(f'-{term.typed}' for term in query.excluded)}"
    yield "fewer words" if len(query.wanted) > 1 else "another spelling, or a shorter part of it"


def _named_sessions(
    listed: SessionList, query: Query, redacted: bool
) -> tuple[tuple[NamedSession, ...], tuple[UnreadableLine, ...]]:
    """The first sessions in whose names words begin with each of the query's, and those that cannot be shown."""
    stores = {listing.state.pk: listing.store.name for listing in listed.listings if listing.state}
    begun = replace(query, wanted=tuple(replace(term, prefix=not term.quoted) for term in query.wanted))

    def has_words(row: SessionIndex) -> bool:
        return not begun.lacks(fold("\n".join((row.title, row.first_words, row.session_id, row.cwd))))

    def make(row: SessionIndex) -> NamedSession | UnreadableLine:
        store, name = stores[row.state_id], line(redaction.name(name_of(row), redacted), 120)
        if row.problem:
            return UnreadableLine(name, store, row.problem)
        words = passage(line(redaction.name(row.first_words, redacted), 300), query)
        return NamedSession(
            facts=tuple(hits.facts_of(row)),
            source=line(row.source, 30),
            place=SessionUrls(store, row.session_id),
            name=passage(name, query),
            words=words if row.title and any(part.marked for part in words) else (),
        )

    rows = [row for row in listed.lines if row.problem or has_words(row)]
    named, unnamed = lines_of(rows, make, lambda row: (row.session_id, stores[row.state_id]))
    by_session: dict[object, NamedSession] = {}
    for each in named:
        first = by_session.setdefault((each.place.session, each.name), each)
        if first is not each:
            by_session[each.place.session, each.name] = replace(first, copies=(*first.copies, each.place))
    return tuple(by_session.values())[:SESSIONS], unnamed[:SESSIONS]


# -- filters -----------------------------------------------------------------------------------------------------------


def filter_groups(
    form: SearchForm, stores: Sequence[Store], listings: Sequence[StoreListing], *, redacting: bool
) -> Iterator[Group]:
    """The filters of a search, as links; those whose numbers are requested later have "…" in their place."""
    kinds = lines.kinds_of(listings)
    counts = lines.counts(listings, SessionFilter()).projects(SessionFilter())
    projects = {*sorted(counts, key=lambda each: (-counts[each], each))[:PROJECTS], form.project} - {""}
    shown = [each for each in sorted(projects) if redaction.name(each, redacting) == each]
    sources = sorted({kind.source for kind in kinds if kind.source} | ({form.source} - {""}))
    ages = {"": "any time", **{_days_ago(days): label for days, label in AGES.items()}}
    for name, title, options in (
        ("store", "Store", {"": "all", **{store.name: store.name for store in stores}}),
        ("role", "Said by", ROLES),
        ("source", "Source", {"": "all", **{source: source for source in sources}}),
        ("project", "Project", {"": "all", **names_of(shown)}),
        ("since", "When", ages),
        ("order", "Order", ORDERS),
    ):
        if len(options) > 2 or getattr(form, name) or name == "order":
            links = (_link(form, name, value, label) for value, label in options.items())
            count = "" if name in ("project", "order") else "…"
            yield Group(title, tuple(replace(link, count=count) for link in links))


def filter_rows(form: SearchForm, groups: Iterable[Group]) -> tuple[list[Group], list[Group]]:
    """The filters that a page begins with, which are those that most searches need and those in use, and the others."""
    first: list[Group] = []
    more: list[Group] = []
    for group in groups:
        in_use = any(link.current for link in group.links[1:])
        (first if in_use or group.name in FIRST else more).append(group)
    return first, more


def _days_ago(days: int) -> str:
    return (timezone.localtime() - timedelta(days=days)).date().isoformat()


def _link(form: SearchForm, name: str, value: str, label: str) -> Link:
    changes = {name: value, "until": ""} if name == "since" else {name: value}
    title = line(value, 300) if name == "project" else ""
    return Link(line(label, 40), address(form, **changes), getattr(form, name) == value, title=title)
