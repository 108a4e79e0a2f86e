"""The search page: sessions whose name holds the words, then messages of all stores that do, newest or best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.dateparse import parse_date
from django.views.decorators.http import require_safe

from viewer.catalog import lines
from viewer.catalog.lines import SessionFilter, SessionList
from viewer.catalog.models import FacetGroup, SessionIndex, name_of
from viewer.catalog.search import store_search
from viewer.pages import redaction
from viewer.pages.filters import Group, Link
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.preferences import listed_stores
from viewer.rendering.texts import line
from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.registry import Reader, open_store
from viewer.stores.search.pages import HitPage, PageRequest, SearchFilter
from viewer.stores.search.passages import PassagePart, passage
from viewer.stores.search.query import LONGEST, Query, parse
from viewer.web.session_urls import SessionUrls
from viewer.web.unreadable import UnreadableLine, lines_of
from viewer.web.url_segments import name_in, segment

from . import hits
from .hits import Positions

PAGE = 25
SESSIONS = 5  # found by their names
ROLES = {"": "anybody", "user": "user", "assistant": "assistant", "tool": "tool results"}
ORDERS = {"": "newest", "best": "best match"}
AGES = {7: "last 7 days", 30: "last 30 days", 365: "last year"}


@dataclass(frozen=True, slots=True)
class SearchForm:
    """What the address asks for. `session` is an id as addresses hold it: a form would change others. `since` and
    `until` are days, as ISO dates, both included; `scan` looks through the messages themselves.
    """

    q: str = ""
    store: str = ""
    session: str = ""
    role: str = ""
    source: str = ""
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
        return any((self.store, self.session, self.role, self.source, self.since, self.until))


@dataclass(frozen=True, slots=True)
class Searched:
    """What one store gave, or why it gave nothing."""

    store: Store
    found: HitPage | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NamedSession:
    """A session found by its name, its id or its first words: `name` and `words` with what was found marked."""

    row: SessionIndex
    place: SessionUrls
    name: tuple[PassagePart, ...]
    words: tuple[PassagePart, ...]


@require_safe
@shows_refusals
def messages(request: HttpRequest) -> HttpResponse:
    asked = asked_for(request.GET)
    stores = listed_stores(request, asked.store)
    if asked.store and asked.store not in {store.name for store in stores}:
        raise NotFound(f"There is no store named {asked.store!r}.")
    query, places = parse(asked.q), hits.positions(asked.after)
    chosen = [store for store in stores if asked.store in ("", store.name)]
    redacted = redaction.redacts(request)
    searched, unsearched = lines_of(
        (store for store in chosen if not places.done(store.name)),
        lambda store: _searched(store, query, asked, places, redacted),
        lambda store: (store.name, store.name),
    )
    further = is_fragment(request) and bool(asked.after)
    listed = SessionList((), (), (), more=False) if further else _named(query, chosen, asked)
    data = _page(asked, query, stores, listed, searched, places, redacted)
    data["broken"] = (*unsearched, *data["broken"])
    return page(request, "search/_hits.html" if further else "search/search.html", data)


# -- the query -------------------------------------------------------------------------------------------------------


def asked_for(query: QueryDict) -> SearchForm:
    """What the address asks for; values that mean nothing are left out."""
    role, order = query.get("role", ""), query.get("order", "")
    return SearchForm(
        q=" ".join(query.get("q", "")[:LONGEST].replace("\x00", " ").split()),
        store=query.get("store", ""),
        session=_session(query.get("session", "")),
        role=role if role in ROLES else "",
        source=query.get("source", ""),
        since=query.get("since", "") if day(query.get("since", "")) else "",
        until=query.get("until", "") if day(query.get("until", "")) else "",
        order=order if order in ORDERS else "",
        scan="1" if query.get("scan") == "1" else "",
        after=query.get("after", ""),
    )


def _session(text: str) -> str:
    """The segment, "" where it names no session."""
    try:
        return text and segment(name_in(text))
    except ValueError:
        return ""


def day(text: str, *, end: bool = False) -> float | None:
    """When a day, given as an ISO date, begins or ends in this site's zone, in epoch seconds; None for no date."""
    try:
        date = parse_date(text)
        if date is None:
            return None
        midnight = timezone.make_aware(datetime.combine(date, time.min))
        return midnight.timestamp() + 86_400 * end
    except (ValueError, OverflowError):
        return None


