"""The list of sessions of all stores, newest first, narrowed by links in a row and by words."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from viewer.catalog import sync
from viewer.catalog.lines import Order, SessionList, page_of_lines, pinned, projects, sort_key
from viewer.catalog.sync import StoreListing
from viewer.labels.models import SavedView
from viewer.labels.sessions import all_labels
from viewer.pages import preferences, redaction
from viewer.pages.filters import Link
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.parts.projects import names_of
from viewer.rendering.texts import line
from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.registry import remarks
from viewer.web import own_database

from .filters import PROJECTS, Facets, ListForm, form_of, query_of
from .lines import nested, shown_lines

PAGE = 40
LIFTED = 5  # sessions that need compaction, above the others
NAME, MOST = 60, 30  # characters of the name of a saved view; views that are kept
MOST_PROJECTS = 500  # of one store
HEADS: dict[Order, str] = {
    "title": "Session", "tokens": "Context", "messages": "Messages", "cost": "Cost", "recent": "Last active",
}  # fmt: skip


@require_safe
@shows_refusals
def sessions(request: HttpRequest) -> HttpResponse:
    form = form_of(request.GET)
    stores = preferences.listed_stores(request, form.store)
    if form.store and form.store not in {store.name for store in stores}:
        raise NotFound(f"There is no store named {form.store!r}.")
    shown = [store for store in stores if form.store in ("", store.name)]
    edition = request.GET.get("known") if is_fragment(request) else None
    if edition is not None and edition == _edition(sync.store_listings(shown)):
        return HttpResponse(status=204)
    listed = page_of_lines(form.filter, shown, PAGE, form.after)
    further = is_fragment(request) and form.after is not None
    newcomer = not (form.store or preferences.is_demo_shown(request)) and any(store.is_managed for store in stores)
    data = _page(form, None if further else stores, listed, newcomer=newcomer, redacting=redaction.redacts(request))
    data["opened"] = preferences.has_opened(request)
    return page(request, "sessions/_lines.html" if further else "sessions/sessions.html", data)


def _edition(listings: Sequence[StoreListing]) -> str:
    """A value that changes when a line of one of these stores is written."""
    return " ".join(f"{listing.state.pk}.{listing.state.edition}" for listing in listings if listing.state)


def _page(
    form: ListForm, stores: Sequence[Store] | None, listed: SessionList, *, newcomer: bool, redacting: bool
) -> dict[str, Any]:
    """The page's data; without stores (None), only that of further lines.

    `here` is the address of the list, `query` its query as it is saved under a name, and `saved_as` that name; `more`
    is the address of the next lines, "" at the end. `narrowed`: a filter or words are set; `filtered`: a filter is.
    `behind` says why recent changes may be missing; `newcomer`: there is only the demo yet, and `opened`: this browser
    has opened a session.
    """
    pairs = query_of(form)
    query = urlencode(pairs)
    labels = all_labels()
    above = pinned(listed, form.filter, labels.pinned())
    numbers = {line.pk for line in above}
    below = [line for line in listed.lines if line.pk not in numbers]
    on_page = replace(listed, lines=(*(() if stores is None else above), *below))
    shown, broken = shown_lines(on_page, labels, redacting=redacting, q=form.filter.q)
    is_whole = stores is not None and not pairs and form.after is None
    lifted = [replace(line, is_lifted=True) for line in shown if is_whole and line.near][:LIFTED]
    above_others = {line.row.pk for line in lifted}
    shown = tuple(line for line in shown if line.row.pk not in above_others)
    data = {
        "lines": nested([line for line in shown if line.row.pk not in numbers]),
        "lifted": lifted,
        "broken": broken,
        "more": _more(form, listed),
    }
    if stores is None:
        return data
    views = saved_views(query)
    facets = Facets(form, stores, listed, labels, redacting=redacting)
    groups, more_groups = facets.groups(len(lifted))
    words = [f"“{form.filter.q}”"] if form.filter.q else []
    words += (word for each in (*groups, *more_groups) for word in each.narrows)
    projects_here = _projects(form, listed, redacting=redacting)
    return data | {
        "q": form.filter.q,
        "here": f"?{query}",
        "query": query,
        "hidden": [pair for pair in pairs if pair[0] != "q"],
        "groups": groups,
        "more_groups": more_groups,
        "narrowed_by": ", ".join(words),
        "projects": projects_here[:PROJECTS],
        "more_projects": projects_here[PROJECTS:],
        "total": facets.total(),
        "views": views,
        "saved_as": next((view.label for view in views if view.current), ""),
        "columns": list(_columns(form, facets.orders())),
        "stores": [_introduced(listing) for listing in listed.listings],
        "pinned": [line for line in shown if line.row.pk in numbers],
        "narrowed": any(name != "order" for name, _ in pairs),
        "filtered": any(name not in ("order", "q") for name, _ in pairs),
        "archived": form.filter.state == "archived",
        "needing": form.filter.near,
        "readable": any(listing.state for listing in listed.listings),
        "unlisted": listed.unlisted,
        "behind": own_database.trouble(),
        "newcomer": newcomer,
        "start": preferences.first_session() if newcomer else None,
        "demo_hidden": not any(store.is_managed for store in stores),
        "known": _edition(listed.listings),
    }


def _more(form: ListForm, listed: SessionList) -> str:
    if not listed.more:
        return ""
    position = json.dumps(sort_key(listed.lines[-1], form.filter.order))
    return f"?{urlencode([*query_of(form), ('after', position)])}"


def _columns(form: ListForm, orders: Container[Order]) -> Iterator[tuple[Order, Link]]:
    """The heads of the columns by which a list can be ordered."""
    for order, label in HEADS.items():
        if order in orders:
            query = query_of(form, order="" if order == "recent" else order)
            yield order, Link(label, f"?{urlencode(query)}", form.filter.order == order)


# -- the stores --------------------------------------------------------------------------------------------------------


def _projects(form: ListForm, listed: SessionList, *, redacting: bool) -> list[tuple[Link, float]]:
    """What the list of one store begins with, if it is not narrowed and has several: its projects, the one active last
    first, each with that time in epoch seconds.
    """
    if not form.store or {name for name, _ in query_of(form)} - {"store", "order", "sub-agents"}:
        return []
    rows = projects(listed, form.filter)[:MOST_PROJECTS]
    names = names_of([row[0] for row in rows if redaction.name(row[0], redacting) == row[0]])
    links = [
        (Link(line(names[each], 60), f"?{urlencode(query_of(form, project=each))}", False, f"{number:,}", each), at)
        for each, number, at in rows
        if each in names
    ]
    return links if len(links) > 1 else []


def _introduced(listing: StoreListing) -> tuple[StoreListing, str, list[str]]:
    """A store with the reason why it is listed, and remarks on how it is read."""
    return listing, why_open(listing.store), [] if listing.problem else list(remarks(listing.store))


def why_open(store: Store) -> str:
    """Why this store is listed, for somebody who sees the site for the first time."""
    return {
        "configured": "named in PALIMPSEST_STORES",
        "found": f"found at {store.place}",
        "demo": "examples written for this site; nothing in it is real",
    }[store.origin]


# -- saved views -------------------------------------------------------------------------------------------------------


def saved_views(query: str) -> tuple[Link, ...]:
    """The saved views by name; the current one is marked."""
    return tuple(Link(view.name, f"?{view.query}", view.query == query) for view in SavedView.objects.order_by("name"))


@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Save the list of this query under a name, or delete the name; then go to the list."""
    query = urlencode(query_of(form_of(QueryDict(request.POST.get("query", "")))))
    name = line(request.POST.get("name", ""), NAME)
    if "forget" in request.POST:
        SavedView.objects.filter(name=name).delete()
    elif name and (SavedView.objects.count() < MOST or SavedView.objects.filter(name=name).exists()):
        SavedView.objects.update_or_create(name=name, defaults={"query": query})
    here = reverse("pages:sessions")
    return redirect(f"{here}?{query}" if query else here)
