"""How many messages a search finds: in one session, and with each choice of a filter. Requested after the page is
shown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_safe

from viewer.catalog import sync
from viewer.catalog.search import store_search
from viewer.pages.filters import Group, Link
from viewer.pages.http import page, shows_refusals
from viewer.pages.preferences import listed_stores
from viewer.pages.redaction import redacts
from viewer.stores.base import Store
from viewer.stores.errors import StoreError
from viewer.stores.registry import open_store
from viewer.stores.search.pages import Hit, PageRequest
from viewer.stores.search.query import parse

from .views import FIRST, SearchForm, day, filter_groups, filter_rows, form_of, search_filter

COUNTED = 100  # hits that are counted; above that the page says that there are more
SAMPLE = 50  # hits of a store by which all choices of the filters are counted
SECONDS = 0.5  # after which no other store is searched for them
# The fields of the form that the choices of a group change.
FIELDS = {"Store": ("store",), "Said by": ("role",), "Source": ("source",), "When": ("since", "until")}


class Sample(NamedTuple):
    """The newest `hits` of stores, each with its store's name; the stores of which these are not all (`cut`), and those
    `without` one, which may have messages with parts of the words.
    """

    hits: list[tuple[str, Hit]]
    cut: set[str]
    without: set[str]


@require_safe
@shows_refusals
def total(request: HttpRequest) -> HttpResponse:
    """How many messages match in the session of the address: "13", or "100+"."""
    form = form_of(request.GET)
    stores = [store for store in listed_stores(request, form.store) if form.store in ("", store.name)]
    number, more = _count(form, stores)
    return HttpResponse(f"{number:,}{'+' * more}", content_type="text/plain; charset=utf-8")


@require_safe
@shows_refusals
def facets(request: HttpRequest) -> HttpResponse:
    """The filters of the search with the number of messages for each choice; under "More filters", without choices that
    find none.
    """
    form = form_of(request.GET)
    stores = listed_stores(request, form.store)
    listings = sync.store_listings(stores)
    groups = tuple(filter_groups(form, stores, listings, redacting=redacts(request)))
    first, more = filter_rows(form, _counted(groups, form, stores))
    return page(request, "search/_facets.html", {"groups": first, "more_groups": more})


def _counted(groups: Sequence[Group], form: SearchForm, stores: Sequence[Store]) -> Iterator[Group]:
    """The groups with numbers that a few hits of each store give: one search for all choices of a group, and one for
    all groups by which the page is not narrowed.
    """
    samples: dict[SearchForm, Sample] = {}
    until = time.monotonic() + SECONDS
    for group in groups:
        if group.name not in FIELDS:
            yield group
            continue
        wider = replace(form, **dict.fromkeys(FIELDS[group.name], ""), order="", after="")
        if wider not in samples:
            samples[wider] = _sample(wider, stores, until)
        links = [_with_number(link, samples[wider]) for link in group.links]
        if group.name not in FIRST:  # those that people see do not move when the numbers come
            links = [link for link in links if link.count != "0" or link.current]
        yield replace(group, links=tuple(links))


def _sample(form: SearchForm, stores: Sequence[Store], until: float) -> Sample:
    sample, query = Sample([], set(), set()), parse(form.q)
    for store in stores:
        if form.store not in ("", store.name):
            continue
        if time.monotonic() >= until:
            sample.cut.add(store.name)
            continue
        try:
            with open_store(store, listed=True) as reader:
                request = PageRequest(SAMPLE, stage="words", passages=False)
                found = store_search.search(reader, query, search_filter(reader, form), request)
        except StoreError:
            continue
        sample.hits.extend((store.name, hit) for hit in found.hits)
        if found.next is not None:
            sample.cut.add(store.name)
        elif not found.hits:
            sample.without.add(store.name)
    return sample


def _with_number(link: Link, sample: Sample) -> Link:
    """A choice with the number of these hits that it would leave: "12+" if there may be more, "" if none is known."""
    form = form_of(QueryDict(link.href.removeprefix("?")))
    since, until = day(form.since), day(form.until, end=True)
    number = sum(
        form.store in ("", store)
        and form.role in ("", hit.role)
        and form.source in ("", hit.session.source)
        and (since is None or hit.time >= since)
        and (until is None or hit.time < until)
        for store, hit in sample.hits
    )
    is_cut = form.store in sample.cut if form.store else bool(sample.cut)
    is_without = form.store in sample.without if form.store else bool(sample.without)
    is_unknown = is_cut or is_without or not sample.hits
    return replace(link, count=f"{number:,}{'+' * is_cut}" if number else "" if is_unknown else "0")


def _count(form: SearchForm, stores: Sequence[Store]) -> tuple[int, bool]:
    """The number of messages found, up to COUNTED, and whether there may be more. A store that cannot be read counts as
    0.
    """
    number, more, query = 0, False, parse(form.q)
    for store in stores:
        try:
            with open_store(store, listed=True) as reader:
                criteria = search_filter(reader, form)
                matches = store_search.search(reader, query, criteria, PageRequest(COUNTED))
        except StoreError:
            continue
        number, more = number + len(matches.hits), more or matches.next is not None
    return number, more