def address(asked: SearchForm, **changes: str) -> str:
    """The page's address with some values changed; the place in the list is left out."""
    pairs = _pairs(asked, **changes)
    return f"?{urlencode(pairs, errors='replace')}" if pairs else "?"


def _pairs(asked: SearchForm, **changes: str) -> list[tuple[str, str]]:
    return [(name, value) for name, value in {**asdict(asked), "after": "", **changes}.items() if value]


# -- what is found -----------------------------------------------------------------------------------------------------


def _searched(store: Store, query: Query, asked: SearchForm, places: Positions, redacted: bool) -> Searched:
    """The next hits of one store. A store that cannot be read must not hide the others."""
    if query.empty:
        return Searched(store, None)
    try:
        with open_store(store, listed=True) as reader:
            after, stage = places.after(store.name), places.stage(store.name)
            found = store_search.search(
                reader, query, search_filter(reader, asked), PageRequest(PAGE, after, stage, redacted)
            )
            return Searched(store, found)
    except StoreError as problem:
        return Searched(store, None, problem.message)


def search_filter(reader: Reader, asked: SearchForm) -> SearchFilter:
    """What the form asks of one store. Raises NotFound where it names a session that is not in it."""
    return SearchFilter(
        role=asked.role,
        sessions=tuple(reader.parts(asked.session_id)) if asked.session else (),
        source=asked.source,
        since=day(asked.since),
        until=day(asked.until, end=True),
        order="best" if asked.order == "best" else "newest",
        indexed=not asked.scan,
    )


def _named(query: Query, stores: Sequence[Store], asked: SearchForm) -> SessionList:
    """The sessions whose title, id or first words hold the words, and the sources there are."""
    words = " ".join(term.typed for term in query.wanted)
    if not words:
        return SessionList((), (), (), more=False)
    return lines.page_of_lines(SessionFilter(q=words, source=asked.source), stores, SESSIONS)


def _page(
    asked: SearchForm,
    query: Query,
    stores: Sequence[Store],
    listed: SessionList,
    searched: Sequence[Searched],
    places: Positions,
    redacted: bool,
) -> dict[str, Any]:
    """The page's data: sessions by name, hits by session (`found`), and what there is to say where little is found.

    `facets` is the address of the filters with numbers, `more` that of the next hits, "" at the end; `limits` say where
    a page ended before it was full, `notes` how it was searched, and `gaps`, behind the last hits, what no index holds.
    `scan` is the address of the same search without the indexes, `indexed` with them, `cleared` without filters.
    """
    found = [(each.store.name, each.found) for each in searched if each.found]
    taken, behind = hits.merged(found, PAGE, places)
    further = any(behind.keys.get(name) is not None or name not in behind.keys for name, _ in found)
    narrow = asked.session or asked.role
    named, unnamed = _named_sessions(listed, query, redacted)
    shown, unshown = lines_of(
        taken,
        lambda each: hits.shown_hit(each[1], SessionUrls(each[0], each[1].session.id), asked.q),
        lambda each: (each[1].id, each[0]),
    )
    return {
        "asked": asked,
        "hidden": [pair for pair in _pairs(asked) if pair[0] not in ("q", "since", "until")],
        "groups": list(filter_groups(asked, stores, listed.kinds)),
        "facets": f"search/facets{address(asked, scan='')}",
        "sessions": () if narrow else named,
        "found": hits.grouped(shown, lambda store, segment: address(asked, store=store, session=segment)),
        "broken": (*unshown, *(() if narrow else unnamed)),
        "more": address(asked, after=behind.text) if further else "",
        "limits": list(_limits(found, several=len(searched) > 1)),
        "notes": list(_notes(found, gaps=False)),
        "gaps": () if further else list(_notes(found, gaps=True)),
        "problems": [each.problem for each in searched if each.problem],
        "scan": address(asked, scan="1"),
        "stores": [each.store.name for each in searched if not each.problem],
        "unsearched": [each.store.name for each in searched if each.problem],
        "tips": list(_tips(query)),
        "cleared": address(SearchForm(q=asked.q)),
        "indexed": address(asked, scan=""),
    }


