"""Light or dark: as the system has it, or as this browser was told, in a cookie, so that no page flashes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from viewer.pages.http import is_fragment, page
from viewer.pages.switches import remembered, way_back

COOKIE = "palimpsest_theme"
THEMES = {"": "System", "light": "Light", "dark": "Dark"}


@dataclass(frozen=True, slots=True)
class ThemeChoice:
    """The switch: value, label, and whether it is the one in use, of each theme."""

    options: tuple[tuple[str, str, bool], ...]


def theme(request: HttpRequest) -> str:
    """ "light", "dark", or "" for that of the system."""
    asked = request.COOKIES.get(COOKIE, "")
    return asked if asked in THEMES else ""


def choice(current: str) -> ThemeChoice:
    """The switch while this theme is in use."""
    return ThemeChoice(tuple((value, label, value == current) for value, label in THEMES.items()))


def site(request: HttpRequest) -> dict[str, Any]:
    """Template context of every page: `theme` and its switch, `version`, which stands in pyproject.toml, and `here`,
    the address that leads back to the page.
    """
    used = theme(request)
    return {"theme": used, "themes": choice(used), "version": settings.VERSION, "here": way_here(request)}


def way_here(request: HttpRequest) -> str:
    """The address of the page somebody looks at: that from which htmx asks, or the one that is answered; the list of
    sessions for the answer to a form.
    """
    from_page = ""
    with suppress(ValueError):  # no browser sends an address that is none
        from_page = request.htmx.current_url_abs_path or ""  # type: ignore[attr-defined]  # set by django-htmx
    return from_page or (request.get_full_path() if request.method in ("GET", "HEAD") else reverse("pages:sessions"))


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Take a theme. For htmx the switch anew, with an event that has the page show it; else back to the page."""
    wanted = request.POST.get("theme", "")
    wanted = wanted if wanted in THEMES else ""
    response: HttpResponse = redirect(way_back(request))
    if is_fragment(request):
        response = trigger_client_event(page(request, "_theme.html", choice(wanted)), "theme", {"value": wanted})
    return remembered(response, COOKIE, wanted)
