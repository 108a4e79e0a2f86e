"""A session that goes on while somebody reads it; copying; what a hostile session can do in a browser: nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import HELD, Visit, at_rest
from tests.factories.stores import EmptyStore, HermesStore

HIDE = """hidden => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def copied(page: Page, press: Callable[[], None]) -> str:
    """What the clipboard holds once a button says that it was copied."""
    page.evaluate("document.getElementById('said').replaceChildren()")
    press()
    expect(page.get_by_role("status").filter(has_text="Copied.")).to_be_visible()
    return str(page.evaluate("navigator.clipboard?.readText()"))


def looks(page: Page) -> list[str]:
    """The addresses of looks for news, from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/live?" in request.url else None)
    return asked


def open_at_end(page: Page, href: str) -> None:
    page.clock.install()
    page.goto(href)
    at_rest(page)
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.clock.run_for(500)


def test_what_the_agent_writes_appears_by_itself(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s", title="Goes on")
    ids = empty_store.chat("s", 80)
    open_at_end(screen, href)
    new = empty_store.say("s", "user", "and now for something new")
    screen.clock.run_for(4_500)
    expect(screen.locator(f"#m{new}")).to_be_in_viewport()
    expect(screen.locator("#news")).to_have_text("1 new message")
    assert not screen.locator("#news button").count(), "who reads the end is taken along"
    expect(screen.locator("#facts")).to_contain_text("81")

    screen.locator(f"#m{ids[-30]}").scroll_into_view_if_needed()
    screen.locator(f"#m{ids[-30]} .ref").focus()
    screen.clock.run_for(500)
    before = screen.evaluate("scrollY")
    for number in range(2):
        newer = empty_store.say("s", "assistant", f"more of it {number}")
        screen.clock.run_for(4_500)
        screen.locator(f"#m{newer}").wait_for(state="attached")
    button = screen.get_by_role("status").get_by_role("button", name="2 new messages")
    expect(button).to_be_visible()
    assert screen.evaluate("scrollY") == before, "who reads further up is left there"
    assert screen.evaluate("document.activeElement.matches('.ref')") and screen.evaluate(HELD)
    button.click()
    screen.clock.run_for(1_000)
    expect(screen.locator(f"#m{newer}")).to_be_in_viewport()
    assert screen.evaluate("document.activeElement.id") == f"m{newer - 1}"
    assert not screen.locator("#news button").count()


def test_a_store_that_is_away_for_a_while_is_said_and_its_session_goes_on(
    visit: Visit, empty_store: EmptyStore
) -> None:
    screen = visit()
    href = empty_store.session("s", title="Goes on")
    empty_store.chat("s", 4)
    open_at_end(screen, href)
    away = empty_store.path.rename(empty_store.path.with_suffix(".away"))
    screen.clock.run_for(4_500)
    refusal = screen.locator("#said [role=alert]")
    expect(refusal).to_contain_text("own.db")
    expect(refusal).to_have_css("border-top-width", "0px")  # one box, not a box in a box
    away.rename(empty_store.path)
    newer = empty_store.say("s", "assistant", "here again")
    screen.clock.run_for(10_000)
    screen.locator(f"#m{newer}").wait_for(state="attached")


def test_a_request_that_a_newer_one_ends_is_no_error(
    visit: Visit, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """Neither words found while more are typed, nor a look for news when something is undone, is in the console."""
    screen = visit()
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}")
    at_rest(screen)
    held: list[Route] = []
    ended: list[str] = []
    screen.on("requestfailed", lambda request: ended.append(request.url))
    screen.route(re.compile(r"\?q=a"), lambda route: held.append(route))
    with screen.expect_request(re.compile(r"\?q=a$")):
        screen.locator("#find").fill("a")
    with screen.expect_request(re.compile(r"\?q=b$")):
        screen.locator("#find").fill("b")
    at_rest(screen)
    screen.route(re.compile(r"/live\?"), lambda route: held.append(route))  # not before: one by itself would be held
    with screen.expect_request(re.compile(r"/live\?")):
        screen.locator("[data-live]").dispatch_event("look")
    boundary = screen.locator("[data-boundary]").last
    boundary.locator(".line").click()
    boundary.get_by_role("button", name="Undo this compaction…").click()
    screen.get_by_role("button", name="Undo", exact=True).click()
    expect(screen.locator("[data-boundary]")).to_have_count(0)
    at_rest(screen)
    assert len(ended) == len(held) == 2, ended


def test_no_look_comes_between_an_undo_and_what_it_shows(
    visit: Visit, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """Its answer would be for a page that is gone by then."""
    screen = visit()
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}")
    at_rest(screen)
    held: list[Route] = []
    screen.route(re.compile(r"\?around="), lambda route: held.append(route))
    asked = looks(screen)
    boundary = screen.locator("[data-boundary]").last
    boundary.locator(".line").click()
    boundary.get_by_role("button", name="Undo this compaction…").click()
    boundary.locator(".undo form").wait_for()
    at_rest(screen)  # before, the press would be answered by a whole page
    with screen.expect_request(re.compile(r"\?around=")):
        boundary.get_by_role("button", name="Undo", exact=True).click()
    before = len(asked)
    screen.evaluate("document.querySelector('[data-live]').dispatchEvent(new Event('look'))")
    screen.evaluate("fetch('/static/icon.svg').then(answer => answer.ok)")
    assert len(asked) == before
    held[0].continue_()
    at_rest(screen)
    expect(screen.locator("[data-boundary]")).to_have_count(0)
    with screen.expect_request(lambda request: "/live?" in request.url):
        screen.evaluate("window.dispatchEvent(new Event('focus'))")


def test_looks_come_soon_become_rare_while_they_fail_and_stop_when_nobody_looks(
    visit: Visit, empty_store: EmptyStore
) -> None:
    screen = visit()
    href = empty_store.session("s", title="Goes on")
    empty_store.chat("s", 4)
    asked = looks(screen)
    open_at_end(screen, href)
    for _ in range(20):  # 30 s in all; a look in between needs its answer
        screen.clock.run_for(1_500)
        at_rest(screen)
    assert 15 <= len(asked) <= 21, "each 1.5 s"
    away = empty_store.path.rename(empty_store.path.with_suffix(".away"))
    asked.clear()
    for _ in range(20):  # 100 s in all
        screen.clock.run_for(5_000)
        at_rest(screen)
    assert 4 <= len(asked) <= 7, "after 3, 6, 12, 24, 48 and 60 s"
    away.rename(empty_store.path)
    screen.evaluate(HIDE, True)
    asked.clear()
    screen.clock.run_for(300_000)
    at_rest(screen)
    assert not asked
    new = empty_store.say("s", "user", "while nobody looked")
    screen.evaluate(HIDE, False)
    screen.clock.run_for(500)
    screen.locator(f"#m{new}").wait_for()
    assert len(asked) == 1
    screen.clock.run_for(1_600)
    at_rest(screen)
    assert len(asked) == 2, "who looks makes the looks frequent again"


def test_a_rewritten_session_is_shown_as_it_is_now(visit: Visit, open_hermes_store: Callable[..., HermesStore]) -> None:
    screen = visit()
    hermes_store = open_hermes_store(31)
    open_at_end(screen, f"/stores/hermes/sessions/{hermes_store.session_id}")
    gone = screen.locator("[data-turn]").last
    words = gone.inner_text()
    gone.locator(".ref").last.focus()
    hermes_store.take_back_newest()
    screen.clock.run_for(4_500)
    expect(screen.get_by_text(words, exact=True)).to_have_count(0)
    at_rest(screen)
    screen.clock.run_for(500)
    assert screen.evaluate(HELD)
    assert screen.locator("header.top, main #reading, #plan, #live[data-live]").count() == 4


def test_copying(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit(permissions=["clipboard-read", "clipboard-write"])
    text = "Dear **all**,\n\n<b>no</b> tags\there"
    href = empty_store.session("s")
    row = empty_store.say("s", "user", text)
    screen.goto(href)
    message = screen.locator(f"#m{row}")
    message.hover()
    words, link = (message.get_by_role("button", name=f"Copy {what}") for what in ("text", "link"))
    assert copied(screen, words.click) == text
    assert copied(screen, lambda: link.press("Enter")).endswith(f"{href}?around={row}#m{row}")
    assert screen.evaluate("document.activeElement.innerText") == "Copy link"
    screen.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    copied(screen, lambda: words.press("Enter"))
    assert screen.evaluate(HELD)


def test_copying_that_fails_says_so(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit(permissions=["clipboard-read", "clipboard-write"])
    href = empty_store.session("s")
    empty_store.say("s", "user", "words")
    screen.goto(href)
    screen.route("**/messages/**", lambda route: route.fulfill(status=204))
    screen.evaluate("() => { navigator.clipboard.write = () => Promise.reject(new Error('refused')); }")
    screen.locator(".turn").hover()
    screen.get_by_role("button", name="Copy text").click()
    expect(screen.locator("#said")).to_contain_text("could not be copied")


@pytest.mark.parametrize("place", ["", "/context", "/rows"])
def test_reading_needs_no_script(visit: Visit, empty_store: EmptyStore, place: str) -> None:
    screen = visit(java_script_enabled=False)
    href = empty_store.session("s", title="Long")
    empty_store.chat("s", 200)
    screen.goto("/")
    screen.get_by_role("link", name="Long", exact=True).click()
    screen.wait_for_url(f"**{href}")
    screen.goto(href + place)
    seen = set(screen.locator("[data-turn], details.raw").all_inner_texts())
    sides = {"": ("earlier", "later"), "/context": ("later", "earlier"), "/rows": ("earlier",)}[place]
    for side in sides:
        addresses = {screen.url}
        while (link := screen.locator(f"a.neighbour.{side}")).count():
            before = screen.url
            link.click()
            expect(screen).not_to_have_url(before)
            screen.wait_for_load_state()
            expect(screen.locator("header.top"), "a whole page").to_have_count(1)
            addresses.add(screen.url)
            seen |= set(screen.locator("[data-turn], details.raw").all_inner_texts())
        assert len(addresses) > 2, side
    assert len(seen) == 200
    assert not screen.locator("[data-copy]:visible, [data-keys]:visible").count()
