"""The HTML of one row again, with code in colours: loaded when a fold is opened or a message comes into view."""

from __future__ import annotations

from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, shows_refusals, whole_number
from viewer.pages.redaction import redacted, redacts
from viewer.rendering import cache, calls, highlight
from viewer.stores.message import StoredMessage, live_content
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls

from .rows import row_of


@require_safe
@shows_refusals
def colours(request: HttpRequest, store: str, session_id: str, row_id: int) -> HttpResponse:
    if not is_fragment(request):
        return redirect(SessionUrls(store, session_id).message(row_id))  # a part of a page has no place of its own
    with open_store(get_store(store)) as reader:
        row = row_of(reader, session_id, row_id)
    row = redacted(row) if redacts(request) else row
    shown = _shown(replace(row, content=live_content(row)), SessionUrls(store, session_id), request)
    response = HttpResponse(shown.html.encode("utf-8", "replace"))
    response["Cache-Control"] = "no-store"
    return response


def _shown(row: StoredMessage, urls: SessionUrls, request: HttpRequest) -> cache.RenderedBlocks:
    part, language = request.GET.get("part"), request.GET.get("language", "")
    if part == "result":
        return cache.answered(row, urls, language if highlight.is_known(language) else "", colours=True)
    if part == "call":
        at, row_calls = whole_number(request.GET.get("at", "")), calls.calls_of(row)
        if at is not None and at < len(row_calls):
            return cache.asked(row_calls[at], urls.whole(row.id, "calls"), None, colours=True)
    return cache.said(row, urls, colours=True)
