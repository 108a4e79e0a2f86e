"""The search page, and find in a session."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from compaction.handoff import CURRENT_HEADER, END_MARKER, LONG_DIRECTIVE_START
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.factories.stores import PRESENT, EmptyStore
from tests.html import Element, read
from tests.slow import slow
from viewer.catalog import sync_worker
from viewer.catalog.models import SessionIndex
from viewer.catalog.search import store_search
from viewer.pages import redaction
from viewer.pages.search import hits, totals
from viewer.pages.search import views as search
from viewer.pages.session import find
from viewer.stores.hermes import candidates, schema
from viewer.stores.search.pages import HitPage, Stage

FRAGMENT = {"HX-Request": "true"}
SUMMARY = f"{CURRENT_HEADER} {LONG_DIRECTIVE_START}\n## Goal\nFind the needle.\n\n{END_MARKER}"


def shown(page: Element) -> list[str]:
    """The addresses of the hits of a page."""
    return [re.sub(r"\?q=[^&]*&", "?", hit.one("a", "to").attributes["href"]) for hit in page.all("li", "hit")]


def walk(client: Client, query: str) -> list[str]:
    """The addresses of the hits of all pages of a search."""
    page = read(client.get(f"/search{query}"))
    found = shown(page)
    while more := page.all("a", "neighbour"):
        assert more[0].attributes["href"] == more[0].attributes["hx-get"]
        page = read(client.get("/search" + more[0].attributes["hx-get"], headers=FRAGMENT))
        assert not page.all("html")
        found += shown(page)
    return found


def test_works(signed_in: Client, empty_store: EmptyStore) -> None:
    address = empty_store.session("a", title="Sewing box")
    first = empty_store.say("a", "user", "Where is the needle?")
    under = empty_store.say("a", "assistant", "The Needle is in the hay.", active=0, compacted=1)
    page = read(signed_in.get("/search?q=needle"))
    assert shown(page) == [f"{address}?around={under}#m{under}", f"{address}?around={first}#m{first}"]
    away, live = page.all("li", "hit")
    assert "Assistant" in away.text
    assert "summarised away" in away.text
    assert "summarised away" not in live.text
    assert [mark.text for mark in page.one("ol", "hits").all("mark")] == ["Needle", "needle"]
    group = page.one("li", "of-session")
    assert group.one("h3").one("a").attributes["href"] == address and group.one("h3").text == "Sewing box"
    assert signed_in.get("/" + group.one("span", **{"hx-trigger": "revealed"}).attributes["hx-get"]).text == "2"
    assert page.one("input", id="search").attributes["value"] == "needle"


def test_sessions_whose_name_holds_the_words_come_first(signed_in: Client, empty_store: EmptyStore) -> None:
    address = empty_store.session("a", title="The needle case")
    empty_store.say("a", "user", "hello")
    empty_store.session("b", title="Another")
    page = read(signed_in.get("/search?q=needle"))
    assert [link.attributes["href"] for link in page.one("ul", "named").all("a")] == [address]
    assert not read(signed_in.get("/search?q=needle&role=user")).all("ul", "named")


def test_names_match_at_the_beginnings_of_words(signed_in: Client, empty_store: EmptyStore) -> None:
    for name, title in (
        ("a", "The latest needle"),
        ("b", "latest tests"),
        ("c", "a_test"),
        ("d", "針のtest箱"),
        ("e", "x"),
    ):
        empty_store.session(name, title=title)
    empty_store.session("f", title="Elsewhere", cwd="/srv/test")

    def named(query: str) -> str:
        lists = read(signed_in.get("/search", {"q": query})).all("ul", "named")
        return "".join(sorted(link.attributes["href"][-1] for each in lists for link in each.all("a")))

    assert named("test") == "bcf"
    assert named("lat need") == "a"
    assert named("のte") == "d", "scripts without spaces have no beginnings of words"


def test_copies_of_a_session_are_found_once(
    signed_in: Client, settings: Settings, empty_store: EmptyStore, tmp_path: Path
) -> None:
    empty_store.session("a", title="Needle case")
    empty_store.say("a", "user", "a needle", timestamp=PRESENT)
    (tmp_path / "copy.db").write_bytes(empty_store.path.read_bytes())
    settings.STORES = {**settings.STORES, "copy": f"sqlite:///{tmp_path / 'copy.db'}"}
    page = read(signed_in.get("/search?q=needle"))
    for line in (page.one("li", "of-session"), page.one("ul", "named").one("li")):
        hrefs = [link.attributes["href"] for link in line.all("a")]
        (first, _), *others = [(href.split("/")[2], href) for href in hrefs if href.startswith("/stores/")]
        other = next(store for store, _ in others if store != first)
        assert {first, other} == {"own", "copy"} and f"also in {other}" in line.text
    for name in ("own", "copy"):
        EmptyStore(tmp_path / f"{name}.db").say("a", "user", f"a needle in {name}", timestamp=PRESENT + 1)
    assert len(read(signed_in.get("/search?q=needle")).all("li", "of-session")) == 2, "what one of them has alone"


def test_at_most_five_sessions_are_named(signed_in: Client, empty_store: EmptyStore) -> None:
    for number in range(8):
        empty_store.session(f"s{number}", title=f"needle {number}")
    assert len(read(signed_in.get("/search?q=needle")).one("ul", "named").all("a")) == search.SESSIONS


def test_nothing_typed_says_what_can_be_searched_and_how(signed_in: Client, empty_store: EmptyStore) -> None:
    page = read(signed_in.get("/search"))
    how = page.one("main").one(cls="how")
    for said in ("Every message", "own", '"refund policy"', "reserv*", "-hotel", "two characters"):
        assert said in how.text
    assert how.one("form").attributes["action"] == "/search"


def test_nothing_found_says_what_was_looked_through_and_what_to_try(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SCANNED", 1)  # as for a store too large to look through
    empty_store.session("a")
    empty_store.chat("a", 2)
    empty = read(signed_in.get("/search?q=nothing+like+it&role=tool&store=own")).one(cls="empty")
    assert "No messages match “nothing like it ”." in empty.text
    assert "Looked through: own" in empty.text
    assert "8,192 characters" in empty.text
    links = [link.attributes["href"] for link in empty.all("a")]
    assert "?q=nothing+like+it" in links
    assert any("scan=1" in href for href in links)


@pytest.mark.parametrize(
    ("q", "found", "note"),
    [
        ("needle", 1, False),
        ("needl", 1, False),  # the last word may go on
        ("needl the", 0, False),  # only the last one: as the sentence says, no message matches
        ('"needl"', 0, True),  # found inside of words
        ("eedl", 1, True),
        ("EEDL hay", 1, True),
        ("zzzz", 0, False),
    ],
)
def test_no_message_matches_is_never_said_beside_hits(
    signed_in: Client, empty_store: EmptyStore, q: str, found: int, note: bool
) -> None:
    empty_store.session("a", title="needl zzzz the eedl")
    empty_store.say("a", "user", "a needle in hay")
    main = read(signed_in.get("/search", {"q": q})).one("section", "messages").text
    shown_hits = len(shown(read(signed_in.get("/search", {"q": q}))))
    assert shown_hits == (found or int(note)), q
    assert ("No messages match" in main) == (shown_hits == 0)
    assert ("inside of words" in main) == note
    assert "reserv" not in main


def test_what_to_try_fits_what_was_typed(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    for q, said, unsaid in (
        ("zzzz", "shorter part of it", "fewer words"),
        ("zzzz yyyy", "fewer words", "quotation"),
        ('"zzzz yyyy"', "without quotation marks", "fewer words"),
        ("zzzz -hotel", "without -hotel", "fewer words"),
    ):
        empty = read(signed_in.get("/search", {"q": q})).one(cls="empty").text
        assert said in empty, q
        assert unsaid not in empty, q


def test_nothing_found_has_one_way_on(signed_in: Client, empty_store: EmptyStore, settings: Settings) -> None:
    def ways_on(query: str) -> list[str]:
        page = read(signed_in.get("/search", {"q": "zzzz", **dict([query.split("=")] if query else [])}))
        return [link.attributes["href"] for link in page.one(cls="empty").all("a", "btn")]

    empty_store.session("a")
    assert ways_on("") == ["/?q=zzzz"]
    assert ways_on("role=user") == ["?q=zzzz"]
    settings.STORES = {"gone": "sqlite:////nowhere/state.db"}
    assert ways_on("store=gone") == ["/stores"]


def test_a_store_that_could_not_be_searched_is_named_and_not_called_looked_through(
    signed_in: Client, empty_store: EmptyStore, settings: Settings
) -> None:
    settings.STORES = {**settings.STORES, "gone": "sqlite:////nowhere/state.db"}
    empty = read(signed_in.get("/search?q=zzzz")).one(cls="empty").text
    assert "No messages match “zzzz ” in the stores that could be searched." in empty
    looked, _, left = empty.partition("Not searched: ")
    assert "own" in looked
    assert "gone" not in looked
    assert left.startswith("gone")
    alone = read(signed_in.get("/search?q=zzzz&store=gone"))
    assert "No store could be searched" in alone.one("main").text
    assert "No messages match" not in alone.one("main").text


def test_pages_of_what_stands_inside_words_go_on_as_they_began(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "PAGE", 4)
    empty_store.session("a")
    rows = [empty_store.say("a", role, "haystack") for role in ("user", "assistant") * 5]
    empty_store.say("a", "user", "hay")
    found = [int(href.split("#m")[1]) for href in walk(signed_in, "?q=ystack")]
    assert found == rows[::-1]


def test_a_summary_is_nobodys_words(signed_in: Client, empty_store: EmptyStore) -> None:
    address = empty_store.session("a")
    handoff = empty_store.say("a", "assistant", SUMMARY, _compressed_summary=1)
    (hit,) = read(signed_in.get("/search?q=needle")).all("li", "hit")
    assert "Summary by a compaction" in hit.text
    assert "Assistant" not in hit.text
    assert shown(hit) == [f"{address}?around={handoff}#b{handoff}"]


def test_session_text_is_text(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="<script>alert(1)</script>")
    empty_store.say(
        "a",
        "user",
        '<script>alert("needle")</script><mark>x</mark> \ud800 \x00 \u202e'.encode("utf-8", "replace").decode(),
    )
    page = read(signed_in.get("/search?q=needle"))
    passage = page.one("ol", "hits").one("p", "passage")
    assert '<script>alert("needle ")</script><mark>x</mark>' in passage.text
    assert len(page.one("ol", "hits").all("mark")) == 1
    assert not page.one("main").all("script")


def test_names_and_first_words_are_shown_with_what_was_found(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="Sewing box")
    empty_store.say("a", "user", "Where is the needle?")
    empty_store.session("b", title="Needle shop")
    empty_store.say("b", "user", "Hello")
    (a, b) = sorted(read(signed_in.get("/search?q=needle")).one("ul", "named").all("li"), key=lambda one: one.text)[
        ::-1
    ]
    assert [mark.text for mark in a.one("p", "passage").all("mark")] == ["needle"]
    assert [mark.text for mark in b.one("a").all("mark")] == ["Needle"] and not b.all("p", "passage")


def test_hits_stand_by_session_the_first_three_unfolded(signed_in: Client, empty_store: EmptyStore) -> None:
    for name in ("a", "b"):
        empty_store.session(name, title=f"Session {name}")
        for number in range(5):
            empty_store.say(name, "user", f"needle {number}", timestamp=PRESENT + number + 100 * (name == "b"))
    groups = read(signed_in.get("/search?q=needle")).all("li", "of-session")
    assert [group.one("h3").text for group in groups] == ["Session b", "Session a"]
    assert [len(group.all("ol")[0].all("li", "hit")) for group in groups] == [3, 3]
    assert [group.one("details").one("summary").text for group in groups] == ["2 more on this page"] * 2
    within = groups[0].one("a", "ref").attributes["href"]
    assert len(shown(read(signed_in.get("/search" + within)))) == 5


def test_filters_are_counted_behind_the_page(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", source="cli")
    empty_store.session("b", source="telegram")
    for number in range(3):
        empty_store.say("a", "user", f"needle {number}")
    empty_store.say("b", "assistant", "needle")
    signed_in.get("/")
    asked = read(signed_in.get("/search?q=needle"))
    assert {"anybody …", "tool results …", "cli …", "newest"} <= {link.text for link in asked.all("a")}
    (place,) = [div for div in asked.all("div", "groups") if "hx-get" in div.attributes]
    choices = {link.text for link in read(signed_in.get("/" + place.attributes["hx-get"])).all("a")}
    assert {"anybody 4", "user 3", "assistant 1", "cli 3", "telegram 1"} <= choices
    assert "tool results 0" in choices, "a choice that people have seen stays where it was"


def test_what_only_a_store_without_the_words_may_have_is_a_choice(
    signed_in: Client, settings: Settings, empty_store: EmptyStore, tmp_path: Path
) -> None:
    agent = ClaudeByHand(tmp_path / "claude")
    settings.STORES = {**settings.STORES, "work": f"claude-code:///{tmp_path / 'claude'}"}
    agent.write("s", [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "the needles"}])
    empty_store.session("a")
    empty_store.say("a", "user", "an eedle")
    sync_worker.sync_all()
    choices = {link.text for link in read(signed_in.get('/search/facets?q="eedle"')).all("a")}
    assert {"user 1", "assistant", "own 1", "work"} <= choices
    alone = {link.text for link in read(signed_in.get('/search/facets?q="eedle"&store=own')).all("a")}
    assert "assistant" not in alone


def test_all_choices_are_counted_by_one_search(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(totals.SAMPLE + 20):
        source = "cli" if number % 2 else "telegram"
        empty_store.session(f"s{number}", source=source)
        empty_store.say(f"s{number}", "user", f"needle {number}", timestamp=PRESENT + number)
    searched, plain = [], store_search.search

    def noted(*asked: Any) -> HitPage:
        searched.append(asked)
        return plain(*asked)

    monkeypatch.setattr(store_search, "search", noted)
    monkeypatch.setattr(totals, "SECONDS", 60.0)  # also on a busy machine

    def choices(query: str) -> set[str]:
        searched.clear()
        return {link.text for link in read(signed_in.get(f"/search/facets?q=needle{query}")).all("a")}

    found = choices("")
    assert {"anybody 50+", "user 50+", "assistant", "cli 25+", "telegram 25+"} <= found and len(searched) == 1
    assert {"anybody 35", "user 35", "any time 35", "cli 25+"} <= choices("&source=cli&role=user")
    assert len(searched) == 3, "one more for each group that narrows"
    assert {"newest", "best match", "anybody", "user"} <= choices("7zz"), "nothing found is no number"


def test_messages_of_a_project(signed_in: Client, settings: Settings, empty_store: EmptyStore, tmp_path: Path) -> None:
    agent = ClaudeByHand(tmp_path / "claude")
    settings.STORES = {**settings.STORES, "work": f"claude-code:///{tmp_path / 'claude'}"}
    agent.write("s", [{"role": "user", "content": "a needle in a file"}])
    for name, cwd in (("a", "/home/user/work"), ("b", "/srv/other")):
        empty_store.session(name, title=f"needle of {name}", cwd=cwd)
        empty_store.say(name, "user", "a needle in a row")
    sync_worker.sync_all()
    assert len(shown(read(signed_in.get("/search?q=needle")))) == 3
    page = read(signed_in.get("/search?q=needle&project=/home/user/work"))
    assert {href.split("?")[0] for href in shown(page)} == {
        "/stores/own/sessions/a", f"/stores/work/sessions/{agent.id_of('s')}",
    }  # fmt: skip
    assert "needle of b" not in page.one("main").text
    groups = {group.one("span", "name").text: group for group in page.all("div", "group")}
    assert [link.text for link in groups["Project"].all("a")] == ["all", "work", "other"]
    assert groups["Project"].all("a")[1].attributes["aria-current"] == "true"


@pytest.mark.parametrize("name", ["d" * 400, "語" * 250])
def test_messages_of_a_project_with_a_long_directory(signed_in: Client, empty_store: EmptyStore, name: str) -> None:
    for at, cwd in enumerate((f"/{name}", f"/{name[:-1]}", "/other", f"/{name[:50]}")):
        empty_store.session(f"s{at}", cwd=cwd)
        empty_store.say(f"s{at}", "user", "a needle")
    sync_worker.sync_all()
    for at, expected in enumerate((["s0", "s1"], ["s0", "s1"], ["s2"], ["s3"])):
        project = SessionIndex.objects.get(session_id=f"s{at}").cwd
        found = shown(read(signed_in.get("/search", {"q": "needle", "project": project})))
        assert sorted(href.partition("?")[0][-2:] for href in found) == expected


def test_many_hits_are_counted_up_to_a_hundred(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    for number in range(105):
        empty_store.say("a", "user", f"needle {number}")
    assert signed_in.get("/search/total?q=needle&session=a&store=own").text == "100+"
    assert signed_in.get("/search/total?q=needle+7&session=a&store=own").text == "1"
    assert signed_in.get("/search/total?q=needle&session=gone&store=own").text == "0"


@pytest.mark.parametrize("q", ['"', "\x00", "a" * 10_000, "\ud800", "<b>", "AND NEAR(", "%00", "*", "-", "🙂"])
def test_hostile_words(signed_in: Client, empty_store: EmptyStore, q: str) -> None:
    empty_store.session("a")
    empty_store.say("a", "user", "AND NEAR( <b> 🙂")
    address = "/search?" + "q=" + "".join(f"%{octet:02x}" for octet in q.encode("utf-8", "surrogatepass"))
    read(signed_in.get(address))
    read(signed_in.get(address.replace("/search", "/stores/own/sessions/a/find")))


@given(st.text(max_size=40), st.text(max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_words_and_any_place(signed_in: Client, empty_store: EmptyStore, q: str, after: str) -> None:
    words = q.encode("utf-8", "replace").decode()
    assert signed_in.get("/search", {"q": words, "after": after}).status_code == 200


@pytest.mark.parametrize(
    "after", ["x", "own:", "own:1", "own:99999999999999999999", "own:1~nan", "own:1~1e999", ":,:", "other:5", "own:-1"]
)
def test_a_broken_cursor_breaks_nothing(signed_in: Client, empty_store: EmptyStore, after: str) -> None:
    empty_store.session("a")
    empty_store.say("a", "user", "needle")
    assert signed_in.get("/search", {"q": "needle", "after": after}).status_code == 200


def test_filters_are_one_line_and_more_of_them(signed_in: Client, empty_store: EmptyStore) -> None:
    for name, source in (("a", "cli"), ("b", "telegram")):
        empty_store.session(name, source=source)
        empty_store.say(name, "user", "needle")

    def rows(query: str) -> list[list[str]]:
        page = read(signed_in.get(f"/search?q=needle{query}")).one("details", "filters")
        more = page.one("details", id="more-filters")
        return [[group.one("span", "name").text for group in part.all("div", "group")] for part in (page, more)]

    everything, more = rows("")
    assert everything[: len(everything) - len(more)] == ["Said by", "When"]
    assert more == ["Source", "Order"]
    assert rows("&source=cli")[1] == ["Order"], "what is in use is on the first line"
    counted = read(signed_in.get("/search/facets?q=needle"))
    assert [
        group.one("span", "name").text for group in counted.one("div", id="more-groups").all("div", "group")
    ] == more
    for query, is_open in (("", False), ("&since=2026-01-05", True), ("&until=2026-01-05", True)):
        fold = read(signed_in.get(f"/search?q=needle{query}")).one("details", id="more-filters")
        assert ("open" in fold.attributes) == is_open, "the days that were typed can be seen"


@pytest.mark.parametrize(
    ("role", "text", "shown_text"),
    [
        ("assistant", "Book **the needle** and **more needles**.", "Book the needle and more needles."),
        ("assistant", "A **needle costs 2**3 or more", "A **needle costs 2**3 or more"),
        ("user", "f(**needle) and **thread", "f(**needle) and **thread"),
        ("tool", "grep: **needle** here", "grep: **needle** here"),
    ],
)
def test_signs_of_bold_text_are_not_shown_in_words(
    signed_in: Client, empty_store: EmptyStore, role: str, text: str, shown_text: str
) -> None:
    empty_store.session("a")
    empty_store.say("a", role, text)
    passage = read(signed_in.get("/search?q=needle")).all("p", "passage")[-1]
    assert "".join(passage.text.split()) == "".join(shown_text.split())
    assert passage.all("mark")


def test_filters_are_links_and_narrow(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", source="cli", title="A")
    empty_store.session("b", source="telegram", title="B")
    mine = empty_store.say("a", "user", "needle", timestamp=PRESENT - 400 * 86_400)
    told = empty_store.say("b", "assistant", "needle", timestamp=PRESENT)
    page = read(signed_in.get("/search?q=needle"))
    links = {link.text.removesuffix(" …"): link.attributes["href"] for link in page.one("details", "filters").all("a")}
    for label, expected in (("assistant", told), ("user", mine), ("telegram", told), ("cli", mine)):
        assert [href.split("#m")[1] for href in walk(signed_in, links[label])] == [str(expected)], label
    assert "best match" in links
    day = "2000-01-01"
    assert len(walk(signed_in, f"?q=needle&since={day}")) == 2
    assert walk(signed_in, f"?q=needle&until={day}") == []
    assert len(walk(signed_in, "?q=needle&since=nonsense&order=nonsense&role=nonsense")) == 2
    assert len(walk(signed_in, "?q=needle&session=a")) == 1
    chosen = read(signed_in.get("/search" + links["telegram"])).one("details", "filters")
    assert "telegram …" in [link.text for link in chosen.all("a") if "aria-current" in link.attributes]


@pytest.mark.parametrize("order", ["", *slow("best")])
def test_pages_of_several_stores_hold_each_hit_once(
    signed_in: Client, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    settings.STORES = {}
    for at, name in enumerate(("b", "a", "c,:~ d")):
        path = tmp_path / f"{at}.db"
        schema.create(path)
        settings.STORES[name] = f"sqlite:///{path}"
        with closing(sqlite3.connect(path)) as con, con:
            con.execute("INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
            con.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', ?, ?)",
                [(f"needle {number}", PRESENT + 3 * number + at) for number in range(20)],
            )
    monkeypatch.setattr(search, "PAGE", 7)
    found = walk(signed_in, f"?q=needle&order={order}")
    assert len(found) == len(set(found)) == 60
    if not order:  # by session, in the order of the newest hit of each
        assert list(dict.fromkeys(href.split("/")[2] for href in found[:7])) == ["c~2C:~7E~20d", "a", "b"]


def test_a_store_that_cannot_be_searched_does_not_hide_the_others(
    signed_in: Client, empty_store: EmptyStore, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked.db"
    schema.create(locked)
    settings.STORES = {
        **settings.STORES,
        "gone": "sqlite:////nowhere/state.db",
        "held": f"sqlite:///{locked}",
        "pg": "postgres://user:secret@host/db",
    }
    empty_store.session("a")
    empty_store.say("a", "user", "needle")
    with closing(sqlite3.connect(locked, isolation_level=None)) as con:
        con.execute("PRAGMA journal_mode = DELETE")
        con.execute("BEGIN EXCLUSIVE")
        page = read(signed_in.get("/search?q=needle"))
    assert len(shown(page)) == 1
    problems = [item.text for item in page.all("span", role="alert")]
    assert [problem.split()[1].rstrip(":") for problem in problems] == ["gone", "held", "pg"]
    assert "locked by another program" in problems[1]
    assert "secret" not in page.text


def test_work_is_bounded_and_the_page_says_so(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SCANNED", 100)
    empty_store.session("a")
    old = empty_store.say("a", "user", "去东京")
    empty_store.chat("a", 150)
    page = read(signed_in.get("/search?q=东京&store=own"))
    assert "Only 100 messages were looked at in this step." in page.text
    assert "Nothing found so far" in page.text
    (more,) = page.all("a", "neighbour")
    assert more.text == "Look further back"
    assert more.attributes["hx-trigger"] == "click"  # not by itself when it comes near
    assert [href.split("#m")[1] for href in walk(signed_in, "?q=东京&store=own")] == [str(old)]


def test_a_browser_that_masks_is_shown_no_secret(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    empty_store.say("a", "user", "the needle key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD")
    assert "abcdefghijklmnop" in read(signed_in.get("/search?q=needle")).text
    signed_in.cookies[redaction.COOKIE] = "1"
    for address in ("/search?q=needle", "/stores/own/sessions/a/find?q=needle"):
        page = read(signed_in.get(address))
        assert "needle" in [mark.text for mark in page.all("mark")]
        assert "abcdefghijklmnop" not in page.text


@pytest.mark.slow
def test_more_matches_mean_no_more_queries(
    signed_in: Client, tmp_path: Path, settings: Settings, statements: list[str]
) -> None:
    counts = []
    for size in (60, 6_000):
        path = tmp_path / f"{size}.db"
        schema.create(path)
        with closing(sqlite3.connect(path)) as con, con:
            con.execute("INSERT INTO sessions (id, source, started_at, title) VALUES ('s', 'cli', 1, 'hay')")
            con.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'user', 'a needle', ?)",
                [(number,) for number in range(size)],
            )
        settings.STORES = {f"of{size}": f"sqlite:///{path}"}
        statements.clear()
        page = read(signed_in.get(f"/search?q=needle&after=of{size}:{size}", headers=FRAGMENT))
        assert len(shown(page)) == search.PAGE
        counts.append(len([statement for statement in statements if not statement.startswith("--")]))
    assert counts[0] == counts[1] > 0


STAGES: dict[str, Stage] = {"a": "inside", "b,:~": "words", "c": "none", "d": "through"}


def test_positions_are_read_as_they_were_written() -> None:
    places = hits.Positions({"a": (0.0, 5), "b,:~": (-1.25e-6, 7), "c": None, "d": (0.0, 9)}, STAGES)
    assert hits.positions(places.text) == places
    assert hits.positions("") == hits.Positions()


# -- find in a session -------------------------------------------------------------------------------------------------


def test_find_in_a_session(signed_in: Client, empty_store: EmptyStore) -> None:
    address = empty_store.session("a", title="Sewing box")
    first = empty_store.say("a", "user", "the needle")
    second = empty_store.say("a", "assistant", "many needles, all in one", active=0, compacted=1)
    empty_store.session("b")
    empty_store.say("b", "user", "another needle")
    page = read(signed_in.get(f"{address}/find?q=needle"))
    assert page.one("h1").text == "Find in Sewing box"
    assert "2 found" in page.one(id="found").text
    assert shown(page) == [f"{address}?around={first}#m{first}", f"{address}?around={second}#m{second}"]
    assert [mark.text for mark in page.one(id="found").all("mark")] == ["needle", "needle"]
    part = read(signed_in.get(f"{address}/find?q=needle", headers=FRAGMENT))
    assert not part.all("html")
    assert shown(part) == shown(page)


def test_find_takes_parts_of_words_and_text_as_it_stands(signed_in: Client, empty_store: EmptyStore) -> None:
    address = empty_store.session("a")
    hay = empty_store.say("a", "user", "haystacks -> (x)")
    both = empty_store.say("a", "user", "stack; hay")
    for q, expected in (
        ("ystack", [hay]),
        ("-> (x", [hay]),
        ("STACK", [hay, both]),
        ("hay stack", [both]),
        ("zzz", []),
    ):
        page = read(signed_in.get(f"{address}/find", {"q": q}))
        assert shown(page) == [f"{address}?around={row}#m{row}" for row in expected], q
    assert "Nothing found" in page.one(id="found").text


def test_find_goes_through_the_parts_before(
    signed_in: Client, small_hermes_copy: Callable[[int], Path], settings: Settings
) -> None:
    settings.STORES = {"v16": f"sqlite:///{small_hermes_copy(16)}"}
    with closing(sqlite3.connect(settings.STORES["v16"].removeprefix("sqlite:///"))) as con:
        (tip,) = con.execute(
            "SELECT id FROM sessions WHERE parent_session_id IS NOT NULL AND end_reason IS NOT 'compression'"
        ).fetchone()
        own = con.execute("SELECT MIN(id) FROM messages WHERE session_id = ?", [tip]).fetchone()[0]
    address = f"/stores/v16/sessions/{tip}"
    found = shown(read(signed_in.get(f"{address}/find?q=reservation")))
    ids = [int(href.split("#")[1][1:]) for href in found]
    assert ids == sorted(ids)
    assert min(ids) < own <= max(ids)
    assert all(href.startswith(f"{address}?around=") for href in found)


def test_find_is_bounded(signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "MOST", 10)
    monkeypatch.setattr(candidates, "SCANNED", 50)
    address = empty_store.session("a")
    old = empty_store.say("a", "tool", "thimble")  # tools' results are in no index of letters
    empty_store.chat("a", 120)
    for _ in range(12):
        empty_store.say("a", "user", "needle")
    page = read(signed_in.get(f"{address}/find?q=needle"))
    assert "The newest 10" in page.one(id="found").text
    assert len(shown(page)) == 10
    page = read(signed_in.get(f"{address}/find?q=himbl"))
    [stated] = page.one(id="found").all("p", "note")
    assert stated.text == "No match in the newest 50 rows, and no whole word before"
    assert page.one(id="found").all("a")[-1].text == "Look further back"
    for _ in range(3):
        link = page.one(id="found").all("a")[-1].attributes["href"]
        page = read(signed_in.get(link))
        if shown(page):
            break
    assert shown(page) == [f"{address}?around={old}#m{old}"]


def test_passages_of_tools_are_without_line_numbers_and_escaped_line_ends(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    address = empty_store.session("a")
    empty_store.say("a", "user", "go")
    empty_store.say("a", "tool", "1→defmodule Shop do\n2→  needle here in C:\\new failed:\\n\\n[LINT]\\nFix it")
    empty_store.say("a", "user", f"{'words before it ' * 20} needle")
    empty_store.say("a", "user", "in/home/me/projects/shop/lib/shop_web/needle.ex")
    page = read(signed_in.get(f"{address}/find?q=needle"))
    first, second, path = (passage.text for passage in page.all("p", "passage"))
    assert path == "…shop/lib/shop_web/needle .ex"
    assert first == "defmodule Shop do needle here in C:\\new failed: [LINT] Fix it"
    assert second == "… it words before it needle", "so that the first line of a narrow column shows it"


def test_every_hit_opens_in_its_session(
    signed_in: Client, small_hermes_copy: Callable[[int], Path], settings: Settings
) -> None:
    settings.STORES = {f"v{version}": f"sqlite:///{small_hermes_copy(version)}" for version in (16, 21, 31)}
    for href in walk(signed_in, "?q=cancel*&until=2100-01-01")[:60:6]:
        address, _, mark = href.partition("#")
        page = read(signed_in.get(address, follow=True))
        assert page.all(id=mark) or page.all("article"), href
