"""Search in a real browser: accessible in both themes and on a phone, with and without JavaScript."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import WIDE, Visit, on_both_screens, require_accessible
from tests.factories.stores import EmptyStore
from viewer.pages.search import views as search


@on_both_screens
def test_accessible_and_within_its_width(screen: Page, empty_store: EmptyStore) -> None:
    address = empty_store.session("a", title="Sewing box")
    empty_store.say("a", "user", "where is the needle" + "_and_the_thread" * 40)
    empty_store.say("a", "assistant", "the needle is in the hay", active=0, compacted=1)
    for href in ("/search", "/search?q=needle", "/search?q=nothing", "/search?q=sewing", f"{address}/find?q=needle"):
        screen.goto(href)
        require_accessible(screen, href)


def test_filters_hits_and_sessions_are_next_to_each_other_on_a_desk(visit: Visit, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="Sewing box")
    empty_store.say("a", "user", "a sewing needle")
    screen = visit(*WIDE)
    screen.goto("/search?q=sewing")
    parts = [screen.locator(f".found > {part}").bounding_box() for part in (".filters", ".messages", ".sessions")]
    assert len({box and box["y"] for box in parts}) == 1
    edges = [(box["x"], box["x"] + box["width"]) for box in parts if box]
    assert edges[0][1] < edges[1][0] and edges[1][1] < edges[2][0]
    assert edges[2][1] > WIDE[0] - 60, "up to the page's right edge"


def test_hits_load_when_they_come_near_and_back_leads_back(
    screen: Page, empty_store: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "PAGE", 5)
    for name in ("a", "b"):
        empty_store.session(name)
    rows = [empty_store.say("ab"[number % 2], "user", f"needle {number}") for number in range(12)]
    screen.goto("/search?q=needle")
    screen.evaluate("htmx.config.defaultSettleDelay = 200")  # in which the next link is there, and loads nothing yet
    screen.mouse.move(100, 300)
    for _ in range(200):  # as a person does who goes on until the end is there
        screen.mouse.wheel(0, 400)
        screen.wait_for_timeout(50)
        if screen.locator(".hit").count() == 12:
            break
    expect(screen.locator(".hit")).to_have_count(12)
    expect(screen.locator(".of-session")).to_have_count(2)  # each session once
    expect(screen.locator(".of-session .number")).to_have_text(["3", "4"])  # the first page had three and two
    screen.locator(".of-session .fold").last.locator("summary").click()
    first = rows[0]
    screen.locator(f".hit:has([href$='#m{first}'])").click()  # the whole hit leads there
    expect(screen).to_have_url(re.compile(f"around={first}#m{first}$"))
    expect(screen.locator(f"#m{first}")).to_be_visible()
    screen.go_back()
    expect(screen).to_have_url(re.compile("/search\\?q=needle$"))


def test_finding_in_a_session_while_typing(screen: Page, empty_store: EmptyStore) -> None:
    address = empty_store.session("a")
    row = empty_store.say("a", "user", "many haystacks")
    empty_store.chat("a", 4)
    screen.goto(address)
    screen.locator("#find").fill("ystack")
    hit = screen.locator("#found .hit")
    expect(hit).to_have_count(1)
    expect(screen.locator("#found mark")).to_have_text("ystack")
    hit.locator(".to").click()
    expect(screen).to_have_url(re.compile(f"around={row}#m{row}$"))
