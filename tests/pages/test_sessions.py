"""The list of sessions."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tests.factories.session_lists import fill, settle
from tests.factories.stores import PRESENT, EmptyStore
from tests.html import Element, read
from viewer.catalog import sync, sync_worker
from viewer.pages.preferences import DEMO_COOKIE, FIRST
from viewer.pages.sessions import views as sessions
from viewer.stores.hermes import schema

FRAGMENT = {"HX-Request": "true"}


def links(page: Element) -> list[str]:
    return [line.one(cls="title").one("a").attributes["href"] for line in page.all("li", "session")]


def walk(client: Client, href: str) -> list[str]:
    """The addresses of all sessions of a list, over all its pages."""
    page = read(client.get(href))
    found = links(page)
    while more := page.all("a", "neighbour"):
        page = read(client.get("/" + more[0].attributes["hx-get"], headers=FRAGMENT))
        assert not page.all("html")
        found += links(page)
    return found


def test_works(signed_in: Client, small_hermes_copy: Callable[[int], Path], settings: Settings) -> None:
    settings.STORES = {f"v{version}": f"sqlite:///{small_hermes_copy(version)}" for version in (16, 21, 31)}
    sync_worker.sync_all()
    page = read(signed_in.get("/"))
    assert page.one("h1").text == "Sessions"
    assert page.one("ul", "stores").text.startswith("Named in PALIMPSEST_STORES: v16 v21 v31")
    assert page.text.count("PALIMPSEST_STORES") == 1
    line = next(line for line in page.all("li", "session") if "v21" in line.text and "week 29" in line.text)
    for part in ("telegram", "gpt-4o", "3.6k of 128k tokens", "43 of 124 messages in context", "compacted twice"):
        assert part in line.text
    assert line.one("rect", "used").attributes["width"] == "2.8"


def test_a_chain_is_one_line(signed_in: Client, small_hermes_copy: Callable[[int], Path], settings: Settings) -> None:
    settings.STORES = {"v16": f"sqlite:///{small_hermes_copy(16)}"}
    sync_worker.sync_all()
    lines = read(signed_in.get("/?q=week+30")).all("li", "session")
    assert len(lines) == 1
    assert "4 parts" in lines[0].text
    assert "compacted 3 times" in lines[0].text


def test_pages_of_several_stores_hold_each_session_once(
    signed_in: Client,
    small_hermes_copy: Callable[[int], Path],
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = small_hermes_copy(21)
    settings.STORES = {name: f"sqlite:///{shutil.copyfile(original, tmp_path / name)}" for name in ("b", "a", "c")}
    monkeypatch.setattr(sessions, "PAGE", 7)
    found = walk(signed_in, "/")
    assert len(found) == len(set(found)) == 3 * 10
    assert walk(signed_in, "/?order=title") != found
    assert sorted(walk(signed_in, "/?order=messages")) == sorted(walk(signed_in, "/?order=created")) == sorted(found)


def test_filters_are_links_and_narrow(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", source="cli", model="m1", title="Alpha")
    empty_store.session("b", source="telegram", model="m2", title="Beta", ended_at=PRESENT, end_reason="x")
    empty_store.session("c", source="cli", model="m2", title="Gamma", archived=1)
    page = read(signed_in.get("/?store=own"))
    hrefs = {link.text.split()[0]: link.attributes["href"] for link in page.one("details", "filters").all("a")}
    for label, names in (
        ("telegram", "b"),
        ("m1", "a"),
        ("ended", "b"),
        ("archived", "c"),
        ("open", "a"),
    ):
        found = links(read(signed_in.get("/" + hrefs[label])))
        assert {href[-1] for href in found} == set(names), label
    assert links(read(signed_in.get("/?store=own&compacted=no"))) == [f"/stores/own/sessions/{name}" for name in "ba"]
    chosen = read(signed_in.get("/" + hrefs["telegram"])).one("details", "filters")
    current = [link.text.split()[0] for link in chosen.all("a") if "aria-current" in link.attributes]
    assert current[:2] == ["own", "telegram"]
    assert links(read(signed_in.get("/?q=beta"))) == ["/stores/own/sessions/b"]


def test_no_match_says_what_to_do(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    page = read(signed_in.get("/?q=nothing+like+it"))
    empty = page.one("main").one(cls="empty")
    assert "No session matches “nothing like it ”." in empty.text
    assert "Titles, ids and first requests are searched. Look for another word" in empty.text
    hrefs = [link.attributes["href"] for link in empty.all("a")]
    assert hrefs == ["/", "/search?q=nothing%20like%20it"]
    for query, said in (("?q=nothing&state=open", "Take a filter away"), ("?state=ended", "No session matches.")):
        assert said in read(signed_in.get(f"/{query}")).one(cls="empty").text


def test_a_first_visitor_reads_what_this_is_and_where_to_start(signed_in: Client, demo: Callable[[str], str]) -> None:
    page = read(signed_in.get("/"))
    assert page.one("p", "lead").text.startswith("See what your long-lived agents remember")
    assert "Nothing is deleted" in page.one("figure", "story").text
    first = page.one(cls="first")
    assert FIRST in first.text
    assert first.one("a").attributes["href"] == demo(FIRST)
    assert not read(signed_in.get("/?q=lisbon")).all("p", "lead")


def test_a_renamed_session_is_not_the_one_to_start_with(
    signed_in: Client, demo: Callable[[str], str], settings: Settings
) -> None:
    demo(FIRST)
    with closing(sqlite3.connect(settings.DEMO_STORE)) as con, con:
        con.execute("UPDATE sessions SET title = 'Elsewhere' WHERE title = ?", [FIRST])
    assert not read(signed_in.get("/")).one(cls="first").all("a")


def test_a_first_visit_to_empty_stores(signed_in: Client, empty_store: EmptyStore) -> None:
    page = read(signed_in.get("/?order=created"))
    assert "There are no sessions yet." in page.one("main").text
    assert page.one("main").one("figure", "story")


def test_a_store_that_cannot_be_read_does_not_hide_the_others(
    signed_in: Client, empty_store: EmptyStore, tmp_path: Path, settings: Settings
) -> None:
    (tmp_path / "text.db").write_text("no database at all, but long enough to look at")
    settings.STORES = {
        **settings.STORES,
        "gone": "sqlite:////nowhere/state.db",
        "text": f"sqlite:///{tmp_path / 'text.db'}",
        "pg": "postgres://user:secret@host/db",
    }
    empty_store.session("a")
    page = read(signed_in.get("/"))
    assert links(page) == ["/stores/own/sessions/a"]
    for name in ("gone", "text", "pg"):
        assert page.one("ul", "stores").text.count(f"Store {name}") == 1
    assert "secret" not in page.text


@pytest.mark.parametrize("after", ["x", "1~own", "nan~~", "1e400~own~a", "~~~"])
def test_a_broken_cursor_breaks_nothing(signed_in: Client, empty_store: EmptyStore, after: str) -> None:
    empty_store.session("a")
    assert signed_in.get("/", {"after": after}).status_code == 200


def test_what_is_active_now_says_so_in_words(
    signed_in: Client, demo_original: Path, tmp_path: Path, settings: Settings
) -> None:
    from viewer.stores.hermes.demo import ensure_demo

    settings.DEMO_STORE = tmp_path / "fresh.db"
    ensure_demo(settings.DEMO_STORE)
    line = read(signed_in.get("/")).all("li", "session")[0]
    assert "running" in line.text
    assert line.one("span", "dot")


def test_more_messages_mean_no_more_queries(
    signed_in: Client, tmp_path: Path, settings: Settings, statements: list[str]
) -> None:
    signed_in.cookies[DEMO_COOKIE] = "1"  # a first visit looks twice, to see whether the store has sessions
    counts = []
    for size in (10, 600):
        path = tmp_path / f"{size}.db"
        schema.create(path)
        with closing(sqlite3.connect(path)) as con, con:
            con.execute("INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
            con.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'hello', ?)",
                [(number,) for number in range(size)],
            )
        settings.STORES = {f"of{size}": f"sqlite:///{path}"}
        statements.clear()
        read(signed_in.get("/"))
        counts.append(len(statements))
    assert counts[0] == counts[1] > 0


def test_there_is_no_choice_where_all_sessions_are_alike(signed_in: Client, empty_store: EmptyStore) -> None:
    def choices(query: str = "") -> list[str]:
        return [each.text for each in read(signed_in.get(f"/{query}")).one("div", id="facets").all("span", "name")]

    empty_store.session("a")
    empty_store.session("b")
    assert "State" not in choices()
    assert "State" in choices("?state=open"), "what is chosen can be taken away"
    empty_store.session("c", ended_at=1.0)
    assert "State" in choices()


# -- still being listed ------------------------------------------------------------------------------------------------


def test_a_list_that_is_still_being_made_says_so(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(17):
        empty_store.session(f"s{number:02}")
    monkeypatch.setattr(sync, "NEWEST", 5)  # for each look: a first visit has one more, to see whether it has sessions
    page = read(signed_in.get("/"))
    assert page.one("p", id="unlisted").text.startswith("7 older sessions still being listed.")
    assert links(page)[0] == "/stores/own/sessions/s16"
    empty = read(signed_in.get("/?source=fax")).one(cls="empty")
    assert "Nothing that matches is listed yet." in empty.text and "2 older sessions" in empty.text
    note = read(signed_in.get("/", headers=FRAGMENT)).one("p", id="unlisted")
    assert note.text.startswith("All sessions are listed now.") and "hx-get" not in note.attributes
    assert not read(signed_in.get("/")).all("p", id="unlisted")


def test_what_is_not_counted_yet_says_so(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    empty_store.say("a", "user", "hello")
    line = read(signed_in.get("/?store=own")).one("li", "session")
    assert "not counted yet" in line.text and "1 message in context" in line.text
    sync_worker.sync_all()
    line = read(signed_in.get("/?store=own")).one("li", "session")
    assert "not counted yet" not in line.text and "1 message, all in context" in line.text


def test_no_store_that_can_be_read_is_said_plainly(signed_in: Client, settings: Settings, tmp_path: Path) -> None:
    settings.STORES, settings.DEMO_STORE = {"gone": "sqlite:////nowhere/state.db"}, tmp_path / "none.db"
    page = read(signed_in.get("/"))
    assert "No store can be read just now." in page.one(cls="empty").text
    said = "Store gone: /nowhere/state.db cannot be read: No such file or directory."
    assert page.one("ul", "stores").all("li")[0].text == said


def test_sessions_that_need_compaction(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("small", model="gpt-4")
    empty_store.session("large", model="gpt-4")
    empty_store.say("large", "user", "many more words " * 2_200)
    sync_worker.sync_all()
    assert links(read(signed_in.get("/?near=yes"))) == ["/stores/own/sessions/large"]
    line = next(line for line in read(signed_in.get("/")).all("li", "session") if "many more" in line.text)
    assert "needs compaction" in line.text
    listed = read(signed_in.get("/compactions")).one("ul", "near")
    assert [link.attributes["href"] for link in listed.all("a", "btn")] == ["/stores/own/sessions/large/plan"]


def test_a_session_that_seems_to_go_on_from_another_offers_it(signed_in: Client, empty_store: EmptyStore) -> None:
    for name, title in (("a", "Harbour"), ("b", "Harbour #2")):
        empty_store.session(name, title=title)
        empty_store.say(name, "user", "Plan the harbour")
    lines = {line.one(cls="title").one("a").text: line for line in read(signed_in.get("/")).all("li", "session")}
    offered = next(link for link in lines["Harbour #2"].one(cls="meta").all("a") if link.text == "Harbour")
    assert offered.attributes["href"] == "/stores/own/sessions/a"
    assert "Looks like it goes on from" not in lines["Harbour"].text


# -- work --------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_more_sessions_mean_no_more_queries_and_an_unchanged_store_is_not_opened(
    signed_in: Client, tmp_path: Path, settings: Settings, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PAGE", 10)
    counts = []
    for size in (15, 60):
        path = tmp_path / f"{size}.db"
        schema.create(path)
        fill(path, [f"s{number:03}" for number in range(size)])
        settings.STORES = {f"of{size}": f"sqlite:///{path}"}
        settle()
        sync_worker.sync_all()
        first = read(signed_in.get("/"))
        for address in ("/", "/?order=messages", "/?q=words", "/" + first.one("a", "neighbour").attributes["hx-get"]):
            statements.clear()
            with CaptureQueriesContext(connection) as queries:
                read(signed_in.get(address))
            assert not statements
            counts.append(len(queries))
    assert all(more <= less for less, more in zip(counts[:4], counts[4:], strict=True)) and max(counts) <= 9
