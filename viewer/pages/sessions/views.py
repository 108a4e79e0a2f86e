"""The list of sessions of all stores, newest first, narrowed by links in a row and by words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_safe

from viewer import own_database
from viewer.broken import Broken
from viewer.catalog.lines import Key, Order, SessionFilter, SessionList, page_of_lines, sort_key
from viewer.catalog.sync import StoreListing
from viewer.errors import NotFound
from viewer.pages import demo
from viewer.pages.filters import Group, Link
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.redaction import redacts
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.stores.base import Store

from .lines import SessionLine, shown_lines

PAGE = 40
ORDERS = {"recent": "last active", "created": "started", "messages": "messages in context"}
STATES = {"": "not archived", "open": "open", "ended": "ended", "archived": "archived"}


@dataclass(frozen=True, slots=True)
class ListForm:
    """The query of the list: a filter of the catalog, one store or all, and where an earlier page ended."""

    filter: SessionFilter
    store: str = ""
    after: Key | None = None


@dataclass(frozen=True, slots=True)
class StoreLine:
    """A store as the list introduces it: why it is open, or why it cannot be read."""

    name: str
    why: str
    problem: str
    is_demo: bool


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """`here` is the address of the list, `more` that of the next lines, "" at the end. `narrowed` says that a filter or
    words are set, `filtered` that a filter is; `readable` that any store can be read. `unlisted` says how many sessions
    are still to be listed, "" for none; `behind` why what happened lately may be missing; `broken` are lines that
    cannot be shown. `newcomer` says that there is nothing but the demo yet, and `start` leads to its session to begin
    with; `demo_hidden` that the demo store is left out.
    """

    q: str
    here: str
    hidden: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]
    stores: tuple[StoreLine, ...]
    lines: tuple[SessionLine, ...]
    broken: tuple[Broken, ...]
    more: str
    narrowed: bool
    filtered: bool
    archived: bool
    readable: bool
    unlisted: str
    behind: str
    newcomer: bool
    start: Link | None
    demo_hidden: bool


@require_safe
@shows_refusals
def sessions(request: HttpRequest) -> HttpResponse:
    asked = asked_for(request.GET)
    stores = demo.listed_stores(request, asked.store)
    if asked.store and asked.store not in {store.name for store in stores}:
        raise NotFound(f"There is no store named {asked.store!r}.")
    shown = [store for store in stores if asked.store in ("", store.name)]
    listed = page_of_lines(asked.filter, shown, PAGE, asked.after)
    further = is_fragment(request) and asked.after is not None
    data = _page(asked, [] if further else stores, listed, redacting=redacts(request))
    return page(request, "sessions/_lines.html" if further else "sessions/sessions.html", data)


def _page(asked: ListForm, stores: Sequence[Store], listed: SessionList, *, redacting: bool) -> SessionsPage:
    """The page's data; without stores, that of further lines alone."""
    query = query_of(asked)
    shown, broken = shown_lines(listed, redacting=redacting)
    newcomer = bool(stores) and all(store.is_managed for store in stores) and not asked.store
    return SessionsPage(
        q=asked.filter.q,
        here=f"?{urlencode(query)}",
        hidden=tuple(pair for pair in query if pair[0] != "q"),
        groups=tuple(_groups(asked, stores, listed)) if stores else (),
        stores=tuple(_store_line(shelf) for shelf in listed.shelves) if stores else (),
        lines=shown,
        broken=broken,
        more=_more(asked, listed),
        narrowed=bool([name for name, _ in query if name != "order"]),
        filtered=bool([name for name, _ in query if name not in ("order", "q")]),
        archived=asked.filter.state == "archived",
        readable=any(shelf.state for shelf in listed.shelves),
        unlisted=formats.counted(listed.unlisted, "older session") if listed.unlisted else "",
        behind=own_database.trouble(),
        newcomer=newcomer,
        start=demo.first_session() if newcomer else None,
        demo_hidden=not any(store.is_managed for store in stores),
    )


