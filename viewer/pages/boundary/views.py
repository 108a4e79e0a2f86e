"""The tabs of a boundary: the messages it summarised and kept, the details it lost, the changes to its summary."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.pages.http import is_fragment, page, shows_refusals, start_of, tab
from viewer.pages.parts.boundary import earlier_boundary, find, listed_messages, shown_change, summary_of
from viewer.pages.parts.losses import lost_heading, lost_page
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.redaction import redacts, text_for
from viewer.rendering import diffs, formats
from viewer.runs.detail_loss import losses
from viewer.stores.errors import NotFound
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


def _list(request: HttpRequest, urls: SessionUrls, handoff_id: int, which: str) -> HttpResponse:
    start = start_of(request)
    with open_store(get_store(urls.store)) as reader:
        opened = open_session(reader, urls.session, redacting=redacts(request))
        boundary = find(opened, handoff_id)
        ids, explained = (boundary.kept_ids, KEPT) if which == "kept" else (boundary.summarised_ids, SUMMARISED)
        href, shortened = urls.listed(handoff_id, which), set(boundary.shortened_ids)
        listed = listed_messages(opened, ids, href, explained, start=start, shortened=shortened)
    fragment = "boundary/_more_listed.html" if start and is_fragment(request) else "boundary/_list.html"
    heading = f"{formats.counted(len(ids), 'message')} {'kept' if which == 'kept' else 'summarised away'}"
    return tab(request, fragment, listed, heading=heading, **_back(opened, handoff_id))


@require_safe
@shows_refusals
def details(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """All that a compaction lost, its list `from` a position on; with `count` only how many lines, for the tab."""
    start = start_of(request)
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        report = losses(reader, opened.session.id, opened.index, find(opened, handoff_id))
        keeping = reader.append_refusal(opened.session.id) is None
    listed = lost_page(report, opened.urls, opened.urls.listed(handoff_id, "details"), start)
    if is_fragment(request) and "count" in request.GET:
        return page(request, "boundary/_lost_label.html", listed.losses)
    data = {"list": listed, "putting": None, "keeping": keeping}
    if is_fragment(request) and start:
        return page(request, "boundary/_further_lost.html", data)
    return tab(request, "boundary/_details.html", data, heading=lost_heading(report), **_back(opened, handoff_id))


@require_safe
@shows_refusals
def update(request: HttpRequest, store: str, session_id: str, handoff_id: int) -> HttpResponse:
    """What the summary of a later compaction changed in the one before it."""
    with open_store(get_store(store)) as reader:
        opened = open_session(reader, session_id, redacting=redacts(request))
        earlier = earlier_boundary(opened.index, find(opened, handoff_id))
        if earlier is None:
            raise NotFound("This is the first summary of the session, so it changes no earlier one.")
        old, new = (
            text_for(request, summary_of(reader, opened.session.id, row_id))
            for row_id in (earlier.handoff_id, handoff_id)
        )
    change = shown_change(diffs.between(old, new)) if old != new else None
    data, back = {"change": change}, _back(opened, handoff_id)
    return tab(request, "boundary/_update.html", data, heading="Changes to the summary", **back)


def _back(opened: OpenSession, handoff_id: int) -> dict[str, str]:
    """Name and address of the page that a tab leads back to."""
    return {"name": opened.session.name, "back": opened.urls.boundary(handoff_id)}
