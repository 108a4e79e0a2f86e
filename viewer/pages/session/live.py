"""New messages of a session since its page was opened: requested while somebody reads its end."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect

from viewer.history import index_cache
from viewer.pages.http import page, shows_refusals, start_of
from viewer.pages.parts.audits import audited, card
from viewer.pages.parts.opened import open_session
from viewer.pages.redaction import redacts
from viewer.stores.registry import get_store, open_store
from viewer.stores.transcript import TranscriptIndex
from viewer.web.session_urls import SessionUrls

from .contents import new_items
from .header import header
from .window import WINDOW, read_stretch, whole_groups


@dataclass(frozen=True, slots=True)
class Look:
    """What a page shows: its number of messages, the position `start` from which they are shown again, and a digest
    that tells whether they are unchanged.
    """

    seen: int
    start: int
    state: str

    def holds(self, index: TranscriptIndex) -> bool:
        """Whether everything on the page is still in History."""
        return index.messages >= self.seen >= self.start and index.digest(self.seen) == self.state


@require_safe
@shows_refusals
def live(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    look, target_store = _look(request), get_store(store)
    unwritten = index_cache.unwritten(target_store, session_id)
    if unwritten is not None and unwritten.messages == look.seen and look.holds(unwritten):
        return HttpResponse(status=204)
    with open_store(target_store) as reader:
        newest = reader.newest_part(session_id)
        if newest != session_id:
            return HttpResponseClientRedirect(SessionUrls(store, newest).href)
        opened = open_session(reader, session_id, redacting=redacts(request))
        if not look.holds(opened.index) or (not look.seen and opened.index.messages):
            return page(request, "session/_changed.html", opened.urls)
        if opened.index.messages == look.seen:
            return HttpResponse(status=204)
        opened = audited(opened)
        window = whole_groups(opened.index, look.start, min(opened.index.messages, look.seen + WINDOW))
        stretch = read_stretch(opened, window, None, redacting=opened.redacting)
        data = {
            "header": header(opened),
            "stretch": stretch,
            "items": new_items(opened, look.seen, redacting=opened.redacting),
            "aftermath": card(opened),
        }
    response = page(request, "session/_news.html", data)
    if opened.audits:
        response["HX-Trigger"] = "audited"  # for the label of a boundary's tab, if that is on the page
    return response


def _look(request: HttpRequest) -> Look:
    return Look(start_of(request, "seen"), start_of(request, "start"), request.GET.get("state", ""))
