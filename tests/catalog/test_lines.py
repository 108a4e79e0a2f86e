"""Lists are right in every order, however narrowed, and cost the same among few sessions and many."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tests.catalog.list_pages import FILTERS, ORDERS, walk
from tests.factories.session_lists import EVERYTHING, ids, listed, owner, settle
from tests.factories.stores import PRESENT, EmptyStore, HermesStore
from viewer.catalog import lines, sync, sync_worker
from viewer.catalog.lines import Order, SessionFilter, counts, page_of_lines, sort_key
from viewer.catalog.models import FacetGroup, SessionIndex, StoreState
from viewer.catalog.needs_compaction import lately
from viewer.stores.registry import get_store

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="looks at SQLite's own work"),
]

VERIFIED = 10**9  # a generation that the store will not come to: these lines are not compared with it
SOURCES, MODELS = ("cli", "telegram", "cron"), ("m1", "m2")


@pytest.fixture(autouse=True)
def no_demo(settings: Settings, tmp_path: Path) -> None:
    settings.DEMO_STORE = tmp_path / "nowhere.db"


def shelve(state: StoreState, count: int, start: int = 0) -> list[SessionIndex]:
    """So many lines of all kinds but one, which only the three oldest are of; many are alike in what orders them."""
    dice = random.Random(start)
    kinds = [
        FacetGroup(
            state=state, source=source, model=model, archived=archived, ended=ended, compacted=compacted, near=False
        )
        for source, model in product(SOURCES, MODELS)
        for archived, ended, compacted in product((False, True), repeat=3)
    ]
    rare = FacetGroup(state=state, source="fax", model="m1", archived=False, ended=False, compacted=False, near=True)
    FacetGroup.objects.bulk_create([*kinds, rare])
    made = [
        SessionIndex(
            state=state,
            kind=rare if number < 3 else dice.choice(kinds),
            session_id=f"s{start + number:06}",
            row=start + number + 1,
            title=f"Title {number}",
            words=f"title {number} " + ("common" if number % 3 else "") + (" zebrafinch" if number == 2 else ""),
            last_active=float(number // 4),
            started_at=float(dice.randint(0, count)),
            live=dice.randint(0, 9),
            due=False,
            verified=VERIFIED,
        )
        for number in range(count)
    ]
    SessionIndex.objects.bulk_create(made)
    StoreState.objects.filter(pk=state.pk).update(unlisted=0, unread_below=0)
    return made


@pytest.fixture
def shelved(empty_store: EmptyStore) -> Callable[[int], list[SessionIndex]]:
    """A function that puts lines into the listing of an empty store."""
    settle()
    state = sync.store_listings([get_store("own")])[0].state
    assert state is not None
    sync_worker.sync_all()
    return lambda count: shelve(state, count)


def wanted_by(line: SessionIndex, wanted: dict[str, Any]) -> bool:
    kind, state = line.kind, wanted.get("state", "")
    assert kind is not None
    return (
        kind.archived == (state == "archived")
        and (state not in ("open", "ended") or kind.ended == (state == "ended"))
        and all(getattr(kind, name) == wanted[name] for name in ("source", "model", "compacted") if name in wanted)
        and (not wanted.get("near") or (kind.is_near_and_open and line.last_active >= lately()))
        and all(word in line.words for word in wanted.get("q", "").casefold().split())
    )


@pytest.mark.parametrize("window", [7, lines.WINDOW])
@pytest.mark.parametrize("kinds", [0, lines.KINDS])
def test_every_order_and_filter_gives_each_session_once_and_in_order(
    shelved: Callable[[int], list[SessionIndex]], monkeypatch: pytest.MonkeyPatch, window: int, kinds: int
) -> None:
    """Whichever way is taken to find them."""
    made = shelved(200)
    monkeypatch.setattr(lines, "WINDOW", window)
    monkeypatch.setattr(lines, "KINDS", kinds)
    for order, wanted in product(ORDERS, FILTERS):
        column = lines.COLUMNS[order]
        expected = sorted(
            (line for line in made if wanted_by(line, wanted)),
            key=lambda line: (getattr(line, column), line.session_id),
            reverse=True,
        )
        assert list(walk(29, order=order, **wanted)) == [line.session_id for line in expected], (order, wanted)


def test_words_that_are_rare_and_words_that_are_not_are_found(
    shelved: Callable[[int], list[SessionIndex]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = shelved(300)
    monkeypatch.setattr(lines, "RARE", 20)
    expected = {line.session_id for line in made if "common" in line.words and wanted_by(line, {})}
    assert set(ids(q="common")) == expected
    assert ids(q="zebrafinch") == ids(q="ebraf") == ["s000002"]
    SessionIndex.objects.filter(session_id="s000002").update(words="another")
    assert ids(q="zebrafinch") == []
    assert ids(q="nother") == ["s000002"]
    SessionIndex.objects.filter(session_id="s000002").delete()
    assert ids(q="nother") == []


# -- work --------------------------------------------------------------------------------------------------------------


def steps(do: Callable[[], object]) -> int:
    """How many steps of its virtual machine our SQLite takes for something, in hundreds."""
    seen = [0]

    def count() -> int:
        seen[0] += 1
        return 0

    connection.connection.set_progress_handler(count, 100)
    try:
        do()
    finally:
        connection.connection.set_progress_handler(None, 0)
    return seen[0]


PAGES: list[dict[str, Any]] = [{}, {"source": "fax"}, {"source": "none"}, {"near": True}, {"q": "zebrafinch"}]


@pytest.mark.slow
def test_a_page_costs_the_same_among_few_sessions_and_many(
    empty_store: EmptyStore, shelved: Callable[[int], list[SessionIndex]]
) -> None:
    """In queries, and in what they look at: the first page and one from the middle, common, rare and empty."""
    shelved(4_000)
    some = measured(4_000)
    state = StoreState.objects.get()
    FacetGroup.objects.all().delete()
    SessionIndex.objects.all().delete()
    shelve(state, 10_000)
    many = measured(10_000)
    for which, (queries, work) in many.items():
        assert queries <= 6, which
        assert work <= 1.3 * some[which][1] + 60, (which, some[which], many[which])


def measured(count: int) -> dict[str, tuple[int, int]]:
    found = {}
    middle = SessionIndex.objects.get(session_id=f"s{count // 2:06}")
    for order, wanted, deep in product(ORDERS, PAGES, (False, True)):
        after = sort_key(middle, order) if deep else None

        def page(order: Order = order, wanted: dict[str, Any] = wanted, after: Any = after) -> None:
            page_of_lines(SessionFilter(order=order, **wanted), [get_store("own")], 40, after)

        page()
        with CaptureQueriesContext(connection) as queries:
            page()
        found[f"{order} {wanted} {deep}"] = (len(queries), steps(page))
    return found


def plans_of(queries: CaptureQueriesContext) -> set[str]:
    """How SQLite goes through the table of lines for these queries."""
    found: set[str] = set()
    for query in queries:
        if "catalog_line" in query["sql"] and query["sql"].startswith("SELECT"):
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN QUERY PLAN " + query["sql"].replace("%", "%%"))
                found |= {row[3] for row in cursor.fetchall()}
    return found


def test_pinned_lines_are_found_without_looking_at_others(shelved: Callable[[int], list[SessionIndex]]) -> None:
    oldest = shelved(500)[3:23]
    SessionIndex.objects.filter(pk__in=[line.pk for line in oldest]).update(pinned=True)
    page = page_of_lines(SessionFilter(), [get_store("own")], 40)
    with CaptureQueriesContext(connection) as queries:
        found = lines.pinned(page, SessionFilter(), [])
    assert {line.pk for line in found} == {line.pk for line in oldest if line.kind and not line.kind.archived}
    plans = plans_of(queries)
    assert any("pinned_lines" in plan for plan in plans) and any("PRIMARY KEY" in plan for plan in plans)
    assert all("pinned_lines" in plan or "PRIMARY KEY" in plan or "TEMP B-TREE" in plan for plan in plans)


def test_no_way_to_a_page_sorts_all_or_looks_through_the_table(shelved: Callable[[int], list[SessionIndex]]) -> None:
    shelved(500)
    with CaptureQueriesContext(connection) as queries:
        for order, wanted in product(ORDERS, FILTERS):
            list(walk(29, order=order, **wanted))
    plans = plans_of(queries)
    assert any("COVERING INDEX lines_by_activity" in plan for plan in plans)
    assert any("COVERING INDEX kinds_by_start (kind_id=?" in plan for plan in plans)
    assert not [plan for plan in plans if plan == "SCAN catalog_line"]


# -- several stores ----------------------------------------------------------------------------------------------------


def test_copies_of_one_store_are_merged_in_one_order(
    open_hermes_store: Callable[[int], HermesStore], settings: Settings
) -> None:
    path = open_hermes_store(21).path
    settings.STORES = dict.fromkeys(("b", "a"), f"sqlite:///{path}")
    found = [(line.session_id, line.state.name) for line in listed(EVERYTHING, order="messages").lines]
    assert len(found) == len(set(found)) == 20
    assert [session_id for session_id, _ in found[::2]] == [session_id for session_id, _ in found[1::2]]


# -- what needs compaction ---------------------------------------------------------------------------------------------


def test_sessions_near_the_agents_own_threshold_need_compaction(empty_store: EmptyStore) -> None:
    empty_store.session("small", model="gpt-4")  # a window of 8,192 tokens: its agent waits for 85 % of it
    empty_store.say("small", "user", "few words", timestamp=time.time() - 60)
    now, day = time.time(), 86_400
    for name, ago in (("large", 2), ("rests", 40)):
        empty_store.session(name, model="gpt-4")
        empty_store.say(name, "user", "many more words " * 2_200, timestamp=now - ago * day)
    empty_store.session("ended", model="gpt-4", ended_at=now)
    empty_store.say("ended", "user", "many more words " * 2_200, timestamp=now - day)
    assert ids(near=True) == []
    sync_worker.sync_all()
    assert ids(near=True) == ["large"]
    assert counts(sync.store_listings([get_store("own")]), SessionFilter()).of(SessionFilter(near=True)) == 1
    (empty_store.path.parent / "config.yaml").write_text("compression: {threshold_tokens: 1}")
    owner(empty_store.path, "UPDATE sessions SET title = 'x' WHERE id = 'small'")
    assert set(ids()) == {"small", "large", "rests", "ended"}
    assert set(ids(near=True)) == {"small", "large"}


# -- a parent that is not named ----------------------------------------------------------------------------------------


def test_a_part_without_a_parent_names_the_session_it_seems_to_go_on_from(empty_store: EmptyStore) -> None:
    for name, title, words in (
        ("a", "Harbour", "Plan the harbour"),
        ("b", "Harbour #2", "Plan the harbour"),
        ("c", "Harbour #3", "Something else"),
        ("d", "Garden #2", "Plan the harbour"),
        ("e", "Harbour #2026", "Plan the harbour"),
    ):
        empty_store.session(name, title=title)
        empty_store.say(name, "user", words)
    guessed = lines.guessed(listed().lines)
    assert {SessionIndex.objects.get(pk=number).session_id: line.session_id for number, line in guessed.items()} == {
        "b": "a"
    }
    assert {line.parent for line in listed().lines} == {""}  # offered, never applied
    empty_store.session("f", title="Garden #3", parent_session_id="a", started_at=PRESENT + 1)
    assert len(lines.guessed(listed().lines)) == 1


def test_words_find_sessions_by_title_id_and_first_request(empty_store: EmptyStore) -> None:
    empty_store.session("alpha-1", title="Ünïcode Title")
    empty_store.session("beta-2")
    empty_store.say("beta-2", "user", "How do BEES sleep?")
    stores = [get_store("own")]
    for words, found in (("ünïcode", "alpha-1"), ("bees how", "beta-2"), ("TA-2", "beta-2"), ("2", "beta-2")):
        assert [line.session_id for line in page_of_lines(SessionFilter(q=words), stores, 9).lines] == [found]
    assert page_of_lines(SessionFilter(q='" OR * NEAR('), stores, 9).lines == ()
