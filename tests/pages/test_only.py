"""Filters of a session's History: what each shows, how it says so, and that it reads a session once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.pi.by_hand import PiByHand
from tests.factories.stores import PRESENT, EmptyStore
from tests.html import Element, message_ids, read
from viewer.pages.parts.opened import OpenSession, open_session
from viewer.pages.session import filters
from viewer.stores.hermes.reader import HermesReader
from viewer.stores.registry import get_store, open_store

FRAGMENT = {"HX-Request": "true"}


class Session:
    """A session of turns, with the ids of what each filter is to show."""

    def __init__(self, store: EmptyStore, turns: int) -> None:
        self.store, self.href = store, store.session("s")
        self.ids: dict[str, list[int]] = {
            name: [] for name in ("prompts", "replies", "edits", "commands", "failures", "thinking")
        }
        self.count = 0
        for _ in range(turns):
            self.turn()

    def say(self, role: str, content: str | None, *names: str, **columns: Any) -> int:
        self.count += 1
        row_id = self.store.say("s", role, content, timestamp=PRESENT + self.count, **columns)
        for name in names:
            self.ids[name].append(row_id)
        return row_id

    def call(self, name: str, result: str, *names: str, **arguments: Any) -> None:
        made = self.store.call(name, f"c{self.count}", **arguments)
        self.say("assistant", "Let me see.", *names, tool_calls=[made])
        self.say("tool", result, tool_call_id=made["id"], tool_name=name)

    def two_calls(self, *results: tuple[str, int]) -> list[int]:
        """Two messages with a command each, `a` and `b`, then these results with their exit codes."""
        made = [self.store.call("terminal", name, command=name) for name in "ab"]
        ids = [self.say("assistant", "", tool_calls=[each]) for each in made]
        for name, code in results:
            self.result(name, code)
        return ids

    def result(self, name: str, code: int) -> None:
        self.say("tool", f'{{"exit_code": {code}, "output": ""}}', tool_call_id=name, tool_name="terminal")

    def turn(self) -> None:
        self.say("user", "Plant the beds", "prompts")
        self.say("assistant", "", "thinking", reasoning="Where are the beds?")
        self.call("read_file", "text", path="/a.py")
        self.call("patch", '{"success": true}', "edits", path="/a.py", old_string="a", new_string="b")
        self.call("terminal", '{"exit_code": 2, "output": "no"}', "commands", "failures", command="make")
        self.call("terminal", '{"exit_code": 0, "output": "yes"}', "commands", command="make again")
        self.say("assistant", "Planted.", "replies")


def windows(client: Client, href: str) -> Iterator[Element]:
    page = read(client.get(href))
    yield page
    while earlier := page.all("a", "earlier"):
        page = read(client.get(earlier[0].attributes["href"], headers=FRAGMENT))
        yield page


def shown(pages: list[Element]) -> list[int]:
    """The ids of the messages that have a place of their own."""
    articles = [article for page in reversed(pages) for article in page.all("article")]
    return [int(article.attributes["id"][1:]) for article in articles]


@pytest.mark.parametrize("name", ["prompts", "replies", "edits", "commands", "failures", "thinking"])
def test_a_filter_shows_all_of_its_messages_in_windows_and_nothing_else(
    signed_in: Client, empty_store: EmptyStore, name: str
) -> None:
    session = Session(empty_store, 70)
    pages = list(windows(signed_in, f"{session.href}?only={name}"))
    wanted = session.ids[name]
    assert len(pages) == -(-len(wanted) // 60)
    assert shown(pages) == wanted
    current = [link for link in pages[0].one(cls="only").all("a") if "aria-current" in link.attributes]
    assert [link.text for link in current] == [name.capitalize()]
    assert f"{len(wanted)} of {session.count} messages" in pages[0].one("p", "end").text
    calls = [call for page in pages for call in page.all("details", "tool")]
    assert len(calls) == (len(wanted) if name in ("edits", "commands", "failures") else 0)
    if name == "failures":
        assert all("failed" in call.classes for call in calls)


def test_a_filter_without_matches_says_so_and_leads_back(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 10)
    page = read(signed_in.get(f"{href}?only=edits"))
    empty = page.one(cls="empty")
    assert "No edits in this session." in empty.text
    assert empty.one("a").attributes["href"] == href
    without_calls = [link.text for link in read(signed_in.get(href)).one(cls="only").all("a")]
    assert without_calls == ["Everything", "Prompts", "Replies", "Thinking"]


def test_what_is_known_to_show_nothing_is_not_offered(signed_in: Client, empty_store: EmptyStore) -> None:
    session = Session(empty_store, 0)
    session.say("user", "Plant the beds", "prompts")
    session.call("read_file", "text", path="/a.py")

    def offered() -> set[str]:
        side = read(signed_in.get(session.href)).one(id="contents")
        folds = {each.one(cls="heading").text for each in side.all("details", "work")}
        return folds | {each.text for each in side.one(cls="only").all("a")}

    lists = {"Files touched", "Commands that failed"}
    assert offered() >= lists | {"Edits", "Commands", "Failures"}, "not before the session was read for one of them"
    signed_in.get(f"{session.href}?only=edits")
    assert offered() == {"Everything", "Prompts", "Replies"}
    session.call("patch", '{"success": true}', "edits", path="/a.py", old_string="a", new_string="b")
    assert offered() >= lists, "what came since was not read"


def test_the_later_windows_of_a_filter_and_its_ends_keep_it(signed_in: Client, empty_store: EmptyStore) -> None:
    session = Session(empty_store, 70)
    first = read(signed_in.get(session.href, {"at": "first", "only": "edits"}, follow=True))
    assert message_ids(first)[0] == session.ids["edits"][0]
    later = read(signed_in.get(first.one("a", "later").attributes["href"], headers=FRAGMENT))
    assert shown([later, first]) == session.ids["edits"]
    assert not later.all(id="live")
    newest = read(signed_in.get(session.href, {"at": "newest", "only": "edits"}, follow=True))
    assert shown([newest]) == session.ids["edits"][-60:]
    around = read(signed_in.get(f"{session.href}?around={session.ids['edits'][5]}&only=edits"))
    assert shown([around]) == session.ids["edits"][:60]


def test_a_call_of_a_filter_leads_to_its_place_in_all_of_history(signed_in: Client, empty_store: EmptyStore) -> None:
    session = Session(empty_store, 2)
    page = read(signed_in.get(f"{session.href}?only=edits"))
    for edit, prompt, match in zip(
        session.ids["edits"], session.ids["prompts"], page.all("section", "worked"), strict=True
    ):
        assert match.one("p", "asked").one("a").attributes["href"].endswith(f"?around={prompt}#m{prompt}")
        assert match.one(cls="match").all("a", "ref")[0].attributes["href"].endswith(f"?around={edit}#m{edit}")


def test_a_filter_reads_a_session_once_and_then_what_was_added(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(empty_store, 70)
    asked: list[int] = []
    plain = HermesReader.shown

    def counted(reader: HermesReader, session_id: str, items: Any) -> Any:
        asked.append(len(items))
        return plain(reader, session_id, items)

    signed_in.get(session.href)
    monkeypatch.setattr(HermesReader, "shown", counted)
    signed_in.get(f"{session.href}?only=failures")
    assert sum(asked) >= session.count
    asked.clear()
    signed_in.get(f"{session.href}?only=edits")
    assert sum(asked) < 300
    session.turn()
    asked.clear()
    page = read(signed_in.get(f"{session.href}?only=edits"))
    assert shown([page])[-1] == session.ids["edits"][-1]
    assert sum(asked) < 300


def test_an_unknown_filter_is_none(signed_in: Client, empty_store: EmptyStore) -> None:
    session = Session(empty_store, 1)
    assert len(message_ids(read(signed_in.get(f"{session.href}?only=nothing")))) == session.count


def test_a_result_that_only_its_agent_marks_as_an_error_is_a_failure(
    signed_in: Client, settings: Settings, tmp_path: Path
) -> None:
    agent = PiByHand(tmp_path / "pi")
    settings.STORES = {"work": agent.url}
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.DEMO_STORE = tmp_path / "none"
    agent.write("s", [{"role": "user", "content": "go"}])
    call = {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": "make"}}
    agent.append("s", "message", message={"role": "assistant", "content": [call], "timestamp": 1})
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "bash", "isError": True, "timestamp": 2}
    agent.append("s", "message", message=result | {"content": [{"type": "text", "text": "no such target"}]})
    page = read(signed_in.get(f"/stores/work/sessions/{agent.id_of('s')}?only=failures"))
    assert ["failed" in call.classes for call in page.all("details", "tool")] == [True]


def test_results_that_come_later_belong_to_their_calls(signed_in: Client, empty_store: EmptyStore) -> None:
    session = Session(empty_store, 1)
    session.ids["failures"] += session.two_calls()
    for read_again in (("a", 2), ("b", 2), None):
        signed_in.get(f"{session.href}?only=failures")
        if read_again is not None:
            session.result(*read_again)
    page = read(signed_in.get(f"{session.href}?only=failures"))
    assert shown([page]) == session.ids["failures"]
    assert len(page.all("details", "tool")) == 3


@pytest.mark.parametrize("answered", ["ab", "ba"])
def test_windows_of_a_filter_join_where_results_are_after_other_calls(
    signed_in: Client, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch, answered: str
) -> None:
    session = Session(empty_store, 0)
    session.say("user", "Make all")
    made = [each for _ in range(2) for each in session.two_calls(*((name, 0) for name in answered))]
    for limit in (1, 2, 3):
        monkeypatch.setattr("viewer.pages.session.views.WINDOW", limit)
        page = read(signed_in.get(f"{session.href}?around={made[0]}&only=commands"))
        found = shown([page])
        while later := page.all("a", "later"):
            page = read(signed_in.get(later[0].attributes["href"], headers=FRAGMENT))
            found += shown([page])
        assert found == made


def test_thinking_stays_thinking_in_colours_and_copied(signed_in: Client, empty_store: EmptyStore) -> None:
    session = Session(empty_store, 0)
    code = "\n\n```python\n" + "x = 1\n" * 500 + "```\n"
    session.say("user", "Plant")
    session.say("assistant", f"Said.{code}", reasoning=f"Thought.{code}")
    page = read(signed_in.get(f"{session.href}?only=thinking"))
    (coloured,) = (each for each in page.all("div") if "data-colours" in each.attributes)
    html = signed_in.get(coloured.attributes["data-colours"], headers=FRAGMENT).content.decode()
    copied = signed_in.get(page.one("article").all("button")[0].attributes["data-copy"]).content.decode()
    for text in (html, copied):
        assert "Thought." in text and "Said." not in text
    assert "<span" in html and copied == f"Thought.{code}"


def test_replies_are_shown_without_their_calls(signed_in: Client, empty_store: EmptyStore) -> None:
    session = Session(empty_store, 0)
    session.say("user", "Plant")
    session.call("terminal", '{"exit_code": 0, "output": "yes"}', "replies", command="make")
    page = read(signed_in.get(f"{session.href}?only=replies"))
    assert shown([page]) == session.ids["replies"]
    assert not page.all("details", "tool")


def test_first_requests_at_once_read_a_session_once(
    empty_store: EmptyStore, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    Session(empty_store, 1)
    reads: list[OpenSession] = []

    def slow(opened: OpenSession, kept: filters.Kinds | None) -> filters.Kinds:
        reads.append(opened)
        sleep(0.1)
        messages = opened.index.messages
        return filters.Kinds(opened.index.digest(messages), bytes(messages), range(messages), messages)

    monkeypatch.setattr(filters, "_read", slow)
    with open_store(get_store("own")) as reader, ThreadPoolExecutor(3) as pool:
        list(pool.map(filters.kinds_of, [open_session(reader, "s", redacting=False)] * 3))
    assert len(reads) == 1
