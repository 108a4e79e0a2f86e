"""Undoing a compaction: what it will do, then doing it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from viewer.pages.http import is_fragment, on_page_of, page, shows_refusals
from viewer.pages.redaction import session_for
from viewer.rendering import formats
from viewer.runs import service
from viewer.stores.registry import get_store
from viewer.web.session_urls import SessionUrls


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def undo(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    urls = SessionUrls(store, session_id)
    if request.method != "POST":
        outlook = service.outlook(get_store(store), session_id, handoff_id)
        session = session_for(request, outlook.session)
        data = {"place": urls, "session": session, "handoff_id": handoff_id, "outlook": outlook}
        return page(request, "boundary/_undo.html" if is_fragment(request) else "boundary/undo.html", data)
    undone = service.undo(get_store(store), session_id, handoff_id)
    back = urls.view() if undone.message_id is None else urls.message(undone.message_id)
    if is_fragment(request) and on_page_of(request, urls):
        sentence = f"Undone. {formats.counted(undone.context_messages, 'message')} in context again."
        return page(request, "boundary/_undone.html", {"reading": back, "sentence": sentence, "again": undone.run})
    return HttpResponseClientRedirect(back) if is_fragment(request) else redirect(back)
