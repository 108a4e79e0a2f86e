"""Search in the messages of a store of any kind: by the store itself or, if it has no index, by the one here.

Matches of the index are read from the store and compared with the query again, so that hits show the store's current
text. As in stores with their own search, words are searched for first, and parts of words only if no message has the
words; a page ends at its limits, says so, and can be continued. A search in sessions that are not indexed reads their
messages directly.
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
from viewer.catalog.search.index import WordQuery
from viewer.stores.errors import StoreUnavailable
from viewer.stores.registry import Reader
from viewer.stores.search.pages import INSIDE, SHORT, HitPage, Note, PageRequest, SearchFilter
from viewer.stores.search.query import Query
from viewer.web.own_database import OwnDatabaseUnavailable

REQUEST_SECONDS = 0.2  # for indexing new text, if no worker is doing it
LEFT_OUT = Note("left_out", "This store is left out of search (page Stores).")


def search(reader: Reader, query: Query, search_filter: SearchFilter, page: PageRequest) -> HitPage:
    """One page of matching messages. Raises StoreUnavailable, OwnDatabaseUnavailable."""
    if not reader.offers_text:
        return reader.search(query, search_filter, page)
    if query.empty:
        return HitPage((), None, stopped=False, looked=0, scanned=False)
    state = _freshened(reader)
    text = indexing.text_of(reader.store.name)
    finding = TextFinding(reader, state, query, search_filter, page)
    if search_filter.sessions and _is_looked_through(text, search_filter, page):
        return _staged(finding, TextFinding.looked_through)
    if text.left_out:
        return HitPage((), None, stopped=False, looked=0, scanned=False, notes=(LEFT_OUT,))
    hit_page = _staged(finding, partial(_indexed, text))
    return replace(hit_page, notes=(*hit_page.notes, *_unfinished(state), *_unread(text)))


def _freshened(reader: Reader) -> StoreState:
    """The store's state, after indexing a little of its new text."""
    (listing,) = sync.store_listings([reader.store])
    if listing.state is None:
        raise StoreUnavailable(listing.problem)
    if listing.state.claimed_until <= timezone.now() and indexing.is_any_due(reader.store.name):
        with suppress(OwnDatabaseUnavailable):  # a note says what is not indexed
            indexing.index_some(reader, REQUEST_SECONDS)
    return listing.state


def _is_looked_through(text: StoreText, search_filter: SearchFilter, page: PageRequest) -> bool:
    """Whether the messages of the filter's sessions are searched without the index; the same for all pages."""
    if page.after and search_filter.indexed:
        return hits.is_message_key(page.after)
    return not search_filter.indexed or not indexing.are_indexed(text, search_filter.sessions)


def _unfinished(state: StoreState) -> Iterator[Note]:
    progress = indexing.progress(state) if state.unlisted or indexing.is_any_due(state.name) else None
    if progress and progress.waiting:
        share = f"{progress.waiting:,} of {progress.sessions:,} sessions"
        yield Note("index_unfinished", f"{share} are not searched yet: they are being indexed.")


def _unread(text: StoreText) -> Iterator[Note]:
    if failed := indexing.failed(text):
        sessions = "1 session is" if failed == 1 else f"{failed:,} sessions are"
        sentence = f"{sessions} not searched, or not whole: the text could not be read. The site's log says why."
        yield Note("not_indexed", sentence, is_gap=True)


def _staged(finding: TextFinding, way: Callable[[TextFinding], HitPage]) -> HitPage:
    """Words first; parts of words only if no message has the words."""
    query, page = finding.query, finding.page
    inside = replace(finding, query=query.inside) if query.inside else None
    if page.stage == "inside" and inside:
        return _inside(way(inside))
    hit_page = way(finding)
    if page.stage == "words" or hit_page.hits:
        return replace(hit_page, stage="words")
    return hit_page if hit_page.next or not inside else _inside(way(replace(inside, page=replace(page, after=None))))


def _inside(hit_page: HitPage) -> HitPage:
    return replace(hit_page, stage="inside", notes=(INSIDE, *hit_page.notes) if hit_page.hits else hit_page.notes)


def _indexed(text: StoreText, finding: TextFinding) -> HitPage:
    """By words, or by parts of words; if the query wants neither, among all messages."""
    filters, after = finding.search_filter, finding.page.after if finding.search_filter.order == "newest" else None
    scope = candidates.scope_of(text, filters, after and after[1])
    word_query = index.word_query(finding.query) if filters.indexed else None
    if word_query:
        return finding.among(candidates.by_words(scope, word_query))
    if parts := candidates.parts_of_words(finding.query):
        return finding.among(candidates.by_parts(scope, parts))
    every = finding.among(candidates.by_words(scope, WordQuery(())))
    return replace(every, scanned=True, notes=(*every.notes, SHORT))
