"""All tool output that a run would shorten, before and after, as a page."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, page, shows_refusals, start_of, tab
from viewer.pages.parts import shortened as parts
from viewer.pages.redaction import redacts
from viewer.rendering import formats
from viewer.runs import service


@require_safe
@shows_refusals
def shortened(request: HttpRequest, run_id: int) -> HttpResponse:
    outputs = parts.shortened(service.get_run(run_id), start_of(request), redacting=redacts(request))
    if is_fragment(request):
        return page(request, "compact/_more_shortened.html", outputs)
    heading = f"{formats.counted(outputs.total, 'message')} to shorten"
    back = {"name": f"Run {run_id}", "back": reverse("pages:run", args=[run_id])}
    return tab(request, "compact/_shortened.html", outputs, heading=heading, **back)