def _limits(found: Sequence[tuple[str, HitPage]], *, several: bool) -> Iterator[str]:
    for name, each in found:
        if each.stopped:
            of_store = f" of {name}" if several else ""
            rows = f"{each.looked:,} messages{of_store}"
            yield f"Only {rows}{'' if each.scanned else ' that an index names'} were looked at in this step."


def _notes(found: Sequence[tuple[str, HitPage]], *, gaps: bool) -> Iterator[str]:
    """What is to be said about the results, once for all stores of which it is true."""
    said: dict[str, list[str]] = {}
    for name, each in found:
        for note in each.notes:
            if note.is_gap == gaps:
                said.setdefault(note.message, []).append(name)
    for message, names in said.items():
        yield f"{', '.join(names)}: {message}" if len(names) < len(found) else message


def _tips(query: Query) -> Iterator[str]:
    """What else to try where nothing matches; `search` tried beginnings and parts of words by itself."""
    if any(term.quoted for term in query.wanted):
        yield "the words without quotation marks"
    if query.excluded:
        yield f"without {' '.join(f'-{term.typed}' for term in query.excluded)}"
    yield "fewer words" if len(query.wanted) > 1 else "another spelling, or a shorter part of it"


def _named_sessions(
    listed: SessionList, query: Query, redacted: bool
) -> tuple[tuple[NamedSession, ...], tuple[UnreadableLine, ...]]:
    stores = {listing.state.pk: listing.store.name for listing in listed.listings if listing.state}

    def make(found: SessionIndex) -> NamedSession | UnreadableLine:
        store, name = stores[found.state_id], line(redaction.name(name_of(found), redacted), 120)
        if found.problem:
            return UnreadableLine(name, store, found.problem)
        words = passage(line(redaction.name(found.first_words, redacted), 300), query)
        return NamedSession(
            row=found,
            place=SessionUrls(store, found.session_id),
            name=passage(name, query),
            words=words if found.title and any(part.marked for part in words) else (),
        )

    return lines_of(listed.lines, make, lambda found: (found.session_id, stores[found.state_id]))


# -- filters -----------------------------------------------------------------------------------------------------------


def filter_groups(asked: SearchForm, stores: Sequence[Store], kinds: Sequence[FacetGroup]) -> Iterator[Group]:
    """What a search can be narrowed by, as links; `kinds` are those of the sessions of these stores."""
    sources = sorted({kind.source for kind in kinds if kind.source} | ({asked.source} - {""}))
    ages = {"": "any time", **{_days_ago(days): label for days, label in AGES.items()}}
    for name, title, options in (
        ("store", "Store", {"": "all", **{store.name: store.name for store in stores}}),
        ("role", "Said by", ROLES),
        ("source", "Source", {"": "all", **{source: source for source in sources}}),
        ("since", "When", ages),
        ("order", "Order", ORDERS),
    ):
        if len(options) > 2 or getattr(asked, name) or name == "order":
            yield Group(title, tuple(_link(asked, name, value, label) for value, label in options.items()))


def _days_ago(days: int) -> str:
    return (timezone.localtime() - timedelta(days=days)).date().isoformat()


def _link(asked: SearchForm, name: str, value: str, label: str) -> Link:
    changes = {name: value, "until": ""} if name == "since" else {name: value}
    return Link(line(label, 40), address(asked, **changes), getattr(asked, name) == value)
