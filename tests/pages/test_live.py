"""What is said while a session's page is open."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest
from django.http import HttpResponse
from django.test import Client

from tests.agents.hermes.at_work import HermesAtWork
from tests.factories.session_lists import settle
from tests.factories.stores import PRESENT, EmptyStore, HermesStore
from tests.html import Element, message_ids, read
from viewer.runs import service
from viewer.runs.planning import Options

FRAGMENT = {"HX-Request": "true"}


class Reader:
    """A browser that looks at a session's page and what comes after."""

    def __init__(self, client: Client, address: str) -> None:
        self.client = client
        self.pages = [read(client.get(address))]

    @property
    def live(self) -> Element:
        return next(page for page in reversed(self.pages) if page.all(id="live")).one(id="live")

    def look(self) -> HttpResponse:
        return self.client.get(self.live.attributes["hx-get"], headers=FRAGMENT)  # type: ignore[return-value]

    def news(self) -> Element:
        self.pages.append(read(self.look()))
        return self.pages[-1]


def test_nothing_new_is_no_content_and_nothing_is_read(
    signed_in: Client, empty_store: EmptyStore, statements: list[str]
) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 5)
    reader = Reader(signed_in, href)
    assert reader.live.attributes["hx-trigger"] == "look"
    assert "data-live" in reader.live.attributes
    settle()
    assert reader.look().status_code == 204
    statements.clear()
    for _ in range(3):
        assert reader.look().status_code == 204
    assert statements == []


def test_what_another_session_says_is_no_news(signed_in: Client, empty_store: EmptyStore) -> None:
    href, _ = empty_store.session("s"), empty_store.session("t")
    empty_store.chat("s", 5)
    reader = Reader(signed_in, href)
    empty_store.chat("t", 5)
    assert reader.look().status_code == 204


def test_new_messages_follow_once_with_the_header_and_the_contents(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 5)
    reader = Reader(signed_in, href)
    for number in range(3):
        ids.append(empty_store.say("s", "user", f"question {number}", timestamp=PRESENT + 100 + number))
        ids.append(empty_store.say("s", "assistant", f"answer {number}", timestamp=PRESENT + 100.5 + number))
        news = reader.news()
        assert message_ids(news) == ids[-2:]
        assert not news.all("html")
        facts = news.one(id="facts")
        assert facts.attributes["hx-swap-oob"] == "true"
        assert f"{len(ids)} messages" in facts.text
        listed = news.one("ol", id="toc")
        assert listed.attributes["hx-swap-oob"] == "beforeend"
        assert [item.text for item in listed.all("li")] == [f"question {number}"]
        assert reader.look().status_code == 204
    assert message_ids(read(signed_in.get(href))) == ids


def test_a_result_comes_into_the_fold_of_its_call(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "go")
    calls = [empty_store.call("f", "c1"), empty_store.call("g", "c2")]
    called = empty_store.say("s", "assistant", None, tool_calls=calls, timestamp=PRESENT + 1)
    reader = Reader(signed_in, href)
    assert message_ids(reader.live) == [called]  # waits inside the end of the page, to be shown anew
    empty_store.say("s", "tool", "first result", tool_call_id="c1", timestamp=PRESENT + 2)
    once = reader.news()
    assert message_ids(once) == message_ids(reader.live)
    assert "first result" in reader.live.text
    empty_store.say("s", "tool", "second result", tool_call_id="c2", timestamp=PRESENT + 3)
    said = empty_store.say("s", "assistant", "done", timestamp=PRESENT + 4)
    done = reader.news()
    assert not reader.live.all("article")
    articles = done.all("article")
    assert [article.attributes.get("id") for article in articles] == [f"m{called}", f"m{said}"]
    assert "first result" in articles[0].text
    assert "second result" in articles[0].text
    assert reader.look().status_code == 204


