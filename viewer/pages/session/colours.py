"""The HTML of one row again, with code in colours: loaded when a fold is opened or a message comes into view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, shows_refusals, whole_number
from viewer.pages.redaction import redacted, redacts, session_for
from viewer.rendering import cache, calls, highlight
from viewer.stores.message import StoredMessage, live_content
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls

from .filters import thinking_of
from .rows import row_of


@require_safe
@shows_refusals
def colours(request: HttpRequest, store: str, session_id: str, row_id: int) -> HttpResponse:
    if not is_fragment(request):
        return redirect(SessionUrls(store, session_id).message(row_id))  # a part of a page has no place of its own
    answer = whole_number(request.GET.get("result", ""))
    with open_store(get_store(store)) as reader:
        session = session_for(request, reader.session(session_id))
        rows = [row_of(reader, session_id, each) for each in (row_id, answer) if each is not None]
    row, *results = map(redacted, rows) if redacts(request) else rows
    urls = SessionUrls(store, session_id)
    shown = _shown(replace(row, content=live_content(row)), results, urls, session.cwd, request)
    response = HttpResponse(shown.html.encode("utf-8", "replace"))
    response["Cache-Control"] = "no-store"
    return response


def _shown(
    row: StoredMessage, results: Sequence[StoredMessage], urls: SessionUrls, cwd: str, request: HttpRequest
) -> cache.RenderedBlocks:
    """`results` is the result that notes the change of a call, if the request names it."""
    part, language = request.GET.get("part"), request.GET.get("language", "")
    if part == "reasoning":
        return cache.said(thinking_of(row), urls, part=part, colours=True)
    if part == "result":
        return cache.answered(row, urls, language if highlight.is_known(language) else "", colours=True)
    if part == "call":
        at, row_calls = whole_number(request.GET.get("at", "")), calls.calls_of(row)
        if at is not None and at < len(row_calls):
            call, whole = row_calls[at], urls.whole(row.id, "calls")
            noted = "".join(calls.noted(call, each) for each in results)
            return cache.asked(call, whole, None, cwd=cwd, noted=noted, colours=True)
    return cache.said(row, urls, colours=True)
