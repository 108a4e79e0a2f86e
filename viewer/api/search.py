"""Search in the messages of a store."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal, get_args

from django.http import HttpRequest
from ninja import Router, Schema

from viewer.catalog.search import store_search
from viewer.catalog.upsert import storable
from viewer.stores.registry import get_store, open_store
from viewer.stores.search.pages import Hit, HitPage, Key, PageRequest, SearchFilter, Stage
from viewer.stores.search.passages import PassagePart
from viewer.stores.search.query import parse
from viewer.web import cursors
from viewer.web.unreadable import lines_of
from viewer.web.url_segments import session_address

from . import shapes
from .answers import answers
from .schemas import BrokenOut, Limit, moment
from .scopes import READ

router = Router(tags=["search"])

FIRST: Stage = "none"


class PieceOut(Schema):
    """A stretch of text; `marked`: it matches the query."""

    text: str
    marked: bool


class HitOut(Schema):
    """A matching message, by the newest row that carries it. `kind` is summary for text that a compaction wrote;
    `state` is under for a message that was summarised away; `address` is that of the session.
    """

    id: int
    session: str
    address: str
    session_title: str
    source: str
    kind: Literal["message", "summary"]
    role: str
    timestamp: datetime | None
    state: Literal["live", "under", "out", "lost"]
    snippet: list[PieceOut]


class NoteOut(Schema):
    code: str
    message: str


class HitsOut(Schema):
    """`looked` counts the rows that were looked at for this page. `complete` false: the page ended at its limits before
    it was full, and `next` continues it. `notes` say what the store's indexes cannot find.
    """

    items: list[HitOut]
    next: str | None
    broken: list[BrokenOut] = []
    complete: bool
    looked: int
    notes: list[NoteOut]


@router.get("/stores/{name:store}/search", auth=READ, response=answers(HitsOut), summary="Search in messages")
def find(
    request: HttpRequest,
    store: str,
    q: str,
    role: str = "",
    session: str = "",
    source: str = "",
    project: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    order: Literal["newest", "best"] = "newest",
    indexed: bool = True,
    limit: Limit = 50,
    cursor: str = "",
) -> HitsOut:
    """Words, "exact phrases", prefix* and -excluded; messages that were summarised away are found too. The last word is
    a prefix unless it is quoted. If a store has no such message, parts of words are searched for too: note
    `inside_words`.

    `session` includes the parts before it; `project` is the working directory of sessions. Times without a zone are
    UTC; `until` is excluded.
    """
    kind = f"search by {order}"
    after, stage = _position(cursors.read(cursor, kind, float, int, str)) if cursor else (None, FIRST)
    with open_store(get_store(store)) as reader:
        if session:
            reader.session(session)
        search_filter = SearchFilter(
            role=role,
            sessions=tuple(reader.parts(session)) if session else (),
            source=source,
            project=storable(project),
            since=_seconds(since),
            until=_seconds(until),
            order=order,
            indexed=indexed,
        )
        hit_page = store_search.search(reader, parse(q), search_filter, PageRequest(limit, after, stage))
    return _hits_out(hit_page, store, kind)


def _hits_out(hit_page: HitPage, store: str, kind: str) -> HitsOut:
    items, broken = lines_of(hit_page.hits, partial(hit_out, store), lambda hit: (hit.id, store))
    return HitsOut(
        items=list(items),
        broken=shapes.broken(broken),
        next=cursors.written(kind, *hit_page.next, hit_page.stage) if hit_page.next else None,
        complete=not hit_page.stopped,
        looked=hit_page.looked,
        notes=[NoteOut(code=note.code, message=note.message) for note in hit_page.notes],
    )


def _position(values: list[Any]) -> tuple[Key, Stage]:
    rank, row_id, stage = values
    if not math.isfinite(rank) or abs(row_id) >= 2**63 or stage not in get_args(Stage):
        raise cursors.BadCursor
    return (rank, row_id), stage


def _seconds(at: datetime | None) -> float | None:
    if at is None:
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def hit_out(store: str, hit: Hit) -> HitOut:
    """A hit of a store."""
    return HitOut(
        id=hit.id,
        session=hit.session.id,
        address=session_address(store, hit.session.id),
        session_title=hit.session.title,
        source=hit.session.source,
        kind=hit.kind,
        role=hit.role,
        timestamp=moment(hit.time),
        state=hit.state,
        snippet=[_piece(piece) for piece in hit.passage],
    )


def _piece(piece: PassagePart) -> PieceOut:
    return PieceOut(text=piece.text, marked=piece.marked)
