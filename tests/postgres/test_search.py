"""Search in a store on PostgreSQL: by its own indexes, and what they find is what SQLite's find."""

from __future__ import annotations

import pytest

from tests.factories import postgres_stores
from tests.postgres.conftest import BothStores
from viewer.stores.base import Store
from viewer.stores.hermes import search
from viewer.stores.hermes.candidates import LONG_CUT, NO_INDEX
from viewer.stores.hermes.reader import open_store
from viewer.stores.search.pages import INSIDE, NOT_RANKED, SHORT, HitPage, Key, PageRequest, SearchFilter
from viewer.stores.search.query import parse

QUERIES = [
    "refund", "the", "refund reservation", '"the flight"', "reserv*", "the -refund", "get_reservation", "R01186",
    "docs/", "naïve", "NAIVE", "ünïcode", "żółw", "straße", "reserv", "ackslashes_an", "οδυσσευς", "हिन्दी",
    "5e3ab1e0x1f", "10e6", "/srv/app/release_notes.md", "release", "notes.md", "json", "backslashes_and",
    "parts image_url", "zzyzx", '"', "-", "' OR 1", "100%", "日本", "検索", "日本語の検索", "文字", "日本語 parts",
    "farbehind", "½", "a" * 390,
]  # fmt: skip


ANYWHERE, BEST = SearchFilter(), SearchFilter(order="best")


def found(
    store: Store, query: str, wanted: SearchFilter = ANYWHERE, limit: int = 25, after: Key | None = None
) -> HitPage:
    with open_store(store) as reader:
        return search.search(reader, parse(query), wanted, PageRequest(limit, after))


def ids(of: HitPage) -> list[int]:
    return [hit.id for hit in of.hits]


@pytest.mark.parametrize("query", QUERIES)
def test_the_same_is_found_newest_first(both_stores: BothStores, query: str) -> None:
    lite, pg = found(both_stores.lite, query), found(both_stores.pg, query)
    if query == "farbehind":  # behind what of a long message is indexed here: found by looking through the messages
        assert ids(lite) == ids(pg) and len(pg.hits) == 1 and pg.scanned
        return
    if query == "日本語の検索":  # in a message of several parts, which SQLite's index of letters leaves out
        assert set(pg.hits) > set(lite.hits)
        return
    assert pg.hits == lite.hits
    assert pg.stopped == lite.stopped


@pytest.mark.parametrize("query", ['"reserv"', "eservatio"])
def test_what_stands_inside_words_is_found_too(both_stores: BothStores, query: str) -> None:
    lite, pg = found(both_stores.lite, query, limit=2_000), found(both_stores.pg, query, limit=2_000)
    assert set(ids(pg)) >= set(ids(lite)) != set()
    assert INSIDE in lite.notes and INSIDE in pg.notes
    assert found(both_stores.pg, query, BEST).hits


def test_queries_find_something(both_stores: BothStores) -> None:
    nothing = [query for query in QUERIES if not found(both_stores.lite, query).hits]
    assert len(nothing) < 8, nothing


@pytest.mark.parametrize(
    "wanted",
    [
        SearchFilter(role="tool"),
        SearchFilter(role="user"),
        SearchFilter(source="cli"),
        SearchFilter(since=1.7843e9),
        SearchFilter(until=1.7843e9),
        SearchFilter(indexed=False),
    ],
)
def test_filters(both_stores: BothStores, wanted: SearchFilter) -> None:
    assert found(both_stores.pg, "reservation", wanted).hits == found(both_stores.lite, "reservation", wanted).hits


def test_filters_by_session(both_stores: BothStores) -> None:
    wanted = SearchFilter(sessions=(found(both_stores.lite, "reservation").hits[-1].session.id,))
    lite = found(both_stores.lite, "reservation", wanted)
    assert lite.hits and found(both_stores.pg, "reservation", wanted).hits == lite.hits


@pytest.mark.parametrize("wanted", [ANYWHERE, BEST])
def test_pages_meet_without_gap_or_repetition(both_stores: BothStores, wanted: SearchFilter) -> None:
    whole = [hit.id for hit in found(both_stores.pg, "reservation", wanted, 60).hits]
    walked: list[int] = []
    after = None
    while len(walked) < 60:
        page = found(both_stores.pg, "reservation", wanted, 7, after)
        walked += [hit.id for hit in page.hits]
        after = page.next
        if after is None:
            break
    assert walked[: len(whole)] == whole and len(set(walked)) == len(walked) > 50


def test_the_best_match_comes_first(postgres: str) -> None:
    store = postgres_stores.empty(postgres)
    postgres_stores.owner(store, "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
    for text in ("gull " + "other words " * 200, "gull gull gull", "a gull among others", "no bird"):
        postgres_stores.owner(
            store, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', %s, 1)", text
        )
    assert [hit.id for hit in found(store, "gull", BEST).hits] == [2, 3, 1]
    assert [hit.id for hit in found(store, "gull").hits] == [3, 2, 1]


def test_the_index_follows_the_messages(postgres: str) -> None:
    store = postgres_stores.empty(postgres)
    postgres_stores.owner(store, "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
    postgres_stores.owner(
        store, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'first words', 1)"
    )
    assert [hit.id for hit in found(store, "first").hits] == [1]
    postgres_stores.owner(store, "UPDATE messages SET content = 'second words'")
    assert not found(store, "first").hits and found(store, "second").hits
    postgres_stores.owner(store, "DELETE FROM messages")
    assert postgres_stores.owner(store, "SELECT count(*) FROM messages_fts") == [(0,)]


def test_how_it_was_searched_is_said(both_stores: BothStores) -> None:
    assert found(both_stores.pg, "refund").notes == (LONG_CUT,)
    assert found(both_stores.pg, "検索").notes == (SHORT,)
    assert found(both_stores.pg, "検索", BEST).notes == (SHORT, NOT_RANKED)


def test_a_store_without_an_index_is_looked_through(postgres: str) -> None:
    store = postgres_stores.empty(postgres)
    postgres_stores.owner(store, "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
    postgres_stores.owner(
        store, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'first words', 1)"
    )
    postgres_stores.owner(store, "DROP TABLE messages_fts CASCADE")
    looked = found(store, "first")
    assert [hit.id for hit in looked.hits] == [1] and looked.scanned and looked.notes == (NO_INDEX,)


def test_three_letters_in_a_row_find_scripts_without_spaces(postgres: str) -> None:
    store = postgres_stores.empty(postgres)
    if not postgres_stores.owner(store, "SELECT 1 FROM pg_class WHERE relname = 'messages_letters'"):
        pytest.skip("This PostgreSQL has no pg_trgm.")
    postgres_stores.owner(store, "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
    for text in ("日本語の検索", "\x01json:" + '[{"type": "text", "text": "\\u65e5\\u672c\\u8a9e"}]', "100%_\\x"):
        postgres_stores.owner(
            store, "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', %s, 1)", text
        )
    for query, ids in (("日本語", [2, 1]), ("本語の検", [1]), ("日本海", [])):
        page = found(store, query)
        assert ([hit.id for hit in page.hits], page.scanned) == (ids, False)
