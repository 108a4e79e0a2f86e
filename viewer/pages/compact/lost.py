"""All that the summary of a run loses, as a separate page, and page by page in the lists of a candidate."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, page, shows_refusals, start_of, tab
from viewer.pages.parts.losses import LISTS, LostList, lost_heading, lost_lists, lost_page
from viewer.pages.parts.run_card import run_card
from viewer.pages.redaction import redacts
from viewer.runs import drafts, service
from viewer.runs.models import Run
from viewer.web.session_urls import SessionUrls

from .candidate import puttable


@require_safe
@shows_refusals
def lost(request: HttpRequest, run_id: int) -> HttpResponse:
    """All lists, or with `list` and `from` a further page of one; `putting`: each can be put into the candidate's
    summary.
    """
    run, which, start = service.get_run(run_id), request.GET.get("list", ""), start_of(request)
    noted, href = run.report or {}, reverse("pages:lost", args=[run_id])
    all_lists = lost_lists(noted, SessionUrls(run.store, run.session_id), href, start)
    lists = tuple(each for each in all_lists if not which or each.name == which)
    if which in LISTS and lists and is_fragment(request):
        putting = run.status == "ready" and which in drafts.LISTS and "putting" in request.GET
        more = _putting(request, run, lists[0], start) if putting else lists[0]
        return page(request, "boundary/_more_lost.html", more)
    back = {"name": f"Run {run_id}", "back": reverse("pages:run", args=[run_id])}
    return tab(request, "boundary/_details.html", lost_page(noted, lists), heading=lost_heading(noted), **back)


def _putting(request: HttpRequest, run: Run, more: LostList, start: int) -> dict[str, Any]:
    card = run_card(run, redacting=redacts(request))
    named = puttable(run, more.named, more.name, card.text, start)
    more_href = f"{more.next}&putting=1" if more.next else ""
    return {"named": named, "next": more_href, "left": more.left, "putting": card}
