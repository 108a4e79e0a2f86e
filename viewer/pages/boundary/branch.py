"""*Branch from here*: what the new session would contain, then creating it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.redaction import session_for
from viewer.runs import branching
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def branch(request: HttpRequest, store: str, session_id: str, handoff_id: int | None = None) -> HttpResponse:
    if request.method != "POST":
        data = _page(request, SessionUrls(store, session_id), handoff_id)
        return page(request, "boundary/_branch.html" if is_fragment(request) else "boundary/branch.html", data)
    branch_urls = SessionUrls(store, branching.branch(get_store(store), session_id, handoff_id))
    return HttpResponseClientRedirect(branch_urls.href) if is_fragment(request) else redirect(branch_urls.href)


def _page(request: HttpRequest, urls: SessionUrls, before: int | None) -> dict[str, Any]:
    """What a branch would contain: the context before a compaction (`before` is its handoff), or the current one for
    None.
    """
    store = get_store(urls.store)
    with open_store(store) as reader:
        session = session_for(request, reader.session(urls.session))
    return {
        "session": session,
        "address": urls.view("branch") if before is None else urls.listed(before, "branch"),
        "back": urls.view() if before is None else urls.boundary(before),
        "before": before,
        "outlook": branching.outlook(store, urls.session, before),
    }
