"""The session page: History in windows, each message once, with the boundaries of its compactions between them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseClientRedirect

from viewer.history import records
from viewer.pages import preferences
from viewer.pages.http import is_fragment, page, shows_refusals, whole_number
from viewer.pages.parts.audits import audited, card
from viewer.pages.parts.compact_panel import panel
from viewer.pages.parts.opened import OpenSession, open_session, without_boundary
from viewer.pages.redaction import redacts
from viewer.stores.errors import AlreadyUndone, NotFound
from viewer.stores.registry import get_store, open_store
from viewer.stores.transcript import HistoryWindow, TranscriptIndex
from viewer.web.session_urls import SessionUrls

from . import filters
from .contents import contents
from .find import find_panel, typed
from .header import header
from .window import WINDOW, Sought, Stretch, read_stretch, sought, whole_groups

FEW = 8  # items that may not fill a screen: folded work is one line
MOST_MORE = 2  # windows that are added then; what follows loads as it comes near

NOT_THERE = "No message here has the id #{}: it was taken back, or never part of this session. This is the nearest one."


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """The window in the query: row ids, at most one of them; `words` to be marked in it; `only` is a filter's name."""

    around: int | None = None
    before: int | None = None
    after: int | None = None
    words: str = ""
    only: str = ""


@require_safe
@shows_refusals
def session(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    query, redacting = _query(request), redacts(request)
    is_for_field = is_fragment(request) and "at" in request.GET
    with open_store(get_store(store)) as reader:
        newest = reader.newest_part(session_id)
        if newest != session_id:
            elsewhere = _elsewhere(SessionUrls(store, newest), query)
            return HttpResponseClientRedirect(elsewhere) if is_for_field else redirect(elsewhere)
        opened = audited(open_session(reader, session_id, redacting=redacting))
        going = sought(request, opened, query.only)
        if is_for_field:
            return _answer(request, going)
        if moved := going.href or _moved(opened, query):
            return redirect(moved)
        missing = query.around if query.around is not None and not _is_there(opened.index, query.around) else None
        if missing is not None:
            going = Sought(f"#{missing}", problem=NOT_THERE.format(missing))
            query = replace(query, around=_nearest(opened.index, missing))
        window = _window(opened, query)
        stretch = read_stretch(opened, window, query.around, redacting=redacting, words=query.words, only=query.only)
        if query.around is not None and not query.only and not is_fragment(request):
            window, stretch = _filled(opened, window, stretch, query, redacting=redacting)
        if is_fragment(request) and (query.before or query.after):
            side = "session/_earlier.html" if query.before else "session/_later.html"
            return page(request, side, stretch)
        data = {
            "header": header(opened),
            "contents": contents(opened, _whereabouts(opened.index, window) if query.only else window),
            "stretch": stretch,
            "panel": panel(reader, opened.session, in_context=len(opened.index.live), redacting=redacting),
            "find": find_panel(opened, query.words, query.around),
            "filters": filters.filter_links(opened, query.only),
            "lists": filters.lists(opened),
            "only": filters.FILTERS.get(query.only),
            "only_count": filters.count(opened, query.only) if query.only else 0,
        }
    at_newest = query == WindowQuery(words=query.words, only=query.only) and not going.problem
    data["keeps"] = f"&only={query.only}" if query.only else ""
    data |= {"at_newest": at_newest, "sought": going, "aftermath": card(opened)}
    answer = page(request, "session/session.html", data, status=200 if missing is None else 404)
    return preferences.noted_opened(request, answer)


def _answer(request: HttpRequest, going: Sought) -> HttpResponse:
    """What *Go to* answers to a script: where to go, or the field with what is wrong, if anything was typed; the page
    stays as it is.
    """
    if going.href:
        return HttpResponseClientRedirect(going.href)
    return page(request, "session/_seek.html", {"sought": going}, status=422 if going.problem else 200)


def _query(request: HttpRequest) -> WindowQuery:
    row_ids = {name: whole_number(request.GET.get(name, "")) for name in ("around", "before", "after")}
    only = request.GET.get("only", "")
    return WindowQuery(**row_ids, words=typed(request), only=only if only in filters.FILTERS else "")


def _elsewhere(urls: SessionUrls, query: WindowQuery) -> str:
    return urls.view() if query.around is None else urls.message(query.around, query.words)


# -- windows ---------------------------------------------------------------------------------------------------------


def _moved(opened: OpenSession, query: WindowQuery) -> str:
    """The address of the message that a row belongs to, or of where a compaction was that is undone; "" if the row's id
    is the message's, or that of a handoff in effect, or if there is nothing like it. Raises NotFound in a session
    without messages.
    """
    index, urls, around = opened.index, opened.urls, query.around
    if around is None or index.boundary_at(around) is not None:
        return ""
    message_id = index.message_of(around)
    if message_id is not None:
        return "" if message_id == around else urls.message(message_id, query.words)
    undone = records.not_there(urls.store, urls.session, around)
    if isinstance(undone, AlreadyUndone):
        return without_boundary(index, urls, undone.cut_id)
    if not index.messages:
        raise NotFound(f"Message {around} is not here: this session has no messages.")
    return ""


def _is_there(index: TranscriptIndex, row_id: int) -> bool:
    return index.boundary_at(row_id) is not None or index.message_of(row_id) is not None


def _nearest(index: TranscriptIndex, row_id: int) -> int:
    """The id of the message whose id is nearest."""
    return min((index.entry(place).id for place in range(index.messages)), key=lambda each: abs(each - row_id))


def _whereabouts(index: TranscriptIndex, window: HistoryWindow) -> HistoryWindow:
    """The place in History where a window of a filter begins, without messages."""
    place = 0 if window.first is None else index.place_of(window.first) or 0
    return HistoryWindow((), earlier=place, later=index.messages - place)


def _window(opened: OpenSession, query: WindowQuery) -> HistoryWindow:
    index, around, before = opened.index, query.around, query.before
    if query.only:
        return filters.window(opened, query.only, around=around, before=before, after=query.after, limit=WINDOW)
    boundary = None if around is None else index.boundary_at(around)
    if boundary is not None:
        around = index.entry(boundary.place).id if boundary.place < index.messages else None
    return whole_groups(index, *index.range(around=around, before=before, after=query.after, limit=WINDOW))


def _filled(
    opened: OpenSession, window: HistoryWindow, stretch: Stretch, query: WindowQuery, *, redacting: bool
) -> tuple[HistoryWindow, Stretch]:
    """With the windows after it while folded work leaves only few lines, so that the first screen has no void."""
    for _ in range(MOST_MORE):
        if len(stretch.items) >= FEW or not window.later:
            break
        more = _window(opened, WindowQuery(after=window.last))
        rest = read_stretch(opened, more, query.around, redacting=redacting, words=query.words)
        stretch = replace(rest, items=stretch.items + rest.items, earlier=stretch.earlier)
        window = HistoryWindow(window.items + more.items, earlier=window.earlier, later=more.later)
    return window, stretch
