"""How many messages a search finds: in one session, and with each choice of a filter. Requested after the page is
shown.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_safe

from viewer.catalog import lines, sync
from viewer.catalog.search import store_search
from viewer.pages.filters import Group
from viewer.pages.http import page, shows_refusals
from viewer.pages.preferences import listed_stores
from viewer.rendering import formats
from viewer.stores.base import Store
from viewer.stores.errors import StoreError
from viewer.stores.registry import open_store
from viewer.stores.search.pages import PageRequest
from viewer.stores.search.query import parse

from .views import SearchForm, filter_groups, form_of, search_filter

COUNTED = 100  # hits that are counted; above that the page says that there are more
SECONDS = 1.0  # for all choices of the filters together; choices after that have no number


@require_safe
@shows_refusals
def total(request: HttpRequest) -> HttpResponse:
    """How many messages match in the session of the address, as a sentence."""
    form = form_of(request.GET)
    stores = [store for store in listed_stores(request, form.store) if form.store in ("", store.name)]
    number, more = _count(form, stores)
    words = f"more than {number:,} messages" if more else formats.counted(number, "message")
    return HttpResponse(words, content_type="text/plain; charset=utf-8")


@require_safe
@shows_refusals
def facets(request: HttpRequest) -> HttpResponse:
    """The filters of the search with the number of messages for each choice, without choices that find none."""
    form = form_of(request.GET)
    stores = listed_stores(request, form.store)
    kinds = lines.kinds_of(sync.store_listings(stores))
    groups = tuple(_counted(tuple(filter_groups(form, stores, kinds)), stores))
    return page(request, "search/_facets.html", groups)


def _counted(groups: Sequence[Group], stores: Sequence[Store]) -> Iterator[Group]:
    until = time.monotonic() + SECONDS
    for group in groups:
        links = []
        for link in group.links:
            if group.name != "Order" and time.monotonic() < until:
                form = form_of(QueryDict(link.href.removeprefix("?")))
                number, more = _count(form, [store for store in stores if form.store in ("", store.name)])
                link = replace(link, count=f"{number:,}{'+' if more else ''}")
            links.append(link)
        yield replace(group, links=tuple(link for link in links if link.count != "0" or link.current))


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
