"""History as turns: the prompt, the work as one card that folds, the answer."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from django.test import Client

from tests.factories.stores import PRESENT, EmptyStore
from tests.html import Element, message_ids, read

FRAGMENT = {"HX-Request": "true"}
EDIT = {"path": "/src/garden/beds.py", "old_string": "a", "new_string": "b"}


class Agent:
    """Who writes a session of calls, a minute for each message."""

    def __init__(self, store: EmptyStore) -> None:
        self.store, self.href, self.count = store, store.session("s"), 0

    def say(self, role: str, content: str | None, **columns: Any) -> int:
        self.count += 1
        return self.store.say("s", role, content, timestamp=PRESENT + 60 * self.count, **columns)

    def calls(self, name: str, result: str = '{"success": true}', words: str | None = None, **arguments: Any) -> int:
        made = [self.store.call(name, f"c{self.count}", **arguments)]
        self.say("assistant", words, tool_calls=made)
        return self.say("tool", result, tool_call_id=f"c{self.count - 1}", tool_name=name)

    def turn(self, edits: int) -> None:
        self.say("user", "Plant the beds")
        for _ in range(edits):
            self.calls("patch", **EDIT)
        self.calls("terminal", '{"exit_code": 1, "output": "no"}', command="make")
        self.say("assistant", "Planted.")


def works(page: Element) -> list[Element]:
    return page.all("details", "worked")


def numbers_of(text: str) -> Counter[str]:
    found = re.findall(r"([\d,]+) (call|edit|failed)", text)
    return Counter({word: int(number.replace(",", "")) for number, word in found})


def line(fold: Element) -> str:
    return fold.all("summary")[0].text


def test_the_work_of_a_turn_folds_between_its_prompt_and_its_answer(signed_in: Client, empty_store: EmptyStore) -> None:
    agent = Agent(empty_store)
    agent.turn(edits=5)
    page = read(signed_in.get(agent.href))
    [fold] = works(page)
    assert line(fold) == "Worked 6 calls, 5 edits, 1 failed First: Edited /src/garden/beds.py 11 min"
    assert "open" not in fold.attributes
    asked, *work, answered = page.all("article")
    assert fold.all("article") == work
    assert [each for each in page.all("article") if "data-prompt" in each.attributes] == [asked]
    assert "Planted." in answered.text


def test_a_turn_that_runs_is_open_and_a_short_one_has_no_fold(signed_in: Client, empty_store: EmptyStore) -> None:
    agent = Agent(empty_store)
    agent.say("user", "Look")
    agent.calls("terminal", command="ls")
    agent.say("assistant", "Done.")
    agent.say("user", "Plant")
    for _ in range(4):
        agent.calls("patch", **EDIT)
    page = read(signed_in.get(agent.href))
    short, running = page.all(cls="worked")
    assert short.tag == "div"
    assert running.tag == "details"
    assert "open" in running.attributes


def test_plain_talk_has_no_cards_of_work(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 30)
    assert not read(signed_in.get(href)).all(cls="worked")


def test_a_link_to_a_message_opens_the_fold_that_holds_it(signed_in: Client, empty_store: EmptyStore) -> None:
    agent = Agent(empty_store)
    agent.turn(edits=5)
    page = read(signed_in.get(agent.href))
    for message in message_ids(works(page)[0]):
        [fold] = works(read(signed_in.get(f"{agent.href}?around={message}")))
        assert "open" in fold.attributes
        assert len(fold.all(cls="marked")) >= 1


def test_words_at_the_end_of_a_window_are_no_answer(signed_in: Client, empty_store: EmptyStore) -> None:
    agent = Agent(empty_store)
    agent.say("user", "Plant")
    for at in range(80):
        agent.calls("patch", words=f"Bed {at} is next.", **EDIT)
        agent.say("assistant", f"Bed {at} is planted.")
    agent.say("assistant", "All are planted.")
    for end in ("first", "newest"):
        page = read(signed_in.get(agent.href, {"at": end}, follow=True))
        folded = [each for fold in works(page) for each in fold.all("article")]
        outside = " ".join(each.text for each in page.all("article") if each not in folded)
        assert "is planted" not in outside
        assert ("All are planted." in outside) == (end == "newest")


def test_windows_cut_turns_anywhere_and_each_fold_says_what_it_holds(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    agent = Agent(empty_store)
    for edits in (3, 40, 90, 5, 70):
        agent.turn(edits)
    seen: list[int] = []
    sums: Counter[str] = Counter()
    short: list[Element] = []  # calls in parts that are too short to fold
    page = read(signed_in.get(agent.href))
    while True:
        seen = message_ids(page) + seen
        for fold in works(page):
            rows = fold.all("details", "tool")
            numbers = numbers_of(line(fold))
            assert numbers["call"] == len(rows)
            assert numbers["failed"] == len([row for row in rows if "failed" in row.classes])
            assert numbers["edit"] == len([row for row in rows if row.all("b")[0].text == "Edited"])
            sums.update(numbers)
        short += [row for part in page.all("div", "worked") for row in part.all("details", "tool")]
        earlier = page.all("a", "earlier")
        if not earlier:
            break
        page = read(signed_in.get(earlier[0].attributes["href"], headers=FRAGMENT))
    assert len(seen) == len(set(seen)) == agent.count
    assert sums["edit"] + sums["failed"] == sums["call"]
    assert sums["call"] + len(short) == 3 + 40 + 90 + 5 + 70 + 5


def test_reads_in_a_row_are_one_line_and_a_failed_one_is_not_in_it(signed_in: Client, empty_store: EmptyStore) -> None:
    agent = Agent(empty_store)
    agent.say("user", "Where are the beds?")
    for name in ("a.py", "b.py", "a.py"):
        agent.calls("read_file", "text", path=f"/src/{name}")
    agent.calls("search_files", "text", pattern="bed")
    agent.calls("read_file", "Error: no such file", path="/src/gone.py")
    agent.calls("read_file", "text", path="/src/c.py")
    agent.say("assistant", "There.")
    page = read(signed_in.get(agent.href))
    [run] = page.all("details", "reads")
    assert line(run) == "Read 2 files, searched once a.py, b.py"
    assert len(run.all("details", "tool")) == 4
    [fold] = works(page)
    assert len(fold.all("details", "tool")) == 6


def test_words_and_thinking_among_reads_are_not_hidden_by_them(signed_in: Client, empty_store: EmptyStore) -> None:
    agent = Agent(empty_store)
    agent.say("user", "Where?")
    for at in range(4):
        agent.calls("read_file", "text", words="Further on." if at == 2 else None, path=f"/src/{at}.py")
    agent.say("assistant", "There.")
    assert not read(signed_in.get(agent.href)).all("details", "reads")


def test_the_session_of_a_sub_agent_is_linked_below_its_call(signed_in: Client, empty_store: EmptyStore) -> None:
    agent = Agent(empty_store)
    empty_store.session("child-of-s")
    agent.say("user", "Have it looked at.")
    agent.calls("delegate_task", '{"success": true, "session_id": "child-of-s"}', goal="Look at the beds")
    agent.say("assistant", "It was.")
    page = read(signed_in.get(agent.href))
    link = page.one("p", "sub-agent").one("a")
    assert link.attributes["href"] == "/stores/own/sessions/child-of-s"
    assert link.text == "What it did: Look at the beds", "by what it was asked, not by its id"
    assert not page.one("details", "tool").all("p", "sub-agent"), "it is seen while the call is folded"


def test_each_part_of_long_work_says_what_it_begins_with(signed_in: Client, empty_store: EmptyStore) -> None:
    agent = Agent(empty_store)
    agent.say("user", "Plant the beds")
    for number in range(90):
        agent.calls("patch", words=f"Now bed {number}. It is dry.", **EDIT)
    agent.say("assistant", "Planted.")
    newest = read(signed_in.get(agent.href))
    [last] = works(newest)
    [before] = works(read(signed_in.get(newest.one("a", "earlier").attributes["href"], headers=FRAGMENT)))
    for part in (before, last):
        first = part.all("article")[0].one("div", "md").text
        assert line(part).startswith("Went on ") and first.startswith("Now bed ") and first in line(part)
    assert line(before) != line(last)


def test_a_window_of_folded_work_comes_with_the_ones_after_it(signed_in: Client, empty_store: EmptyStore) -> None:
    """One line would leave the screen empty until a script asks for more."""
    agent = Agent(empty_store)
    first = agent.count + 1
    agent.turn(edits=50)
    agent.turn(edits=90)
    page = read(signed_in.get(f"{agent.href}?at=first", follow=True))
    shown = message_ids(page)
    assert shown[0] == first and len(page.all("details", "worked")) > 2
    later = read(signed_in.get(page.one("a", "later").attributes["href"], headers=FRAGMENT))
    assert set(shown).isdisjoint(message_ids(later)) and message_ids(later)[0] > shown[-1]
    assert len(shown) + len(message_ids(later)) >= 240
