"""The session page: History in windows, each message once, with the boundaries of its compactions between them."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from viewer.history import records
from viewer.pages.http import is_fragment, page, shows_refusals, whole_number
from viewer.pages.parts.audits import audited, card
from viewer.pages.parts.compact_panel import panel
from viewer.pages.parts.opened import OpenSession, open_session, without_boundary
from viewer.pages.redaction import redacts
from viewer.stores.errors import AlreadyUndone, NotFound
from viewer.stores.registry import get_store, open_store
from viewer.stores.transcript import HistoryWindow, TranscriptIndex
from viewer.web.session_urls import SessionUrls

from .contents import contents
from .find import found_here, typed
from .header import header
from .window import WINDOW, read_stretch, sought, whole_groups


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which window the query asks for: row ids, at most one of them; and `words` to be marked in it."""

    around: int | None = None
    before: int | None = None
    after: int | None = None
    words: str = ""


@require_safe
@shows_refusals
def session(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    wanted, redacting = _wanted(request), redacts(request)
    with open_store(get_store(store)) as reader:
        newest = reader.newest_part(session_id)
        if newest != session_id:
            return redirect(_elsewhere(SessionUrls(store, newest), wanted))
        found = audited(open_session(reader, session_id, redacting=redacting))
        going = sought(request, found)
        if moved := going.href or _moved(found, wanted):
            return redirect(moved)
        window = _window(found.index, wanted)
        stretch = read_stretch(found, window, wanted.around, redacting=redacting, words=wanted.words)
        if is_fragment(request) and (wanted.before or wanted.after):
            side = "session/_earlier.html" if wanted.before else "session/_later.html"
            return page(request, side, stretch)
        data = {
            "header": header(found),
            "contents": contents(found, window),
            "stretch": stretch,
            "panel": panel(reader, found.session, in_context=len(found.index.live), redacting=redacting),
            "find": found_here(found, wanted.words, wanted.around),
        }
    first, newest = _ends(found.index, window, found.place)
    at_newest = wanted == Wanted(words=wanted.words) and not going.problem
    data |= {"first": first, "newest": newest, "at_newest": at_newest, "sought": going, "aftermath": card(found)}
    return page(request, "session/session.html", data)


def _wanted(request: HttpRequest) -> Wanted:
    asked = {name: whole_number(request.GET.get(name, "")) for name in ("around", "before", "after")}
    return Wanted(**asked, words=typed(request))


def _elsewhere(place: SessionUrls, wanted: Wanted) -> str:
    return place.view() if wanted.around is None else place.message(wanted.around, wanted.words)


def _ends(index: TranscriptIndex, window: HistoryWindow, place: SessionUrls) -> tuple[str, str]:
    """The addresses of the first and the newest message; within the page where they stand there."""
    if not index.messages:
        return "", ""
    first, newest = index.entry(0).id, index.entry(index.messages - 1).id
    return (
        place.message(first) if window.earlier else f"#m{first}",
        place.message(newest) if window.later else f"#m{newest}",
    )


# -- windows ---------------------------------------------------------------------------------------------------------


def _moved(opened: OpenSession, wanted: Wanted) -> str:
    """The address of the message a row belongs to, as any of its rows leads to it; "" where the row is what the message
    is called by, or a handoff that stands. Raises NotFound.
    """
    index, place, around = opened.index, opened.place, wanted.around
    if around is None or index.boundary_at(around) is not None:
        return ""
    found = index.message_of(around)
    if found is not None:
        return "" if found == around else place.message(found, wanted.words)
    undone = records.not_there(place.store, place.session, around)
    if isinstance(undone, AlreadyUndone):
        return without_boundary(index, place, undone.cut_id)
    raise NotFound(f"Message {around} is not shown in this session's History: it was taken back, or never part of it.")


def _window(index: TranscriptIndex, wanted: Wanted) -> HistoryWindow:
    around, before = wanted.around, wanted.before
    boundary = None if around is None else index.boundary_at(around)
    if boundary is not None:
        around = index.entry(boundary.place).id if boundary.place < index.messages else None
    return whole_groups(index, *index.range(around=around, before=before, after=wanted.after, limit=WINDOW))
