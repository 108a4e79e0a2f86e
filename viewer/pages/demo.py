"""Whether lists show the demo store: while no other has a session, else by a switch that the browser remembers."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from viewer.catalog import sync
from viewer.catalog.lines import have_sessions, named_tip
from viewer.pages.filters import Link
from viewer.pages.switches import remembered, way_back
from viewer.stores.base import Store
from viewer.stores.registry import all_stores
from viewer.web.session_urls import SessionUrls

COOKIE = "palimpsest_demo"
FIRST = "Stocktaking, ten warehouses"  # almost fills its model's window


def listed_stores(request: HttpRequest, named: str = "") -> list[Store]:
    """The stores that lists are about: all, or all but the demo store. A store that is `named` is one of them."""
    stores = all_stores()
    return stores if is_asked_for(request) else real_stores(stores, named)


def is_asked_for(request: HttpRequest) -> bool:
    """Whether the switch is on."""
    return request.COOKIES.get(COOKIE) == "1"


def real_stores(stores: Sequence[Store], named: str = "") -> list[Store]:
    """Without the demo store, unless it is `named` or no other has a session."""
    if not have_sessions([store for store in stores if not store.is_managed]):
        return list(stores)
    return [store for store in stores if not store.is_managed or store.name == named]


def first_session() -> Link | None:
    """The demo session to try a compaction on; it may have been renamed or deleted."""
    for listing in sync.store_listings([store for store in all_stores() if store.is_managed]):
        if found := named_tip(listing, FIRST):
            return Link(FIRST, SessionUrls(listing.store.name, found.session_id).href)
    return None


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Show the demo store in lists, or hide it, and go back to the page the switch was on."""
    return remembered(redirect(way_back(request)), COOKIE, "1" if request.POST.get("demo") == "1" else "")
