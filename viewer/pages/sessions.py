"""The list of sessions of all stores, newest first, narrowed by links in a row and by words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from viewer.store.errors import NotFound, StoreError
from viewer.store.sessions import Order, Session, SessionFilter, choices, list_sessions, sort_key
from viewer.store.stores import Reader, Store, all_stores, open_store

from . import formats, gauge
from .addresses import Place
from .answers import is_fragment, page, shows_refusals
from .header import in_context, is_active, times
from .texts import line

PAGE = 40
ORDERS = {"recent": "last active", "created": "started", "messages": "messages in context"}
STATES = {"": "not archived", "open": "open", "ended": "ended", "archived": "archived"}
FIRST = "Lisbon in October, five people and a dog"  # a session of the demo store that shows most there is to see
Compacted = Literal["", "yes", "no"]
_NEXT = "\x01"  # the smallest text after an id: sorts directly behind it and before every longer one


@dataclass(frozen=True, slots=True)
class Asked:
    """The query of the list: a filter of the store room, one store or all, and where an earlier page ended."""

    filter: SessionFilter
    store: str = ""
    after: tuple[float, str, str] | None = None  # sort value, session id, store


@dataclass(frozen=True, slots=True)
class Line:
    """One session in the list."""

    href: str
    name: str
    store: str
    source: str
    model: str
    parts: int
    tokens: SafeString
    share: str
    context: str
    compacted: str
    last_active: SafeString
    active_now: bool
    ended: bool
    archived: bool


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Group:
    """One row of filter links."""

    name: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class StoreLine:
    """A store as the list introduces it: why it is open, or why it cannot be read. `start` is the address of a good
    first session, "" where there is none.
    """

    name: str
    why: str
    problem: str
    start: str = ""
    start_name: str = ""


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """`more` is the address of the next lines, "" at the end. `narrowed` says that a filter or words are set,
    `filtered` that a filter is.
    """

    q: str
    hidden: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]
    stores: tuple[StoreLine, ...]
    lines: tuple[Line, ...]
    more: str
    narrowed: bool
    filtered: bool
    several_stores: bool


@require_safe
@shows_refusals
def sessions(request: HttpRequest) -> HttpResponse:
    asked = asked_for(request.GET)
    stores = all_stores()
    if asked.store and asked.store not in {store.name for store in stores}:
        raise NotFound(f"There is no store named {asked.store!r}.")
    found = [find(store, asked) for store in stores if asked.store in ("", store.name)]
    lines, more = merged(found, asked)
    data = SessionsPage(
        q=asked.filter.q,
        hidden=tuple(pair for pair in query_of(asked) if pair[0] != "q"),
        groups=tuple(_groups(asked, stores, found)),
        stores=tuple(_store_line(each) for each in found),
        lines=tuple(lines),
        more=more,
        narrowed=bool([name for name, _ in query_of(asked) if name != "order"]),
        filtered=bool([name for name, _ in query_of(asked) if name not in ("order", "q")]),
        several_stores=len(stores) > 1,
    )
    return page(
        request, "sessions/_lines.html" if is_fragment(request) and asked.after else "sessions/sessions.html", data
    )


# -- the query -------------------------------------------------------------------------------------------------------


def asked_for(query: QueryDict) -> Asked:
    """What the address asks for; values that mean nothing are left out."""
    state, order = query.get("state", ""), query.get("order", "")
    compacted = {"yes": True, "no": False}.get(query.get("compacted", ""))
    wanted = SessionFilter(
        q=line(query.get("q", ""), 200),
        source=query.get("source", ""),
        model=query.get("model", ""),
        state=cast(Literal["", "open", "ended", "archived"], state if state in STATES else ""),
        compacted=compacted,
        order=cast(Order, order if order in get_args(Order) else "recent"),
    )
    return Asked(wanted, query.get("store", ""), _cursor(query.get("after", "")))


def _cursor(text: str) -> tuple[float, str, str] | None:
    value, _, rest = text.partition("~")
    store, _, session_id = rest.partition("~")
    try:
        return (float(value), session_id, store) if session_id else None
    except ValueError:
        return None


def query_of(asked: Asked, **changes: str) -> list[tuple[str, str]]:
    """The address's query with some values changed; the place in the list is left out."""
    wanted = asked.filter
    compacted = "" if wanted.compacted is None else "yes" if wanted.compacted else "no"
    pairs = {
        "q": wanted.q,
        "store": asked.store,
        "source": wanted.source,
        "model": wanted.model,
        "state": wanted.state,
        "compacted": compacted,
        "order": "" if wanted.order == "recent" else wanted.order,
    }
    return [(name, value) for name, value in {**pairs, **changes}.items() if value]


