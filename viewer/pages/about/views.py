"""The page about this site: a compaction in one figure, a first try in a minute, and the special words."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from compaction.strategy import Summary
from viewer.pages.http import page
from viewer.pages.preferences import first_session
from viewer.rendering.templatetags.palimpsest import TERMS


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    return page(request, "about/about.html", {"start": first_session(), "choice": Summary.label, "terms": TERMS})
