"""The filter of the list: the query of its address, and the choices that change it, each with the number of sessions it
would leave.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args
from urllib.parse import urlencode

from django.http import QueryDict

from viewer.catalog import sync
from viewer.catalog.lines import Key, Order, SessionFilter, SessionList, counts, have_costs
from viewer.catalog.upsert import storable
from viewer.labels.sessions import Labels, all_labels
from viewer.pages.filters import Group, Link
from viewer.pages.parts.projects import names_of
from viewer.pages.redaction import name as redacted
from viewer.rendering import formats
from viewer.rendering.texts import line
from viewer.stores.base import Store
from viewer.stores.listing import is_askable

STATES = {"": "not archived", "open": "open", "ended": "ended", "archived": "archived"}
ORDERS: dict[Order, str] = {
    "recent": "last active", "created": "started", "title": "title", "tokens": "tokens in context",
    "messages": "messages in context", "cost": "cost",
}  # fmt: skip
PROJECTS = 12  # choices of the facet
FLAGS = {"": None, "yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class ListForm:
    """The query of the list: a filter of the catalog, one store or all, a tag, and where an earlier page ended."""

    filter: SessionFilter
    store: str = ""
    tag: str = ""
    after: Key | None = None


def form_of(query: QueryDict) -> ListForm:
    """The query of the address; invalid values are left out."""
    state, order, tag = query.get("state", ""), query.get("order", ""), line(query.get("tag", ""), 30)
    session_filter = SessionFilter(
        q=line(query.get("q", ""), 200),
        source=query.get("source", ""),
        model=query.get("model", ""),
        project=storable(query.get("project", "")),
        state=cast(Literal["", "open", "ended", "archived"], state if state in STATES else ""),
        compacted=FLAGS.get(query.get("compacted", "")),
        near=query.get("near", "") == "yes",
        delegated=None if query.get("sub-agents", "") == "shown" else False,
        order=cast(Order, order if order in get_args(Order) else "recent"),
        only=tuple(all_labels().tagged(tag)) if tag else None,
    )
    return ListForm(session_filter, query.get("store", ""), tag, _cursor(query.get("after", ""), session_filter.order))


def _cursor(text: str, order: Order) -> Key | None:
    try:
        value, session_id, number = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    fits = isinstance(value, str) if order == "title" else type(value) in (int, float)
    askable = is_askable(session_id) and "\0" not in str(value)
    return (value, session_id, number) if fits and askable and type(number) is int and abs(number) < 2**63 else None


def query_of(form: ListForm, **changes: str) -> list[tuple[str, str]]:
    """The address's query with some values changed, without the position in the list."""
    session_filter = form.filter
    pairs = {
        "q": session_filter.q,
        "store": form.store,
        "tag": form.tag,
        "source": session_filter.source,
        "model": session_filter.model,
        "project": session_filter.project,
        "state": session_filter.state,
        "compacted": "" if session_filter.compacted is None else "yes" if session_filter.compacted else "no",
        "near": "yes" if session_filter.near else "",
        "sub-agents": "shown" if session_filter.delegated is None else "",
        "order": "" if session_filter.order == "recent" else session_filter.order,
    }
    return [(name, value) for name, value in {**pairs, **changes}.items() if value]


# -- the choices -------------------------------------------------------------------------------------------------------


