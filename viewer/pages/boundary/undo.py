"""Undoing a compaction: what it will do, then doing it."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from viewer.pages.http import is_fragment, on_page_of, page, shows_refusals
from viewer.pages.redaction import session_for
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.runs import service
from viewer.stores.registry import get_store
from viewer.web.session_urls import SessionUrls


@dataclass(frozen=True, slots=True)
class UndoPage:
    """What undoing would do. `refusal` says why it cannot be done, `branch` is where to go instead."""

    name: str
    address: str
    back: str
    handoff_id: int
    refusal: str
    branch: str
    messages_before: str
    messages_after: str
    tokens_before: SafeString
    tokens_after: SafeString
    later: str
    warning: str


@require_http_methods(["GET", "HEAD", "POST"])
@shows_refusals
def undo(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    place = SessionUrls(store, session_id)
    if request.method != "POST":
        data = _page(request, place, handoff_id)
        return page(request, "boundary/_undo.html" if is_fragment(request) else "boundary/undo.html", data)
    undone = service.undo(get_store(store), session_id, handoff_id)
    back = place.view() if undone.message_id is None else place.message(undone.message_id)
    if is_fragment(request) and on_page_of(request, place):
        sentence = f"Undone. {formats.counted(undone.context_messages, 'message')} in context again."
        return page(request, "boundary/_undone.html", {"reading": back, "sentence": sentence})
    return HttpResponseClientRedirect(back) if is_fragment(request) else redirect(back)


def _page(request: HttpRequest, place: SessionUrls, handoff_id: int) -> UndoPage:
    outlook = service.outlook(get_store(place.store), place.session, handoff_id)
    return UndoPage(
        name=line(session_for(request, outlook.session).name, 120),
        address=place.listed(handoff_id, "undo"),
        back=place.boundary(handoff_id),
        handoff_id=handoff_id,
        refusal=outlook.refusal,
        branch=place.listed(handoff_id, "branch"),
        messages_before=formats.exact(outlook.context_messages_before),
        messages_after=formats.exact(outlook.context_messages_after),
        tokens_before=formats.number(outlook.context_tokens_before, "tokens"),
        tokens_after=formats.number(outlook.context_tokens_after, "tokens"),
        later=formats.counted(outlook.later_messages, "later message stays", "later messages stay")
        if outlook.later_messages
        else "",
        warning=outlook.warning,
    )
