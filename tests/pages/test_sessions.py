"""The list of sessions."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tests.factories.session_lists import fill, settle
from tests.factories.stores import PRESENT, EmptyStore
from tests.html import Element, read
from viewer.catalog import sync, sync_worker
from viewer.catalog.models import SessionIndex
from viewer.pages import redaction
from viewer.pages.parts.projects import names_of
from viewer.pages.preferences import DEMO_COOKIE, FIRST
from viewer.pages.sessions import views as sessions
from viewer.stores.hermes import schema

FRAGMENT = {"HX-Request": "true"}
SESSION = "(a session)"


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
    assert not page.one("ul", "stores").text and "PALIMPSEST_STORES" not in page.text
    assert {"v16", "v21", "v31"} < {link.text.split()[0] for link in page.one(id="facets").all("a")}
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
    assert "Titles, directories, ids and first requests are searched." in empty.text
    hrefs = [link.attributes["href"] for link in empty.all("a", "btn")]
    assert hrefs == ["/search?q=nothing%20like%20it", "/"]
    for query, said in (
        ("?q=nothing&state=open", "within the filters above"),
        ("?state=ended", "Take a filter away"),
        ("?state=archived", "The archive is empty."),
        ("?near=yes", "None of these sessions needs compaction."),
    ):
        empty = read(signed_in.get(f"/{query}")).one(cls="empty")
        assert said in empty.text and "/" in [link.attributes["href"] for link in empty.all("a", "btn")]


def test_a_first_visitor_reads_what_this_is_and_where_to_start(signed_in: Client, demo: Callable[[str], str]) -> None:
    page = read(signed_in.get("/"))
    assert "Nothing is deleted" in page.one("figure", "story").text
    first = page.one(cls="first")
    assert FIRST in first.text
    assert first.one("a", "btn").attributes["href"] == demo(FIRST)
    assert not read(signed_in.get("/?q=lisbon")).all("figure", "story")
    assert words_above(page) <= 61, "one of them only on a phone, where the filters are folded"
    signed_in.get(demo(FIRST))
    page = read(signed_in.get("/"))
    assert page.one("details", "story-line").one("figure") and words_above(page) <= 30


def words_above(page: Element) -> int:
    """The number of words that are seen above the first session."""

    def seen(element: Element) -> Iterator[str]:
        for each in element.inside:
            if isinstance(each, str):
                yield each
            elif "session" in each.classes:
                yield SESSION
            elif "hidden" not in each.classes:
                folded = each.tag == "details" and "open" not in each.attributes
                yield from seen(each.one("summary") if folded else each)

    texts = takewhile(lambda text: text is not SESSION, seen(page.one("main")))
    return sum(len(text.split()) for text in texts)


def test_a_renamed_session_is_not_the_one_to_start_with(
    signed_in: Client, demo: Callable[[str], str], settings: Settings
) -> None:
    demo(FIRST)
    with closing(sqlite3.connect(settings.DEMO_STORE)) as con, con:
        con.execute("UPDATE sessions SET title = 'Elsewhere' WHERE title = ?", [FIRST])
    assert not read(signed_in.get("/")).one(cls="first").all("a", "btn")


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
    from viewer.demo import ensure_demo

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
    empty_store.say("large", "user", "many more words " * 2_200, timestamp=time.time() - 86_400)
    sync_worker.sync_all()
    assert links(read(signed_in.get("/?near=yes"))) == ["/stores/own/sessions/large"]
    page = read(signed_in.get("/"))
    line = next(line for line in page.all("li", "session") if "many more" in line.text)
    assert "needs compaction" in line.text
    assert page.one(id="needing") and "Needs" not in page.one(id="facets").text, "no choice of what is above the list"
    for name, classes in (("large", {"used", "near"}), ("small", {"used"})):
        head = read(signed_in.get(f"/stores/own/sessions/{name}")).one(id="fill")
        assert set(head.all("rect")[1].classes) == classes, "the head's bar has the colour of the list's"
    listed = read(signed_in.get("/compactions")).one("ul", "near")
    assert [link.attributes["href"] for link in listed.all("a", "btn")] == ["/stores/own/sessions/large/plan"]


def test_what_needs_compaction_is_above_the_others_and_only_there(signed_in: Client, empty_store: EmptyStore) -> None:
    now, day = time.time(), 86_400
    others: dict[str, dict[str, Any]] = {"rests": {}, "ended": {"ended_at": now}}
    for at, name in enumerate((*(f"full{number}" for number in range(6)), *others)):
        empty_store.session(name, model="gpt-4", title=f"Session {name}", **others.get(name, {}))
        ago = 40 * day if name == "rests" else 60 * at
        empty_store.say(name, "user", "many more words " * 2_200, timestamp=now - day - ago)
    empty_store.session("small", title="Session small")
    empty_store.say("small", "user", "hello", timestamp=now)
    sync_worker.sync_all()
    page = read(signed_in.get("/"))
    heads = [head.text for head in page.one("ol", "lines").all("h2")]
    assert heads == ["Needs compaction", "Other sessions"]
    listed = [href.rsplit("/")[-1] for href in links(page)]
    assert listed == [*(f"full{number}" for number in range(5)), "small", "full5", "ended", "rests"], "each once"
    first = page.all("li", "session")[0]
    assert first.one("a", "btn").attributes["href"] == "/stores/own/sessions/full0/plan"
    (chip,) = [link for link in page.one(id="facets").all("a") if "Needs compaction" in link.text]
    assert (chip.text, chip.attributes["href"]) == ("▲ Needs compaction 6", "?near=yes")
    for narrowed in ("/?near=yes", "/?order=title", "/?q=session"):
        assert not read(signed_in.get(narrowed)).one("ol", "lines").all("h2")
    (chip,) = [link for link in read(signed_in.get("/?near=yes")).one(id="facets").all("a") if "Needs" in link.text]
    assert (chip.attributes["href"], "aria-current" in chip.attributes) == ("?", True), "the way back"


def test_nothing_is_said_of_compaction_where_no_session_needs_one(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("small")
    empty_store.say("small", "user", "hello")
    sync_worker.sync_all()
    assert "eeds compaction" not in read(signed_in.get("/")).one("main").text


def test_a_number_that_is_not_counted_again_yet_is_marked(signed_in: Client, empty_store: EmptyStore) -> None:
    def numbers() -> list[str]:
        line = read(signed_in.get("/?store=own")).one("li", "session")
        return [line.one(cls="fill").text, line.one(cls="counts").text.split()[0]]

    empty_store.session("a")
    empty_store.say("a", "user", "hello")
    sync_worker.sync_all()
    assert not any("~" in number for number in numbers())
    empty_store.say("a", "assistant", "hello")
    assert all("~" in number for number in numbers())


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


def test_what_needs_compaction_and_is_gone_on_with_is_named(signed_in: Client, empty_store: EmptyStore) -> None:
    now, day = time.time(), 86_400
    for name, ago, more in (("old", 40, {}), ("b", 2, {}), ("a", 5, {}), ("ended", 1, {"ended_at": now})):
        empty_store.session(name, model="gpt-4", title=f"Session {name}", **more)
        empty_store.say(name, "user", "many more words " * 2_200, timestamp=now - ago * day)
    sync_worker.sync_all()
    main = read(signed_in.get("/compactions")).one("main")
    assert [line.all("a")[0].text for line in main.one("ul", "near").all("li")] == ["Session b", "Session a"]
    listed = read(signed_in.get("/?near=yes"))
    assert links(listed) == ["/stores/own/sessions/b", "/stores/own/sessions/a"]
    assert len(read(signed_in.get("/")).one("main").all("rect", "near")) == 2, "the others have no colour"
    for name in ("old", "b", "a", "ended"):
        head = read(signed_in.get(f"/stores/own/sessions/{name}")).one(id="fill")
        assert ("near" in head.all("rect")[1].classes) == (name in ("a", "b")), "and none in the session's head"


@pytest.mark.parametrize("days", [1, 400])
def test_more_than_the_window_takes_is_red_in_list_and_head_while_it_is_gone_on_with(
    signed_in: Client, empty_store: EmptyStore, days: int
) -> None:
    href = empty_store.session("over", model="gpt-4")
    empty_store.say("over", "user", "many more words " * 3_500, timestamp=time.time() - days * 86_400)
    sync_worker.sync_all()
    for page in (
        read(signed_in.get("/?near=yes" if days == 1 else "/")).one("li", "session"),
        read(signed_in.get(href)).one(id="fill"),
    ):
        assert set(page.all("rect")[1].classes) == ({"used", "over"} if days == 1 else {"used", "full"})


# -- projects ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def projects(db: None, empty_store: EmptyStore) -> EmptyStore:
    """Sessions a and b in one directory, c in another one of the same name, d in none."""
    for at, (name, cwd) in enumerate(
        (("a", "/srv/ana/shop"), ("b", "/srv/ana/shop"), ("c", "/srv/ben/shop"), ("d", None))
    ):
        empty_store.session(name, cwd=cwd, source="cli" if name == "a" else "telegram")
        empty_store.say(name, "user", "hello", timestamp=PRESENT + at)
    sync_worker.sync_all()
    return empty_store


def choices_of(page: Element, name: str) -> list[str]:
    groups = page.one("div", id="facets").all("div", "group")
    return next(
        ([link.text for link in group.all("a")] for group in groups if group.one("span", "name").text == name), []
    )


@pytest.mark.usefixtures("projects")
def test_a_project_is_a_choice_and_its_directory_is_found(signed_in: Client) -> None:
    page = read(signed_in.get("/"))
    assert choices_of(page, "Project") == ["all 4", "ana/shop 2", "ben/shop 1"]
    link = next(link for link in page.one(id="facets").all("a") if link.text == "ana/shop 2")
    assert link.attributes["title"] == "/srv/ana/shop"
    narrowed = read(signed_in.get("/" + link.attributes["href"]))
    assert links(narrowed) == ["/stores/own/sessions/b", "/stores/own/sessions/a"]
    assert narrowed.one("b", id="total").text == "2 sessions"
    assert choices_of(narrowed, "Project") == ["all 4", "ana/shop 2", "ben/shop 1"]
    assert choices_of(narrowed, "Source") == ["all 2", "cli 1", "telegram 1"], "within the project"
    for order in ("title", "tokens", "cost"):
        assert sorted(links(read(signed_in.get(f"/?project=/srv/ana/shop&order={order}")))) == sorted(links(narrowed))
    assert links(read(signed_in.get("/?project=/srv/ana/shop&source=cli"))) == ["/stores/own/sessions/a"]
    assert links(read(signed_in.get("/?project=/srv/ana/shop&q=b"))) == ["/stores/own/sessions/b"]
    assert not links(read(signed_in.get("/?project=/srv"))) and not links(read(signed_in.get("/?project=%00")))
    assert len(links(read(signed_in.get("/?q=/ana/sh")))) == 2 and len(links(read(signed_in.get("/?q=shop")))) == 3
    assert links(read(signed_in.get("/?q=ben/shop"))) == ["/stores/own/sessions/c"]


def test_the_root_as_a_project_has_a_name() -> None:
    assert names_of(["/", "/srv/shop", ""]) == {"/": "/", "/srv/shop": "shop", "": ""}


@pytest.mark.usefixtures("projects")
def test_a_store_begins_with_its_projects(signed_in: Client) -> None:
    shown = read(signed_in.get("/?store=own")).one("section", "projects")
    assert [line.all("a")[0].text for line in shown.all("li")] == ["ben/shop", "ana/shop"], "the one active last first"
    assert "2 sessions" in shown.all("li")[1].text
    assert links(read(signed_in.get("/" + shown.all("a")[1].attributes["href"]))) == [
        "/stores/own/sessions/b",
        "/stores/own/sessions/a",
    ]
    for query in ("", "?store=own&project=/srv/ana/shop", "?store=own&q=shop"):
        assert not read(signed_in.get(f"/{query}")).all("section", "projects")


@pytest.mark.usefixtures("projects")
@pytest.mark.parametrize("query", ["", "?store=own", "?project=/srv/ana/shop"])
def test_projects_are_read_by_few_queries(signed_in: Client, query: str, statements: list[str]) -> None:
    settle()
    sync_worker.sync_all()
    signed_in.get(f"/{query}")  # what an edition of the lines has is counted once
    statements.clear()
    with CaptureQueriesContext(connection) as queries:
        signed_in.get(f"/{query}")
    assert not statements and len(queries) <= 9


def test_a_project_with_a_secret_is_no_choice_where_secrets_are_redacted(
    signed_in: Client, projects: EmptyStore
) -> None:
    secret = "sk-ant-" + "a1B2" * 10
    projects.session("e", cwd=f"/srv/{secret}")
    projects.say("e", "user", "hello")
    sync_worker.sync_all()
    assert secret in signed_in.get("/").content.decode()
    signed_in.cookies[redaction.COOKIE] = "1"
    for address in ("/", "/?store=own"):
        assert secret not in signed_in.get(address).content.decode()


def test_a_long_directory_is_shortened_in_its_middle(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="A", cwd="/srv/marshmallow-code__marshmallow-1867")
    empty_store.say("a", "user", "hello")
    (shown,) = (
        read(signed_in.get("/")).one("li", "session").all("span", title="/srv/marshmallow-code__marshmallow-1867")
    )
    assert shown.text == "· marshmallo…allow-1867"


def test_a_title_of_emoji_alone_has_the_first_words(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="🐝🍯")
    empty_store.say("a", "user", "Where do bees sleep?")
    line = read(signed_in.get("/")).one("li", "session")
    assert line.one(cls="title").one("a").text == "🐝🍯 Where do bees sleep?"


def test_earlier_parts_and_the_archive_are_counted_apart(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", end_reason="compression", ended_at=PRESENT)
    empty_store.session("b", parent_session_id="a", started_at=PRESENT + 1)
    empty_store.session("c", archived=1)
    for name in "abc":
        empty_store.say(name, "user", "hello")
    sync_worker.sync_all()
    assert "1 session, and 1 earlier part, 1 archived" in read(signed_in.get("/stores")).text
    assert "1 session" in read(signed_in.get("/?store=own")).one(id="total").text


def test_sub_agents_are_below_the_session_that_started_them(signed_in: Client, empty_store: EmptyStore) -> None:
    config = '{"_delegate_from": "%s"}'
    for at, (name, parent) in enumerate((("c", "a"), ("a", ""), ("d", "c"), ("b", ""), ("e", "gone"))):
        more = {"parent_session_id": parent, "model_config": config % parent} if parent else {}
        empty_store.session(name, title=f"Session {name}", **more)
        empty_store.say(name, "user", "hello", timestamp=PRESENT + at)
    sync_worker.sync_all()
    assert "2 sessions, and 3 sub-agents" in read(signed_in.get("/stores")).text
    page = read(signed_in.get("/?sub-agents=shown"))
    assert [href[-1] for href in links(page)] == ["e", "b", "a", "c", "d"]
    assert [line.one(cls="title").one("a").text[-1] for line in page.all("li", "below")] == ["c", "d"]


@pytest.mark.django_db
def test_a_long_directory_is_cut_as_an_index_needs_it(empty_store: EmptyStore) -> None:
    empty_store.session("a", cwd="/" + "語" * 400)
    sync_worker.sync_all()
    assert len(SessionIndex.objects.get().cwd.encode()) == 1 + 599 // 3 * 3
