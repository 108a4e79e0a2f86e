"""Settings in a browser's cookies: the theme, whether secrets are redacted, whether lists show the demo store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from viewer.catalog import sync
from viewer.catalog.lines import have_sessions, named_tip
from viewer.pages import redaction
from viewer.pages.filters import Link
from viewer.pages.http import is_fragment, page
from viewer.stores.base import Store
from viewer.stores.registry import all_stores
from viewer.web.auth import load_kept_pages_anew
from viewer.web.session_urls import SessionUrls

Response = TypeVar("Response", bound=HttpResponseBase)
YEAR = 365 * 24 * 3600
THEME_COOKIE, DEMO_COOKIE, OPENED_COOKIE = "palimpsest_theme", "palimpsest_demo", "palimpsest_opened"
THEMES = {"": "System", "light": "Light", "dark": "Dark"}
FIRST = "Stocktaking, ten warehouses"  # almost fills its model's window


def way_back(request: HttpRequest) -> str:
    """The address within this site that a form sends as `next`; the list of sessions if it sends none."""
    back = request.POST.get("next", "")
    safe = back.startswith("/") and url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    return back if safe else reverse("pages:sessions")


def remembered(response: Response, cookie: str, value: str) -> Response:
    """The response, with a cookie that stores this value of a switch, or deletes it for ""."""
    if value:
        response.set_cookie(
            cookie, value, max_age=YEAR, httponly=True, samesite="Lax", path=settings.SESSION_COOKIE_PATH
        )
    else:
        response.delete_cookie(cookie, samesite="Lax", path=settings.SESSION_COOKIE_PATH)
    return response


# -- the theme ---------------------------------------------------------------------------------------------------------


def theme(request: HttpRequest) -> str:
    """ "light", "dark", or "" for the system's theme; from a cookie, so that no page flashes."""
    value = request.COOKIES.get(THEME_COOKIE, "")
    return value if value in THEMES else ""


def site(request: HttpRequest) -> dict[str, Any]:
    """Template context of every page: the `theme` in use, all `themes` with their labels, the site's `version`, and
    `here`, the address that leads back to the page.
    """
    return {"theme": theme(request), "themes": THEMES, "version": settings.VERSION, "here": way_here(request)}


def way_here(request: HttpRequest) -> str:
    """The address of the page that somebody sees, without a fragment: the one from which htmx asks, or that of the
    request; the list of sessions for the response to a form.
    """
    from_page = ""
    with suppress(ValueError):  # an invalid address, which no browser sends
        from_page = request.htmx.current_url_abs_path or ""  # type: ignore[attr-defined]  # set by django-htmx
    from_page = from_page.partition("#")[0]
    return from_page or (request.get_full_path() if request.method in ("GET", "HEAD") else reverse("pages:sessions"))


@require_POST
def switch_theme(request: HttpRequest) -> HttpResponse:
    """Set a theme. htmx gets the switch again, with an event that applies the theme; others go back to the page."""
    chosen = request.POST.get("theme", "")
    chosen = chosen if chosen in THEMES else ""
    response: HttpResponse = redirect(way_back(request))
    if is_fragment(request):
        response = trigger_client_event(page(request, "_theme.html", chosen), "theme", {"value": chosen})
    return remembered(response, THEME_COOKIE, chosen)


# -- redaction ---------------------------------------------------------------------------------------------------------


@require_POST
def switch_redaction(request: HttpRequest) -> HttpResponse:
    """Redact, or show what is redacted, and go back to the page of the switch."""
    response = load_kept_pages_anew(redirect(way_back(request)))
    return remembered(response, redaction.COOKIE, "1" if request.POST.get("redact") == "1" else "")


# -- a first visit -----------------------------------------------------------------------------------------------------


def has_opened(request: HttpRequest) -> bool:
    """Whether this browser has opened a session: then the list explains itself in one line."""
    return request.COOKIES.get(OPENED_COOKIE) == "1"


def noted_opened(request: HttpRequest, response: Response) -> Response:
    """The response, with that cookie where this browser does not have it."""
    return response if has_opened(request) else remembered(response, OPENED_COOKIE, "1")


# -- the demo store ----------------------------------------------------------------------------------------------------


def listed_stores(request: HttpRequest, named: str = "") -> list[Store]:
    """The stores of lists: all, or all but the demo store. A store that is `named` is always included."""
    stores = all_stores()
    return stores if is_demo_shown(request) else real_stores(stores, named)


def is_demo_shown(request: HttpRequest) -> bool:
    """Whether this browser wants the demo store in lists; otherwise it is listed while no other store has a session."""
    return request.COOKIES.get(DEMO_COOKIE) == "1"


def real_stores(stores: Sequence[Store], named: str = "") -> list[Store]:
    """The stores without the demo store, unless it is `named` or no other has a session."""
    if not have_sessions([store for store in stores if not store.is_managed]):
        return list(stores)
    return [store for store in stores if not store.is_managed or store.name == named]


def first_session() -> Link | None:
    """The demo session for a first compaction; None if it was renamed or deleted."""
    for listing in sync.store_listings([store for store in all_stores() if store.is_managed]):
        if session := named_tip(listing, FIRST):
            return Link(FIRST, SessionUrls(listing.store.name, session.session_id).href)
    return None


@require_POST
def switch_demo(request: HttpRequest) -> HttpResponse:
    """Show the demo store in lists, or hide it, and go back to the page of the switch."""
    return remembered(redirect(way_back(request)), DEMO_COOKIE, "1" if request.POST.get("demo") == "1" else "")
