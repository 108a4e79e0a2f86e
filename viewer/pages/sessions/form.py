"""The query of the list: what its address says, and the address of what somebody asks for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, cast, get_args

from django.http import QueryDict

from viewer.catalog.lines import Key, Order, SessionFilter
from viewer.labels.sessions import all_labels
from viewer.rendering.texts import line
from viewer.stores.listing import is_askable

STATES = {"": "not archived", "open": "open", "ended": "ended", "archived": "archived"}


@dataclass(frozen=True, slots=True)
class ListForm:
    """The query of the list: a filter of the catalog, one store or all, a tag, and where an earlier page ended."""

    filter: SessionFilter
    store: str = ""
    tag: str = ""
    after: Key | None = None


def asked_for(query: QueryDict) -> ListForm:
    """What the address asks for; values that mean nothing are left out."""
    state, order, tag = query.get("state", ""), query.get("order", ""), line(query.get("tag", ""), 30)
    wanted = SessionFilter(
        q=line(query.get("q", ""), 200),
        source=query.get("source", ""),
        model=query.get("model", ""),
        state=cast(Literal["", "open", "ended", "archived"], state if state in STATES else ""),
        compacted={"yes": True, "no": False}.get(query.get("compacted", "")),
        near=query.get("near", "") == "yes",
        delegated=None if query.get("sub-agents", "") == "shown" else False,
        order=cast(Order, order if order in get_args(Order) else "recent"),
        only=tuple(all_labels().tagged(tag)) if tag else None,
    )
    return ListForm(wanted, query.get("store", ""), tag, _cursor(query.get("after", ""), wanted.order))


def _cursor(text: str, order: Order) -> Key | None:
    try:
        value, session_id, number = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    fits = isinstance(value, str) if order == "title" else type(value) in (int, float)
    askable = is_askable(session_id) and "\0" not in str(value)
    return (value, session_id, number) if fits and askable and type(number) is int and abs(number) < 2**63 else None


def query_of(asked: ListForm, **changes: str) -> list[tuple[str, str]]:
    """The address's query with some values changed; the place in the list is left out."""
    wanted = asked.filter
    pairs = {
        "q": wanted.q,
        "store": asked.store,
        "tag": asked.tag,
        "source": wanted.source,
        "model": wanted.model,
        "state": wanted.state,
        "compacted": "" if wanted.compacted is None else "yes" if wanted.compacted else "no",
        "near": "yes" if wanted.near else "",
        "sub-agents": "shown" if wanted.delegated is None else "",
        "order": "" if wanted.order == "recent" else wanted.order,
    }
    return [(name, value) for name, value in {**pairs, **changes}.items() if value]
