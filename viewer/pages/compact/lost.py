"""All that the summary of a run loses, as a separate page, and page by page in the list of a candidate."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, page, shows_refusals, start_of, tab
from viewer.pages.parts.losses import lost_heading, lost_page, put_into
from viewer.pages.parts.run_card import run_card
from viewer.pages.redaction import redacts
from viewer.runs import service
from viewer.web.session_urls import SessionUrls


@require_safe
@shows_refusals
def lost(request: HttpRequest, run_id: int) -> HttpResponse:
    """The list `from` a position on; `putting`: each line can be put into the candidate's summary."""
    run, href = service.get_run(run_id), reverse("pages:lost", args=[run_id])
    report, start = run.report or {}, start_of(request)
    listed = lost_page(report, SessionUrls(run.store, run.session_id), href, start, put_into(run))
    putting = run.status == "ready" and "putting" in request.GET
    data = {"list": listed, "putting": run_card(run, redacting=redacts(request)) if putting else None}
    if is_fragment(request):
        return page(request, f"boundary/{'_further_lost' if start else '_lost_groups'}.html", data)
    back = {"name": f"Run {run_id}", "back": reverse("pages:run", args=[run_id])}
    return tab(request, "boundary/_details.html", data, heading=lost_heading(report), **back)