def test_a_late_result_of_an_older_call_stands_alone(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "assistant", None, tool_calls=[empty_store.call("f", "c1")])
    empty_store.say("s", "user", "never mind", timestamp=PRESENT + 1)
    reader = Reader(signed_in, href)
    empty_store.say("s", "tool", "late", tool_call_id="c1", timestamp=PRESENT + 2)
    assert "late" in reader.news().text


CHANGES: dict[str, Callable[[HermesStore], object]] = {
    "taken back": lambda hermes_store: hermes_store.take_back_newest(),
    "compacted": lambda hermes_store: HermesAtWork(hermes_store.path, hermes_store.session_id).compact(),
    "written anew": lambda hermes_store: HermesAtWork(hermes_store.path, hermes_store.session_id).replace(
        [row[1:] for row in HermesAtWork(hermes_store.path, hermes_store.session_id).rows()[:50]], active_only=False
    ),
    "by us": lambda hermes_store: service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True),
    "deleted": lambda hermes_store: hermes_store.rows(
        "DELETE FROM messages WHERE session_id = ?", hermes_store.session_id
    ),
}


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_shown_as_it_is_now(
    signed_in: Client, open_hermes_store: Callable[..., HermesStore], change: str
) -> None:
    hermes_store = open_hermes_store(31)
    href = f"/stores/hermes/sessions/{hermes_store.session_id}"
    reader = Reader(signed_in, href)
    CHANGES[change](hermes_store)
    place = reader.news().one(id="live")
    assert (place.attributes["hx-get"], place.attributes["hx-target"]) == (href, "#reading")
    assert place.attributes["hx-trigger"] == "load"
    assert "data-live" not in place.attributes
    assert Reader(signed_in, href).look().status_code == 204


def test_the_first_message_of_an_empty_session_replaces_the_note(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    reader = Reader(signed_in, href)
    empty_store.say("s", "user", "hello")
    assert reader.news().one(id="live").attributes["hx-target"] == "#reading"
    assert "hello" in read(signed_in.get(href)).one("main").text


def test_a_conversation_that_goes_on_in_a_new_part_is_followed(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 4)
    reader = Reader(signed_in, href)
    with closing(sqlite3.connect(empty_store.path)) as con, con:
        con.execute("UPDATE sessions SET end_reason = 'compression', ended_at = 3 WHERE id = 's'")
    there = empty_store.session("t", parent_session_id="s")
    assert reader.look()["HX-Redirect"] == there
    assert signed_in.get(href, {"at": "1"}, headers=FRAGMENT)["HX-Redirect"] == there, "not put into the field"


@pytest.mark.slow
def test_many_new_messages_come_in_windows(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 5)
    reader = Reader(signed_in, href)
    for number in range(100):
        empty_store.say("s", ("user", "assistant")[number % 2], f"new {number}", timestamp=PRESENT + 100 + number)
    news = reader.news()
    ids = message_ids(news)
    assert not news.all(id="live")
    rest = read(signed_in.get(news.one("a", "later").attributes["hx-get"], headers=FRAGMENT))
    assert ids + message_ids(rest) == list(range(6, 106))
    assert rest.one(id="live")


def test_only_the_newest_window_goes_on(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 200)
    page = read(signed_in.get(f"{href}?around={ids[20]}"))
    assert not page.all(id="live")
    while links := page.all("a", "later"):
        page = read(signed_in.get(links[0].attributes["hx-get"], headers=FRAGMENT))
    assert page.one(id="live")


@pytest.mark.parametrize("query", ["", "seen=x&start=-1", "seen=999999999&start=0&state=0", "seen=1&start=5&state=é"])
def test_an_address_that_means_nothing_shows_the_page_anew(
    signed_in: Client, empty_store: EmptyStore, query: str
) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 3)
    page = read(signed_in.get(f"{href}/live?{query}", headers=FRAGMENT))
    assert page.one(id="live").attributes["hx-get"] == href
