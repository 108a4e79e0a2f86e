"""Every page at every width, in light and in dark: accessible, within its width, silent, and all from this host."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.browser import Visit, at_rest, require, require_accessible, require_narrow
from tests.factories.stores import EmptyStore, HermesStore
from tests.pages import hostile
from viewer.runs import service
from viewer.runs.planning import Options

SCREENS = ((1500, "light"), (768, "light"), (360, "dark"))


def open_folds(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details:not(.menu)').forEach(fold => fold.open = true)")


def require_good(page: Page, what: str, within: str = "html") -> None:
    """The page as it is now, or a part of it, all its folds open, on a desk, on a tablet (its width), on a phone."""
    at_rest(page)
    open_folds(page)
    for width, scheme in SCREENS:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # light or dark
        page.set_viewport_size({"width": width, "height": 900})
        where = f"{what} at {width} px, {scheme}"
        if width == 768:
            require_narrow(page, where)
        else:
            require_accessible(page, where, within)


def test_every_page_of_a_session(visit: Visit, open_hermes_store: Callable[..., HermesStore]) -> None:
    screen = visit()
    session = f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}"
    screen.goto(f"/palette?q=e&at={session}")
    require_good(screen, "what can be done with the session")
    views = ("/contents", "/context", "/rows", "/timeline", "/plan", "/branch", "/export", "/find?q=the", "/rename")
    for path in (*views, ""):
        screen.goto(session + path)
        if not path:
            screen.wait_for_selector(".timeline svg")
        require_good(screen, path or "the session")
    screen.goto(f"{screen.get_by_role('link', name='Before and after').last.get_attribute('href')}?only=changed")
    require_good(screen, "before and after")
    screen.goto(session)
    screen.wait_for_selector(".timeline svg")
    screen.evaluate("document.querySelectorAll('details.menu').forEach(menu => menu.open = true)")
    require_good(screen, "an open menu", "details.menu")
    screen.evaluate("document.querySelectorAll('details.menu').forEach(menu => menu.open = false)")
    boundary = screen.locator("[data-boundary]").last
    for number in range(1, boundary.locator(".tabs a").count()):
        tab = boundary.locator(".tabs a").nth(number)
        tab.click()
        expect(tab).to_have_attribute("aria-current", "true")
        expect(boundary.locator(".handoff")).to_have_count(0)
        require_good(screen, f"tab {number} of a boundary", "[data-boundary]")
    boundary.get_by_role("button", name="Undo this compaction…").click()
    boundary.locator(".undo form").wait_for()
    screen.set_viewport_size({"width": 1500, "height": 900})  # on a phone the panel is in a sheet
    screen.get_by_role("button", name="Compact now…").click()
    screen.locator(".confirm").wait_for()
    require_good(screen, "the questions before undo and before a compaction", ".undo, .confirm")
    screen.set_viewport_size({"width": 1500, "height": 900})  # on a phone it is in a sheet, too
    screen.locator("#find").fill("the")
    screen.locator("#found .hits li").first.wait_for()
    require_accessible(screen, "found in the session", "#found")


def test_every_page_of_the_site(visit: Visit, open_hermes_store: Callable[..., HermesStore], at_once: None) -> None:
    screen = visit()
    hermes_store = open_hermes_store(31)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)
    places = ("/", "/?compacted=yes", "/search", "/search?q=flight", "/search?q=nowheretobefound", "/compactions")
    for path in (*places, "/insights", "/about", "/palette", "/stores", "/settings", f"/runs/{run.pk}", "/?q=nowhere"):
        screen.goto(path)
        require_good(screen, path)


def test_the_pages_people_live_on_at_every_width_in_both_schemes(visit: Visit, demo: Callable[[str], str]) -> None:
    """A session of every block as it comes, then with all its folds open. What goes by the scheme is contrast alone."""
    screen = visit()
    for path in ("/", "/search?q=flight", demo("Lisbon in October, five people and a dog")):
        screen.goto(path)
        at_rest(screen)
        for width, scheme in product((1500, 768, 360), ("light", "dark")):
            screen.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # light or dark
            screen.set_viewport_size({"width": width, "height": 900})
            where = f"{path} at {width} px, {scheme}"
            if (width, scheme) in SCREENS:
                require_accessible(screen, where)
            else:
                require(screen, where, ["color-contrast"])
    require_good(screen, "every block, folds open")


def test_nothing_there(visit: Visit, settings: Settings, tmp_path: Path, empty_store: EmptyStore) -> None:
    screen = visit()
    settings.DEMO_STORE = tmp_path / "demo" / "none.db"
    href = empty_store.session("s")
    for path in ("/", href, f"{href}/context", f"{href}/rows", "/compactions", "/insights", "/search?q=word"):
        screen.goto(path)
        require_good(screen, f"{path}, empty")


def test_what_is_not_there_and_who_is_not_signed_in(visit: Visit) -> None:
    screen = visit()
    screen.route("**/nowhere", lambda route: route.continue_())
    for path in ("/nowhere", "/stores/none/sessions/none"):
        answer = screen.request.get(path)
        assert answer.status == 404
        screen.goto("/stores")
        # Put in instead of opened: a browser calls every answer of 404 an error.
        (main,) = re.findall("<main.*</main>", answer.text(), re.DOTALL)
        screen.evaluate("text => document.querySelector('main').outerHTML = text", main)
        require_good(screen, path)
    screen.context.clear_cookies()
    screen.goto("/sign-in/")
    require_good(screen, "not signed in")


def test_the_reference_of_the_api(visit: Visit) -> None:
    screen = visit()
    for signed_in in (True, False):
        screen.goto("/api/v1/docs")
        require_good(screen, f"the reference of the API, {signed_in=}")
        screen.context.clear_cookies()
    screen.locator("details.call[open] a[href='#SessionsOut']").first.click()
    expect(screen.locator("#SessionsOut")).to_be_in_viewport()
    policy = screen.request.get("/").headers["content-security-policy"]
    assert "unsafe" not in policy


def test_a_hostile_session_runs_nothing(visit: Visit, empty_store: EmptyStore) -> None:
    hostile.build(empty_store)
    screen = visit()
    address = "/stores/own/sessions/hostile"
    for path in (address, f"{address}/context", f"{address}/rows", "/search?q=alert"):
        screen.goto(path)
        for _ in range(2):
            screen.evaluate("document.querySelectorAll('details:not(.menu)').forEach(fold => fold.open = true)")
            screen.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
            expect(screen.locator(".htmx-request")).to_have_count(0)
        assert not screen.locator("main script, main [onerror], main [onload], main iframe").count(), path
        require_narrow(screen, path)
