"""Find in one session and the parts before it: words through the index, and the typed text, message by message.

It is a separate page, and a list next to the session that is filled while somebody types.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from viewer.catalog.search import store_search
from viewer.pages import redaction
from viewer.pages.http import is_fragment, page, shows_refusals
from viewer.pages.parts.opened import OpenSession
from viewer.pages.search import hits
from viewer.pages.search.hits import ShownHit
from viewer.stores.registry import Reader, get_store, open_store
from viewer.stores.search.pages import HitPage, Key, PageRequest, SearchFilter
from viewer.stores.search.query import LONGEST, parse
from viewer.web.session_urls import SessionUrls

MOST = 200


@dataclass(frozen=True, slots=True)
class Results:
    """The hits, in the order of the session. `more` is the address of older hits, "" if there are none.

    `total` says how many, "17" or "the newest 200"; `current` is the number of the hit that is shown, 0 for none, and
    `previous` and `next` are the addresses of its neighbours; from the last hit to the first and back.
    """

    count: str
    total: str
    hits: tuple[ShownHit, ...]
    current: int
    previous: str
    next: str
    note: str
    more: str


@require_safe
@shows_refusals
def find(request: HttpRequest, store: str, session_id: str) -> HttpResponse:
    q, urls = typed(request), SessionUrls(store, session_id)
    with open_store(get_store(store)) as reader:
        session = redaction.session_for(request, reader.session(session_id))
        after = hits.positions(request.GET.get("after", "")).after(store)
        results = _results(reader, urls, q, after, redaction.redacts(request)) if q else None
    data = {"place": urls, "session": session, "q": q, "results": results}
    return page(request, "session/_found.html" if is_fragment(request) else "session/find.html", data)


def typed(request: HttpRequest) -> str:
    """The words that somebody looks for."""
    return " ".join(request.GET.get("q", "")[:LONGEST].replace("\x00", " ").split())


def find_panel(opened: OpenSession, q: str, around: int | None) -> dict[str, Any]:
    """The hits for the panel next to a session, whose message `around` is shown; None before anything is typed."""
    results = None
    if q:
        message = None if around is None else opened.index.message_of(around)
        results = _results(opened.reader, opened.urls, q, None, opened.redacting, {around, message} - {None})
    return {"q": q, "results": results}


def _results(
    reader: Reader, urls: SessionUrls, q: str, after: Key | None, redacted: bool, at: Collection[int | None] = ()
) -> Results:
    """The newest hits by words, from the whole session, and hits with the text itself, from the newest messages or from
    those before `after`.
    """
    parts = tuple(reader.parts(urls.session))
    words = store_search.search(reader, parse(q), SearchFilter(sessions=parts), PageRequest(MOST, redacting=redacted))
    unindexed = SearchFilter(sessions=parts, indexed=False)
    inside = store_search.search(reader, parse(q, whole=True), unindexed, PageRequest(MOST, after, redacting=redacted))
    word_ids = {hit.id for hit in words.hits}
    by_id = {hit.id: hit for hit in inside.hits if hit.id not in word_ids}
    by_id |= {hit.id: hit for hit in words.hits if after is None}
    ordered = [by_id[row_id] for row_id in sorted(by_id)][-MOST:]
    further = hits.Positions({urls.store: inside.next}).text if inside.next else ""
    shown = tuple(hits.shortened(hits.shown_hit(hit, urls, q)) for hit in ordered)
    current = next((number for number, hit in enumerate(shown, 1) if hit.id in at), 0)
    return Results(
        count=_count(len(ordered), words, inside),
        total=_count(len(ordered), words, inside, ""),
        hits=shown,
        current=current,
        previous=shown[current - 2 if current else -1].href if shown else "",
        next=shown[current % len(shown)].href if shown else "",
        note=_note(words, inside, any_hits=bool(shown)) if after is None else "",
        more=urls.view("find", q=q, after=further) if further else "",
    )


def _count(number: int, words: HitPage, inside: HitPage, ending: str = " found") -> str:
    if number >= MOST or words.next:
        return f"{'The' if ending else 'the'} newest {number:,}"
    return f"{number:,}{ending}{' so far' if words.scanned and inside.next else ''}"


def _note(words: HitPage, inside: HitPage, *, any_hits: bool) -> str:
    """How far back was looked, in one line of a narrow column."""
    if not inside.stopped:
        return ""
    if not any_hits:
        return f"No match in the newest {inside.looked:,} rows{'' if words.scanned else ', and no whole word before'}"
    return f"{'Looked' if words.scanned else 'Parts of words: looked'} through the newest {inside.looked:,} rows"
