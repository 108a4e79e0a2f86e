"""The table of contents of a session, in parts."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from django.test import Client
from playwright.sync_api import expect

from compaction.handoff import END_MARKER, LEGACY_HEADER
from tests.browser import Visit
from tests.factories.stores import EmptyStore
from tests.html import Element, read

FRAGMENT = {"HX-Request": "true"}


def lines(page: Element) -> list[str]:
    return [item.text for item in page.all("li") if "more" not in item.classes]


def further(page: Element, sign: str) -> list[str]:
    return [link.attributes["href"] for item in page.all("li", "more") for link in item.all("a") if sign in link.text]


def test_all_prompts_are_listed_with_one_request_for_each_further_part(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 500)  # every other one is a prompt
    page = read(signed_in.get(f"{href}?around={ids[250]}#m{ids[250]}")).one("ol", id="toc")
    assert [link.text for item in page.all("li", "more") for link in item.all("a")] == [
        "\u2191 84 earlier prompts",
        "\u2193 86 later prompts",
    ]
    numbers = [link.attributes["data-nth"] for link in page.all("a") if "data-nth" in link.attributes]
    assert (numbers[0], numbers[-1]) == ("85", "164"), "a prompt's number is that among all prompts"
    listed = lines(page)
    asked = 0
    for sign in "\u2191\u2193":
        part = page
        while places := further(part, sign):
            part = read(signed_in.get(places[0], headers=FRAGMENT))
            assert len(part.all("li", "more")) <= 1 and not part.all("html")
            listed = lines(part) + listed if sign == "\u2191" else listed + lines(part)
            asked += 1
    assert listed == [f"s {at}" for at in range(0, 500, 2)]
    assert asked == 4


def test_each_boundary_is_listed_once_and_the_nearest_beyond_a_part_is_linked(
    signed_in: Client, empty_store: EmptyStore
) -> None:
    href = empty_store.session("s")
    for _ in range(2):
        empty_store.chat("s", 200)
        with closing(sqlite3.connect(empty_store.path)) as con, con:
            con.execute("UPDATE messages SET active = 0, compacted = 1, timestamp = id")
        empty_store.say("s", "user", f"{LEGACY_HEADER} so far\n\n{END_MARKER}", _compressed_summary=1)
    empty_store.chat("s", 2)
    place, boundaries, prompts = f"{href}/contents", 0, 0
    first = read(signed_in.get(place)).one("ol", "listing")
    assert first.one("li", "more").all("a")[0].text.startswith("compacted, 200")
    while place:
        page = read(signed_in.get(place)).one("ol", "listing")
        boundaries += sum("more" not in item.classes for item in page.all("li", "cut"))
        prompts += len(lines(page))
        place = next(iter(further(page, "\u2193")), "")
    assert boundaries == 2 and prompts > 200


@pytest.mark.parametrize("query", ["before=x", "after=99999999", "before=99999999", "before=0", "after=-1"])
def test_a_part_that_is_not_there_breaks_nothing(signed_in: Client, empty_store: EmptyStore, query: str) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 10)
    assert read(signed_in.get(f"{href}/contents?{query}")).one("ol", "listing")


def test_parts_come_into_the_list_without_leaving_the_page(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    ids = empty_store.chat("s", 500)
    screen.goto(f"{href}?around={ids[250]}#m{ids[250]}")
    address = screen.url
    for name in (
        "\u2191 84 earlier prompts",
        "\u2191 4 earlier prompts",
        "\u2193 86 later prompts",
        "\u2193 6 later prompts",
    ):
        screen.get_by_role("link", name=name, exact=True).press("Enter")  # a pointer may meet a list that moves
        screen.get_by_role("link", name=name, exact=True).wait_for(state="detached")
    expect(screen.locator("#toc li")).to_have_count(250)
    assert screen.url == address
    screen.locator("#toc a").last.click()
    expect(screen.locator(f"#m{ids[498]}")).to_be_in_viewport()


def test_the_list_never_begins_with_half_a_line(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    for number in range(60):
        empty_store.say("s", "user", f"Request {number}, {'a longer one ' * (number % 4)}")
        empty_store.say("s", "assistant", "Yes. " * 40)
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("write_file", "a", path="a.py", content="a")])
    empty_store.say("s", "tool", json.dumps({"success": True}), tool_call_id="a")
    is_whole = """() => {
        const { top } = document.querySelector('.outline').getBoundingClientRect();
        const lines = [...document.querySelectorAll('#toc > li')].map(line => line.getBoundingClientRect());
        return !lines.some(line => line.top < top - 2 && line.bottom > top + 3);
    }"""
    screen.goto(href)
    expect(screen.locator("#toc li.here")).to_be_in_viewport(ratio=1)
    for fixed in ("#find", ".only", "#files-touched > summary", "#commands-failed > summary"):
        expect(screen.locator(fixed)).to_be_in_viewport(ratio=1)
    screen.wait_for_function(is_whole)
    screen.locator("#toc li.here").hover()
    for wheel in (-137, -411, 5_000, -211):
        moved = screen.evaluate("document.querySelector('.outline').scrollTop")
        screen.mouse.wheel(0, wheel)
        screen.wait_for_function("at => document.querySelector('.outline').scrollTop !== at", arg=moved)
        screen.wait_for_function(is_whole)