class Facets:
    """The groups of choices of one list, and its total."""

    def __init__(
        self, form: ListForm, stores: Sequence[Store], listed: SessionList, labels: Labels, *, redacting: bool
    ) -> None:
        self.form, self.stores, self.listed, self.labels = form, stores, listed, labels
        self.redacting = redacting
        listings = sync.store_listings(stores) if form.store else listed.listings
        self.states = {listing.store.name: {listing.state.pk} for listing in listings if listing.state}
        self.counts = counts(listings, form.filter)
        self.priced = have_costs(listed.listings) or form.filter.order == "cost"
        self.query = query_of(form)
        self.is_narrowed = any(name != "order" for name, _ in self.query)

    def total(self) -> str:
        """ "2,104 sessions", with the current filter."""
        number = self._count({})
        return "" if number is None else formats.counted(number, "session")

    def groups(self, lifted: int = 0) -> tuple[list[Group], list[Group]]:
        """The groups that have more than one choice: those that a page begins with, and the others. So many sessions
        that need compaction are above the list: if these are all, there is no choice of them.
        """
        groups = list(self._groups())
        first = [group for name, group in groups if name == "store" or dict(self.query).get(name)]
        return [*self._near(lifted), *first], [group for _, group in groups if group not in first]

    def _near(self, lifted: int) -> Iterator[Group]:
        """The choice of those that need compaction, which is switched on and off, if there are more than so many."""
        is_chosen = self.form.filter.near
        link = self._link("near", "" if is_chosen else "yes", "▲ Needs compaction")
        count = self._count({"near": True})
        if is_chosen or count is None or count > lifted:
            yield Group("", (replace(link, current=is_chosen, count="" if count is None else f"{count:,}"),))

    def _groups(self) -> Iterator[tuple[str, Group]]:
        kinds, session_filter = self.listed.kinds, self.form.filter
        sources = sorted({kind.source for kind in kinds if kind.source} | ({session_filter.source} - {""}))
        models = sorted({kind.model for kind in kinds if kind.model} | ({session_filter.model} - {""}))
        tags = sorted({*self.labels.tags(), self.form.tag} - {""})
        delegating = {"": "hidden", "shown": "shown"} if any(kind.delegated for kind in kinds) else {}
        for name, title, options in (
            ("store", "Store", {"": "all", **{store.name: store.name for store in self.stores}}),
            ("project", "Project", {"": "all", **self._projects()}),
            ("source", "Source", {"": "all", **{source: source for source in sources}}),
            ("model", "Model", {"": "all", **{model: model for model in models}}),
            ("tag", "Tag", {"": "any", **{tag: tag for tag in tags}}),
            ("state", "State", STATES),
            ("compacted", "Compacted", {"": "either", "yes": "yes", "no": "no"}),
            ("sub-agents", "Sub-agents", delegating),
            (
                "order",
                "Order by",
                {"" if value == "recent" else value: label for value, label in self.orders().items()},
            ),
        ):
            chosen = dict(self.query).get(name)
            enough = 1 if name in ("sub-agents", "tag") else 2
            if len(options) > enough or chosen:
                links = [self._link(name, value, label) for value, label in options.items()]
                few = [link for link in links if link.count != "0" or link.current]
                if name == "store" and self.is_narrowed:  # the same row for any words
                    yield name, Group(title, tuple(links))
                elif len(few) > 1 and (chosen or not _is_same(few)):
                    yield name, Group(title, tuple(few))

    def orders(self) -> dict[Order, str]:
        """The orders with their names; by cost only where one is known."""
        return {order: label for order, label in ORDERS.items() if self.priced or order != "cost"}

    def _projects(self) -> dict[str, str]:
        """The working directories of most sessions, each with a name for people; not one that has to be redacted."""
        states = self.states.get(self.form.store, set()) if self.form.store else None
        counts = self.counts.projects(self.form.filter, states)
        most = sorted(counts, key=lambda project: (-counts[project], project))[:PROJECTS]
        chosen = self.form.filter.project
        shown = [*most, *([chosen] if chosen and chosen not in most else [])]
        return names_of([each for each in shown if redacted(each, self.redacting) == each])

    def _link(self, name: str, value: str, label: str) -> Link:
        others = [pair for pair in self.query if pair[0] != name]
        changed = [*others, (name, value)] if value else others
        current = dict(self.query).get(name, "") == value
        number = None if name in ("order", "tag") else self._count(_changes(name, value), name, value)
        count = "" if number is None else f"{number:,}"
        title = line(value, 300) if name == "project" else ""
        return Link(line(label, 40), f"?{urlencode(changed)}" if changed else "?", current, count, title)

    def _count(self, changes: dict[str, Any], name: str = "", value: str = "") -> int | None:
        store = value if name == "store" else self.form.store
        session_filter: SessionFilter = replace(self.form.filter, **changes)
        return self.counts.of(session_filter, self.states.get(store, set()) if store else None)


def _is_same(links: Sequence[Link]) -> bool:
    """Whether there is one value, which all sessions have."""
    return len(links) == 2 and links[0].count == links[1].count != ""


def _changes(name: str, value: str) -> dict[str, Any]:
    """The values of the filter that a choice changes."""
    match name:
        case "compacted":
            return {"compacted": FLAGS[value]}
        case "near":
            return {"near": value == "yes"}
        case "sub-agents":
            return {"delegated": None if value == "shown" else False}
        case "store":
            return {}
        case _:
            return {name: value}