def _groups(asked: Asked, stores: Sequence[Store], found: Sequence[Found]) -> Iterator[Group]:
    sources = sorted({source for each in found for source in each.sources})
    models = sorted({model for each in found for model in each.models})
    current = dict(query_of(asked))
    for name, title, options in (
        ("store", "Store", {"": "all", **{store.name: store.name for store in stores}}),
        ("source", "Source", {"": "all", **{source: source for source in sources}}),
        ("model", "Model", {"": "all", **{model: model for model in models}}),
        ("state", "State", STATES),
        ("compacted", "Compacted", {"": "either", "yes": "yes", "no": "no"}),
        ("order", "Order by", {"" if value == "recent" else value: label for value, label in ORDERS.items()}),
    ):
        if len(options) > 2 or current.get(name):
            yield Group(title, tuple(_link(asked, name, value, label) for value, label in options.items()))


def _link(asked: Asked, name: str, value: str, label: str) -> Link:
    query = urlencode(query_of(asked, **{name: value}))
    chosen = dict(query_of(asked)).get(name, "")
    return Link(line(label, 40), f"?{query}" if query else "?", chosen == value)


# -- the stores --------------------------------------------------------------------------------------------------------

Key = tuple[float, str, str]  # sort value, session id, store


@dataclass(frozen=True, slots=True)
class Found:
    """What one store gave: its next sessions, its sources and models, or why it gave none; of the demo store also the
    session to start with.
    """

    store: Store
    sessions: tuple[Session, ...] = ()
    sources: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    problem: str = ""
    first: Session | None = None


def find(store: Store, asked: Asked) -> Found:
    """The next sessions of one store. A store that cannot be read must not hide the others."""
    try:
        with open_store(store) as reader:
            listed = list_sessions(reader, asked.filter, PAGE + 1, _after(store, asked.after))
            sources, models = choices(reader)
            first = _first(reader)
    except StoreError as problem:
        return Found(store, problem=problem.message)
    return Found(store, tuple(listed), tuple(sources), tuple(models), first=first)


def _first(reader: Reader) -> Session | None:
    """The demo session that a visitor had best look at first; it may have been renamed."""
    if reader.store.origin != "demo":
        return None
    named = list_sessions(reader, SessionFilter(q=FIRST), PAGE)
    return next((session for session in named if session.name == FIRST), None)


def _after(store: Store, after: Key | None) -> tuple[float, str] | None:
    """The key behind which this store goes on. Copies of one database hold equal keys: the name decides."""
    if after is None:
        return None
    value, session_id, last_store = after
    return (value, session_id + _NEXT) if store.name < last_store else (value, session_id)


def merged(found: Sequence[Found], asked: Asked) -> tuple[list[Line], str]:
    """One page of the sessions of all stores in one order, and the address of the next."""
    keyed = [
        ((*sort_key(session, asked.filter.order), each.store.name), session)
        for each in found
        for session in each.sessions
    ]
    keyed.sort(key=lambda pair: pair[0], reverse=True)
    shown = keyed[:PAGE]
    lines: dict[Key, Line] = {}
    for each in found:
        lines |= _lines(each.store, [pair for pair in shown if pair[0][2] == each.store.name])
    more = ""
    if len(keyed) > PAGE:
        value, session_id, store = shown[-1][0]
        more = f"?{urlencode([*query_of(asked), ('after', f'{value!r}~{store}~{session_id}')])}"
    return [lines[key] for key, _ in shown if key in lines], more


def _lines(store: Store, sessions: Sequence[tuple[Key, Session]]) -> dict[Key, Line]:
    """The lines of one store's sessions; none when the store went away since they were listed."""
    if not sessions:
        return {}
    try:
        with open_store(store) as reader:
            return {key: _line(reader, session) for key, session in sessions}
    except StoreError:
        return {}


def _line(reader: Reader, session: Session) -> Line:
    counts = gauge.totals(reader, session)
    filled = gauge.context_gauge(reader, session, sample=gauge.SAMPLE)
    return Line(
        href=Place(reader.store.name, session.id).href,
        name=line(session.name, 120),
        store=reader.store.name,
        source=line(session.source, 30),
        model=line(session.model, 40),
        parts=session.parts,
        tokens=formats.of_window(filled.tokens, filled.window, about=filled.about),
        share=f"{100 * filled.share:.1f}",
        context=in_context(counts),
        compacted=f"compacted {times(counts.compactions)}" if counts.compactions else "",
        last_active=formats.ago(session.last_active),
        active_now=is_active(session),
        ended=session.ended_at is not None,
        archived=session.archived,
    )


def _store_line(found: Found) -> StoreLine:
    store, first = found.store, found.first
    start = Place(store.name, first.id).href if first else ""
    return StoreLine(store.name, why_open(store), found.problem, start, first.name if first else "")


def why_open(store: Store) -> str:
    """Why this store is listed, for somebody who sees the site for the first time."""
    return {
        "configured": "named in PALIMPSEST_STORES",
        "found": f"found at {store.place}",
        "demo": "examples written for this site; nothing in it is real",
    }[store.origin]
