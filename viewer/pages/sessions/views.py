"""The list of sessions of all stores, newest first, narrowed by links in a row and by words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.catalog import sync
from viewer.catalog.lines import Order, SessionList, page_of_lines, pinned, sort_key
from viewer.catalog.sync import StoreListing
from viewer.labels.sessions import all_labels
from viewer.pages import preferences
from viewer.pages.filters import Group, Link
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.redaction import redacts
from viewer.rendering import formats
from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.registry import remarks
from viewer.web import own_database
from viewer.web.unreadable import UnreadableLine

from .facets import Facets
from .form import ListForm, asked_for, query_of
from .lines import SessionLine, shown_lines
from .saved import saved_views

PAGE = 40
HEADS: dict[Order, str] = {
    "title": "Session", "tokens": "Context", "messages": "Messages", "cost": "Cost", "recent": "Last active",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoreLine:
    """A store as the list introduces it: why it is open, or why it cannot be read; and remarks on what is read."""

    name: str
    why: str
    problem: str
    remarks: tuple[str, ...]
    is_demo: bool


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """`here` is the address of the list, `query` its query as it is saved under a name, and `saved_as` that name;
    `more` is the address of the next lines, "" at the end. `narrowed` says that a filter or words are set, `filtered`
    that a filter is; `total` how many sessions there are; `columns` are the heads of the lines, and `pinned` lines
    stand above the others. `readable`: any store can be read. `unlisted` says how many sessions are still to be listed,
    "" for none; `behind` why what happened lately may be missing; `broken` are lines that cannot be shown. `newcomer`
    says that there is nothing but the demo yet, and `start` leads to its session to begin with; `demo_hidden` that the
    demo store is left out. `known` is what a look for news sends.
    """

    q: str
    here: str
    query: str
    hidden: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]
    total: str
    views: tuple[Link, ...]
    saved_as: str
    columns: tuple[Link, ...]
    stores: tuple[StoreLine, ...]
    pinned: tuple[SessionLine, ...]
    lines: tuple[SessionLine, ...]
    broken: tuple[UnreadableLine, ...]
    more: str
    narrowed: bool
    filtered: bool
    archived: bool
    readable: bool
    unlisted: str
    behind: str
    newcomer: bool
    start: Link | None
    demo_hidden: bool
    known: str


@require_safe
@shows_refusals
def sessions(request: HttpRequest) -> HttpResponse:
    asked = asked_for(request.GET)
    stores = preferences.listed_stores(request, asked.store)
    if asked.store and asked.store not in {store.name for store in stores}:
        raise NotFound(f"There is no store named {asked.store!r}.")
    shown = [store for store in stores if asked.store in ("", store.name)]
    known = request.GET.get("known") if is_fragment(request) else None
    if known is not None and known == _edition(sync.store_listings(shown)):
        return HttpResponse(status=204)
    listed = page_of_lines(asked.filter, shown, PAGE, asked.after)
    further = is_fragment(request) and asked.after is not None
    newcomer = not (asked.store or preferences.is_demo_shown(request)) and any(store.is_managed for store in stores)
    data = _page(asked, [] if further else stores, listed, newcomer=newcomer, redacting=redacts(request))
    return page(request, "sessions/_lines.html" if further else "sessions/sessions.html", data)


def _edition(listings: Sequence[StoreListing]) -> str:
    """Differs when a line of one of these stores was written."""
    return " ".join(f"{listing.state.pk}.{listing.state.edition}" for listing in listings if listing.state)


def _page(
    asked: ListForm, stores: Sequence[Store], listed: SessionList, *, newcomer: bool, redacting: bool
) -> SessionsPage:
    """The page's data; without stores, that of further lines alone."""
    query = query_of(asked)
    labels = all_labels()
    above = pinned(listed, asked.filter, labels.pinned())
    numbers = {line.pk for line in above}
    below = [line for line in listed.lines if line.pk not in numbers]
    on_page = replace(listed, lines=(*(above if stores else ()), *below))
    shown, broken = shown_lines(on_page, labels, redacting=redacting)
    marks = {f"l{number}" for number in numbers}
    views = saved_views(urlencode(query)) if stores else ()
    facets = Facets(asked, stores, listed, labels) if stores else None
    return SessionsPage(
        q=asked.filter.q,
        here=f"?{urlencode(query)}",
        query=urlencode(query),
        hidden=tuple(pair for pair in query if pair[0] != "q"),
        groups=tuple(facets.groups()) if facets else (),
        total=facets.total() if facets else "",
        views=views,
        saved_as=next((view.label for view in views if view.current), ""),
        columns=tuple(_columns(asked)),
        stores=tuple(_store_line(listing) for listing in listed.listings) if stores else (),
        pinned=tuple(line for line in shown if line.mark in marks),
        lines=tuple(line for line in shown if line.mark not in marks),
        broken=broken,
        more=_more(asked, listed),
        narrowed=bool([name for name, _ in query if name != "order"]),
        filtered=bool([name for name, _ in query if name not in ("order", "q")]),
        archived=asked.filter.state == "archived",
        readable=any(listing.state for listing in listed.listings),
        unlisted=formats.counted(listed.unlisted, "older session") if listed.unlisted else "",
        behind=own_database.trouble(),
        newcomer=newcomer,
        start=preferences.first_session() if newcomer else None,
        demo_hidden=not any(store.is_managed for store in stores),
        known=_edition(listed.listings),
    )


def _more(asked: ListForm, listed: SessionList) -> str:
    if not listed.more:
        return ""
    place = json.dumps(sort_key(listed.lines[-1], asked.filter.order))
    return f"?{urlencode([*query_of(asked), ('after', place)])}"


def _columns(asked: ListForm) -> Iterator[Link]:
    """The heads of the columns that a list can be ordered by."""
    for order, label in HEADS.items():
        query = query_of(asked, order="" if order == "recent" else order)
        yield Link(label, f"?{urlencode(query)}", asked.filter.order == order)


# -- the stores --------------------------------------------------------------------------------------------------------


def _store_line(listing: StoreListing) -> StoreLine:
    known = " Its sessions are listed as they were before." if listing.problem and listing.state else ""
    said = () if listing.problem else tuple(remarks(listing.store))
    return StoreLine(
        listing.store.name, why_open(listing.store), listing.problem + known, said, listing.store.is_managed
    )


def why_open(store: Store) -> str:
    """Why this store is listed, for somebody who sees the site for the first time."""
    return {
        "configured": "named in PALIMPSEST_STORES",
        "found": f"found at {store.place}",
        "demo": "examples written for this site; nothing in it is real",
    }[store.origin]
