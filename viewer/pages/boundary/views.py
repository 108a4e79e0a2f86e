"""The lists behind a boundary's tabs: the messages that a compaction summarised, and those it kept."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, page, shows_refusals, start_of
from viewer.pages.parts.boundary import LISTED, ListPage, find, listed_messages
from viewer.pages.parts.opened import open_session
from viewer.pages.redaction import redacts
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.stores.registry import get_store, open_store
from viewer.web.session_urls import SessionUrls

KEPT = "These stayed in context when this compaction was made."
SUMMARISED = "The summary replaces these. They stay in the store, in History and in search."


@require_safe
@shows_refusals
def summarised(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    return _list(request, SessionUrls(store, session_id), handoff_id, "summarised")


@require_safe
@shows_refusals
def kept(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    return _list(request, SessionUrls(store, session_id), handoff_id, "kept")


def _list(request: HttpRequest, place: SessionUrls, handoff_id: int, which: str) -> HttpResponse:
    start = start_of(request)
    with open_store(get_store(place.store)) as reader:
        found = open_session(reader, place.session, redacting=redacts(request))
        boundary = find(found, handoff_id)
        ids = boundary.kept_ids if which == "kept" else boundary.summarised_ids
        stop = start + LISTED
        items = tuple(listed_messages(found, ids[start:stop], boundary.shortened_ids))
    data = ListPage(
        name=line(found.session.name, 120),
        back=place.boundary(handoff_id),
        heading=f"{formats.counted(len(ids), 'message')} {'kept' if which == 'kept' else 'summarised away'}",
        explained=KEPT if which == "kept" else SUMMARISED,
        items=items,
        next=f"{place.listed(handoff_id, which)}?from={stop}" if stop < len(ids) else "",
        left=formats.counted(max(0, len(ids) - stop), "more message"),
    )
    fragment = "boundary/_more_listed.html" if start else data.fragment
    return page(request, fragment if is_fragment(request) else "boundary/tab.html", data)
