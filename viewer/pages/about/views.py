"""The page about this site: a compaction in one figure, a first try in a minute, and the special words."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.pages.filters import Link
from viewer.pages.http import page
from viewer.pages.preferences import first_session
from viewer.rendering.templatetags.palimpsest import TERMS


@dataclass(frozen=True, slots=True)
class AboutPage:
    """`start` leads to the demo session to try a compaction on, where the demo is listed."""

    start: Link | None
    terms: tuple[tuple[str, str], ...]


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    terms = tuple((word.capitalize(), meaning) for word, meaning in TERMS.items())
    return page(request, "about/about.html", AboutPage(first_session(), terms))
