"""The pages in a real browser: accessible in both themes and on a phone, nothing the content policy stops, the keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it brings no types
from django.test import Client
from playwright.sync_api import Browser, Page
from pytest_django.live_server_helper import LiveServer

from tests.pages.conftest import Book
from tests.runs.desk import Desk

WIDE, PHONE = (1500, 900, "light"), (360, 760, "dark")


@pytest.fixture(params=[WIDE, PHONE], ids=["wide-light", "phone-dark"])
def screen(
    request: pytest.FixtureRequest, browser: Browser, live_server: LiveServer, signed_in: Client
) -> Iterator[Page]:
    """A signed-in browser; whatever it complains about in its console fails the test."""
    width, height, scheme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, base_url=live_server.url
    )
    context.add_cookies(
        [{"name": "palimpsest", "value": signed_in.cookies["palimpsest"].value, "url": live_server.url}]
    )
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert not complaints


def test_accessible_and_within_its_width(screen: Page, open_desk: Callable[..., Desk]) -> None:
    session = f"/stores/hermes/sessions/{open_desk(21, 'Merged carrier 92').session_id}"
    for href in ("/?compacted=yes", session, f"{session}/context", "/compactions"):
        screen.goto(href)
        if href == session:
            screen.wait_for_selector(".timeline svg")
        screen.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        found = Axe().run(screen).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], href
        assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth"), href


def test_no_address_carries_the_token(screen: Page, open_desk: Callable[..., Desk]) -> None:
    asked: list[tuple[str, str]] = []
    screen.on("request", lambda request: asked.append((request.method, request.url)))
    screen.goto(f"/stores/hermes/sessions/{open_desk(21).session_id}")
    screen.evaluate("document.getElementById('side').classList.add('up')")
    screen.locator("#keep").select_option("50")
    screen.locator("#keep option[selected][value='50']").wait_for(state="attached")
    screen.get_by_role("button", name="Compact now…").click()
    screen.get_by_role("button", name="Cancel").click()
    screen.locator(".confirm").wait_for(state="detached")
    assert screen.locator("#keep").input_value() == "50"
    assert [method for method, url in asked if "/plan" in url] == ["GET", "POST", "GET"]
    assert not [url for _, url in asked if "csrf" in url]


def test_each_block_of_a_message_has_its_own_direction(screen: Page, book: Book) -> None:
    href = book.session("s")
    book.say("s", "user", "Read this first.\n\nשלום, מה שלומך?\n\n- one\n- שתיים")
    screen.goto(href)
    sides = screen.evaluate(
        """[...document.querySelectorAll('.md > p, .md li')].map(block => {
            const text = document.createRange(), box = block.getBoundingClientRect();
            text.selectNodeContents(block);
            const words = text.getBoundingClientRect();
            return words.left - box.left > box.right - words.right + 1 ? 'right' : 'left';
        })"""
    )
    assert sides == ["left", "right", "left", "right"]


@pytest.mark.usefixtures("shared_data")  # ids and numbers of the real database
def test_keys_and_neighbours(screen: Page, open_desk: Callable[..., Desk]) -> None:
    session = f"/stores/hermes/sessions/{open_desk(21).session_id}"
    screen.goto(f"{session}?around=500#m500", wait_until="load")
    place = screen.locator("#m500")
    before = place.evaluate("element => element.getBoundingClientRect().top")
    assert 0 <= before < 200
    screen.locator(".neighbour.earlier").evaluate("link => link.click()")
    screen.wait_for_function("document.querySelector('[data-turn]').id !== 'm470'")
    screen.wait_for_selector("#m440", state="attached")
    assert abs(place.evaluate("element => element.getBoundingClientRect().top") - before) < 2
    screen.keyboard.press("j")
    screen.keyboard.press("j")
    assert screen.locator(".focus").get_attribute("id") not in (None, "m500")
    screen.keyboard.press("]")
    screen.wait_for_url("**?around=1948#b1948")
    screen.keyboard.press("?")
    assert screen.locator("dialog#keys").is_visible()
    screen.keyboard.press("Escape")
    screen.keyboard.press("/")
    assert screen.locator("#search").evaluate("field => field === document.activeElement")
