"""The command palette's page, and the list that its dialog asks for while somebody types."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.preferences import listed_stores, theme, way_here
from viewer.pages.redaction import redacts
from viewer.rendering.texts import line

from .entries import Asker, PaletteGroup, groups, session_at

LONGEST = 200  # characters that are looked for


@dataclass(frozen=True, slots=True)
class Palette:
    """The words, the page from which they were asked, and what there is for them."""

    q: str
    at: str
    groups: tuple[PaletteGroup, ...]


@require_safe
@shows_refusals
def palette(request: HttpRequest) -> HttpResponse:
    at = way_here(request) if is_fragment(request) else request.GET.get("at", "")
    q = line(request.GET.get("q", ""), LONGEST)
    data = Palette(q, at, groups(Asker(q, session_at(at), listed_stores(request), theme(request), redacts(request))))
    return page(request, "palette/_found.html" if is_fragment(request) else "palette/palette.html", data)
