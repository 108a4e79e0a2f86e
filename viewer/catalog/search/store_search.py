"""Search in the messages of a store of any kind: by the store itself, or, where it has no index, by the one kept here.

What the index names is read from the store and compared with the query once more, so that hits say what the store says
now. As in stores that search by themselves, words are sought first, and inside of words only where none holds them; a
page ends at its limits, says so, and goes on from there. What is narrowed to sessions that are not indexed is looked
through itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from django.utils import timezone

from viewer.catalog import sync
from viewer.catalog.models import StoreState, StoreText
from viewer.catalog.search import candidates, hits, index, indexing
from viewer.catalog.search.hits import TextFinding
from viewer.catalog.search.index import Asked
from viewer.stores.errors import StoreUnavailable
from viewer.stores.registry import Reader
from viewer.stores.search.pages import INSIDE, SHORT, HitPage, Note, PageRequest, SearchFilter
from viewer.stores.search.query import Query
from viewer.web.own_database import OwnDatabaseUnavailable

REQUEST_SECONDS = 0.2  # of indexing what is new, where no worker is at it
LEFT_OUT = Note("left_out", "This store is left out of search (page Stores).")


def search(reader: Reader, query: Query, wanted: SearchFilter, page: PageRequest) -> HitPage:
    """One page of the messages that hold what is looked for. Raises StoreUnavailable, OwnDatabaseUnavailable."""
    if not reader.offers_text:
        return reader.search(query, wanted, page)
    if query.empty:
        return HitPage((), None, stopped=False, looked=0, scanned=False)
    state = _freshened(reader)
    text = indexing.text_of(reader.store.name)
    finding = TextFinding(reader, state, query, wanted, page)
    if wanted.sessions and _is_looked_through(text, wanted, page):
        return _staged(finding, TextFinding.looked_through)
    if text.left_out:
        return HitPage((), None, stopped=False, looked=0, scanned=False, notes=(LEFT_OUT,))
    found = _staged(finding, partial(_indexed, text))
    return replace(found, notes=(*found.notes, *_unfinished(state), *_unread(text)))


def _freshened(reader: Reader) -> StoreState:
    """The store's state, and a little of what is new in it indexed."""
    (listing,) = sync.store_listings([reader.store])
    if listing.state is None:
        raise StoreUnavailable(listing.problem)
    if listing.state.claimed_until <= timezone.now() and indexing.is_any_due(reader.store.name):
        with suppress(OwnDatabaseUnavailable):  # a note says what is not indexed
            indexing.index_some(reader, REQUEST_SECONDS)
    return listing.state


def _is_looked_through(text: StoreText, wanted: SearchFilter, page: PageRequest) -> bool:
    """Whether the messages of the wanted sessions are looked through without the index; on all pages, or on none."""
    if page.after and wanted.indexed:
        return hits.is_message_key(page.after)
    return not wanted.indexed or not indexing.are_indexed(text, wanted.sessions)


def _unfinished(state: StoreState) -> Iterator[Note]:
    found = indexing.progress(state) if state.unlisted or indexing.is_any_due(state.name) else None
    if found and found.waiting:
        said = f"{found.waiting:,} of {found.sessions:,} sessions are not searched yet: they are being indexed."
        yield Note("index_unfinished", said)


def _unread(text: StoreText) -> Iterator[Note]:
    if failed := indexing.failed(text):
        sessions = "1 session is" if failed == 1 else f"{failed:,} sessions are"
        said = f"{sessions} not searched, or not whole: the text could not be read. The site's log says why."
        yield Note("not_indexed", said, is_gap=True)


def _staged(finding: TextFinding, way: Callable[[TextFinding], HitPage]) -> HitPage:
    """Words first; parts of words only if no message has the words."""
    query, page = finding.query, finding.page
    inside = replace(finding, query=query.inside) if query.inside else None
    if page.stage == "inside" and inside:
        return _inside(way(inside))
    found = way(finding)
    if page.stage == "words" or found.hits:
        return replace(found, stage="words")
    return found if found.next or not inside else _inside(way(replace(inside, page=replace(page, after=None))))


def _inside(found: HitPage) -> HitPage:
    return replace(found, stage="inside", notes=(INSIDE, *found.notes) if found.hits else found.notes)


def _indexed(text: StoreText, finding: TextFinding) -> HitPage:
    """By words, or by parts of words; where neither are wanted, among all messages."""
    wanted, after = finding.wanted, finding.page.after if finding.wanted.order == "newest" else None
    scope = candidates.scope_of(text, wanted, after and after[1])
    asked = index.asked(finding.query) if wanted.indexed else None
    if asked:
        return finding.among(candidates.by_words(scope, asked))
    if parts := candidates.parts_of_words(finding.query):
        return finding.among(candidates.by_parts(scope, parts))
    every = finding.among(candidates.by_words(scope, Asked(())))
    return replace(every, scanned=True, notes=(*every.notes, SHORT))