def _more(asked: ListForm, listed: SessionList) -> str:
    if not listed.more:
        return ""
    value, session_id, number = sort_key(listed.lines[-1], asked.filter.order)
    return f"?{urlencode([*query_of(asked), ('after', f'{value!r}~{number}~{session_id}')])}"


# -- the query ---------------------------------------------------------------------------------------------------------


def asked_for(query: QueryDict) -> ListForm:
    """What the address asks for; values that mean nothing are left out."""
    state, order = query.get("state", ""), query.get("order", "")
    wanted = SessionFilter(
        q=line(query.get("q", ""), 200),
        source=query.get("source", ""),
        model=query.get("model", ""),
        state=cast(Literal["", "open", "ended", "archived"], state if state in STATES else ""),
        compacted={"yes": True, "no": False}.get(query.get("compacted", "")),
        near=query.get("near", "") == "yes",
        delegated=None if query.get("sub-agents", "") == "shown" else False,
        order=cast(Order, order if order in get_args(Order) else "recent"),
    )
    return ListForm(wanted, query.get("store", ""), _cursor(query.get("after", "")))


def _cursor(text: str) -> Key | None:
    value, _, rest = text.partition("~")
    number, _, session_id = rest.partition("~")
    try:
        return (float(value), session_id, int(number)) if abs(int(number)) < 2**63 else None
    except ValueError:
        return None


def query_of(asked: ListForm, **changes: str) -> list[tuple[str, str]]:
    """The address's query with some values changed; the place in the list is left out."""
    wanted = asked.filter
    pairs = {
        "q": wanted.q,
        "store": asked.store,
        "source": wanted.source,
        "model": wanted.model,
        "state": wanted.state,
        "compacted": "" if wanted.compacted is None else "yes" if wanted.compacted else "no",
        "near": "yes" if wanted.near else "",
        "sub-agents": "shown" if wanted.delegated is None else "",
        "order": "" if wanted.order == "recent" else wanted.order,
    }
    return [(name, value) for name, value in {**pairs, **changes}.items() if value]


def _groups(asked: ListForm, stores: Sequence[Store], listed: SessionList) -> Iterator[Group]:
    sources = sorted({kind.source for kind in listed.kinds if kind.source})
    models = sorted({kind.model for kind in listed.kinds if kind.model})
    query = query_of(asked)
    delegating = {"": "hidden", "shown": "shown"} if any(kind.delegated for kind in listed.kinds) else {}
    for name, title, options in (
        ("store", "Store", {"": "all", **{store.name: store.name for store in stores}}),
        ("source", "Source", {"": "all", **{source: source for source in sources}}),
        ("model", "Model", {"": "all", **{model: model for model in models}}),
        ("state", "State", STATES),
        ("compacted", "Compacted", {"": "either", "yes": "yes", "no": "no"}),
        ("near", "Needs compaction", {"": "either", "yes": "yes"}),
        ("sub-agents", "Sub-agents", delegating),
        ("order", "Order by", {"" if value == "recent" else value: label for value, label in ORDERS.items()}),
    ):
        if len(options) > 2 or dict(query).get(name) or name in ("near", "sub-agents") and options:
            yield Group(title, tuple(_link(query, name, value, label) for value, label in options.items()))


def _link(query: Sequence[tuple[str, str]], name: str, value: str, label: str) -> Link:
    kept = [pair for pair in query if pair[0] != name]
    changed = [*kept, (name, value)] if value else kept
    return Link(line(label, 40), f"?{urlencode(changed)}" if changed else "?", dict(query).get(name, "") == value)


# -- the stores --------------------------------------------------------------------------------------------------------


def _store_line(shelf: StoreListing) -> StoreLine:
    known = " Its sessions are listed as they were before." if shelf.problem and shelf.state else ""
    return StoreLine(shelf.store.name, why_open(shelf.store), shelf.problem + known, shelf.store.is_managed)


def why_open(store: Store) -> str:
    """Why this store is listed, for somebody who sees the site for the first time."""
    return {
        "configured": "named in PALIMPSEST_STORES",
        "found": f"found at {store.place}",
        "demo": "examples written for this site; nothing in it is real",
    }[store.origin]
