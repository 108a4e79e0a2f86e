"""The session page: History in windows, each message once, with the boundaries of its compactions between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from compaction import messages as engine
from viewer.runs.ours import known_blocks
from viewer.runs.undoing import refusal_to_undo
from viewer.store import counting, reading
from viewer.store.alignment import LightRow
from viewer.store.errors import NotFound
from viewer.store.history import Boundary, Entry, History, build
from viewer.store.light import light_rows
from viewer.store.reading import Handoff, Window
from viewer.store.sessions import Session, get_session, tip
from viewer.store.stores import Reader, get_store, open_store

from . import compact, formats
from .addresses import Place
from .answers import is_fragment, page, shows_refusals
from .boundary import Compacted, ShownBoundary, shown_boundary
from .contents import Contents, contents
from .gauge import weights
from .header import Header, header
from .messages import Message, Reading, of_history, shown

WINDOW = 60
GROUP_LIMIT = 60  # messages by which a window may grow so that a call and its results are not torn apart


@dataclass(frozen=True, slots=True)
class More:
    """A neighbouring window: how many messages there are on that side, and its address."""

    count: str
    href: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """A window of History: messages and boundaries in order, and what lies on either side of it."""

    items: tuple[Message | ShownBoundary, ...]
    earlier: More | None
    later: More | None


@dataclass(frozen=True, slots=True)
class SessionPage:
    """The whole page. `newest` is the address of the newest message, "" where History is short."""

    header: Header
    contents: Contents
    stretch: Stretch
    panel: compact.Panel | None
    newest: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which window the query asks for: row ids, at most one of them."""

    around: int | None = None
    before: int | None = None
    after: int | None = None


@require_safe
@shows_refusals
def session(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    wanted = _wanted(request)
    with open_store(get_store(store)) as reader:
        found = get_session(reader, session_id)
        newest = tip(reader, session_id)
        if newest != session_id:
            return redirect(_elsewhere(Place(store, newest), wanted))
        rows = light_rows(reader, session_id)
        history = build(rows, known_blocks(reader, session_id))
        moved = _canonical(history, wanted.around)
        if moved is not None and moved != wanted.around:
            return redirect(Place(store, session_id).message(moved))
        window = _window(history, {row.id: row for row in rows}, wanted)
        stretch = read_stretch(reader, found, history, window, wanted.around)
        if is_fragment(request) and (wanted.before or wanted.after):
            side = "session/_earlier.html" if wanted.before else "session/_later.html"
            return page(request, side, stretch)
        top = header(reader, found)
        listed = contents(history, {row.id: row for row in rows}, window.items, top.place)
    newest_href = _newest(history, window, top.place)
    panel = compact.panel(get_store(store), found)
    return page(request, "session/session.html", SessionPage(top, listed, stretch, panel, newest_href))


def _wanted(request: HttpRequest) -> Wanted:
    asked = {name: _number(request.GET.get(name, "")) for name in ("around", "before", "after")}
    return Wanted(**asked)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _elsewhere(place: Place, wanted: Wanted) -> str:
    return place.view() if wanted.around is None else place.message(wanted.around)


def _newest(history: History, window: Window, place: Place) -> str:
    """The address of the newest message where the page does not show all; within the page if it stands there."""
    if not history.entries or not (window.earlier or window.later):
        return ""
    newest = history.entries[-1].id
    return place.message(newest) if window.later else f"#m{newest}"


# -- windows ---------------------------------------------------------------------------------------------------------


def _canonical(history: History, around: int | None) -> int | None:
    """The message a row id belongs to: any of its rows leads to it. Handoffs stay what they are."""
    if around is None or any(boundary.handoff_id == around for boundary in history.boundaries):
        return around
    found = history.message_of.get(around)
    if found is None:
        raise NotFound(
            f"Message {around} is not shown in this session's History: it was taken back, or never part of it."
        )
    return found


def _window(history: History, rows: dict[int, LightRow], wanted: Wanted) -> Window:
    around = wanted.around
    boundary = next((item for item in history.boundaries if item.handoff_id == around), None)
    if boundary is not None:
        around = boundary.cut_id or _entry_near(history, boundary)
    window = reading.window(history, around=around, before=wanted.before, after=wanted.after, limit=WINDOW)
    return whole_groups(history, rows, window)


def _entry_near(history: History, boundary: Boundary) -> int | None:
    """A message beside a boundary whose tail kept nothing: the next one, else the newest."""
    at = history.items.index(boundary)
    return next((item.id for item in history.items[at:] if isinstance(item, Entry)), None)


def whole_groups(history: History, rows: dict[int, LightRow], window: Window) -> Window:
    """The window, grown so that no tool result stands at either edge without its call."""
    places = [index for index, item in enumerate(history.items) if isinstance(item, Entry)]
    start, stop = window.earlier, len(places) - window.later

    def is_result(number: int) -> bool:
        item = history.items[places[number]]
        return isinstance(item, Entry) and rows[item.full_id].role in engine.RESULT_ROLES

    lowest, highest = max(0, start - GROUP_LIMIT), min(len(places), stop + GROUP_LIMIT)
    while start < stop and start > lowest and is_result(start):
        start -= 1
    while start < stop < highest and is_result(stop):
        stop += 1
    if start == stop:
        return window
    first = places[start - 1] + 1 if start else 0
    last = places[stop - 1] + 1 if stop < len(places) else len(history.items)
    return Window(history.items[first:last], earlier=start, later=len(places) - stop)


def read_stretch(reader: Reader, found: Session, history: History, window: Window, marked: int | None) -> Stretch:
    """The rows of a window as messages and boundaries."""
    place = Place(reader.store.name, found.id)
    items = reading.history_messages(reader, window.items)
    count = counting.counter_for(found.model)
    newest = history.entries[-1].id if history.entries else None
    told = Reading(place, count, marked, newest)
    known = _compacted(reader, found, history) if any(isinstance(item, Handoff) for item in items) else None
    earlier = _more(window.earlier, "earlier message", place.view(before=window.first))
    later = _more(window.later, "later message", place.view(after=window.last))
    return Stretch(tuple(_shown(items, told, known)), earlier, later)


def _more(count: int, noun: str, href: str) -> More | None:
    return More(formats.counted(count, noun), href) if count else None


def _shown(
    items: Sequence[reading.HistoryMessage | Handoff], told: Reading, known: Compacted | None
) -> list[Message | ShownBoundary]:
    """Messages between boundaries; a call finds its result on the other side of none: cuts never tear them apart."""
    result: list[Message | ShownBoundary] = []
    run: list[reading.HistoryMessage] = []
    for item in items:
        if isinstance(item, Handoff) and known is not None:
            result += shown([of_history(message) for message in run], told)
            result.append(shown_boundary(item, told.place, known, told.marked))
            run = []
        elif not isinstance(item, Handoff):
            run.append(item)
    return result + shown([of_history(message) for message in run], told)


def _compacted(reader: Reader, found: Session, history: History) -> Compacted:
    newest = max(boundary.handoff_id for boundary in history.boundaries)
    return Compacted(
        weights=weights(reader, found),
        newest=newest,
        no_undo=refusal_to_undo(reader, found.id, newest, history),
    )
