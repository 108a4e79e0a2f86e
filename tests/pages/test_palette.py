"""The command palette: what it offers, as a list for its dialog and as a page of links; its keys."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.browser import Visit, require_accessible
from tests.factories.stores import EmptyStore, HermesStore
from tests.html import Element, read
from viewer.catalog import sync_worker
from viewer.pages.palette import views as palette

KEY = "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"


def offered(client: Client, q: str = "", at: str = "/stores") -> dict[str, list[str]]:
    """What the dialog lists, by group."""
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{at}"}
    found = read(client.get("/palette", {"q": q}, headers=headers))
    assert not found.all("html")
    groups = found.all("div", role="group")
    return {group.one("div", role="presentation").text: options(group) for group in groups}


def options(group: Element) -> list[str]:
    return [option.all("span")[0].text for option in group.all(role="option")]


def option(client: Client, label: str, at: str = "/stores") -> Element:
    headers = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{at}"}
    found = read(client.get("/palette", headers=headers)).all(role="option")
    return next(each for each in found if each.all("span")[0].text == label)


def test_sessions_pages_and_actions(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="Sewing box")
    found = offered(signed_in)
    assert list(found) == ["Sessions", "Pages", "Actions"]
    assert "Sewing box" in found["Sessions"]
    assert found["Pages"][:4] == ["Sessions", "Compactions", "Insights", "Stores"] and "API docs" in found["Pages"]
    assert "Sign out" in found["Actions"] and "Switch to the dark theme" in found["Actions"]


@pytest.mark.slow
def test_every_link_leads_somewhere(signed_in: Client, open_hermes_store: Callable[..., HermesStore]) -> None:
    at = f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}"
    page = read(signed_in.get("/palette", {"at": at, "q": ""}))
    links = {link.attributes["href"] for link in page.one("main").all("a")}
    assert len(links) > 15
    for link in links:
        assert signed_in.get(link.partition("#")[0]).status_code == 200, link


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("SEWING", ["Sewing box"]),
        ("thimble", ["Thimbles, please"]),
        ("id-of-c", ["id-of-c"]),
        ("box sewing", ["Sewing box"]),
        ("nothing at all", []),
    ],
)
def test_sessions_are_found_by_title_first_words_and_id(
    signed_in: Client, empty_store: EmptyStore, q: str, found: list[str]
) -> None:
    empty_store.session("a", title="Sewing box")
    empty_store.session("b")
    empty_store.say("b", "user", "Thimbles, please")
    empty_store.session("id-of-c")
    assert offered(signed_in, q).get("Sessions", []) == found


def test_words_narrow_pages_and_actions_and_may_be_searched(signed_in: Client, empty_store: EmptyStore) -> None:
    found = offered(signed_in, "  theme  dark ")
    assert found == {"Actions": ["Switch to the dark theme"], "Search": ["Search every message for “theme dark”"]}
    link = read(signed_in.get("/palette?q=a%26b")).one("main").all("a")[-1]
    assert link.attributes["href"] == "/search?q=a%26b"


def test_a_session_s_page_offers_what_can_be_done_with_it(signed_in: Client, empty_store: EmptyStore) -> None:
    at = empty_store.session("s", title="Sewing box")
    mine = offered(signed_in, at=f"{at}?around=3")["This session"]
    assert mine == [
        "Compact…", "Go to message or day…",
        "Find in this session", "Files touched", "Commands that failed", "History", "What the model sees",
        "Export…", "Copy the resume command", "Rename, tags and note…", "Branch this session…", "Raw rows",
        "Show only prompts", "Show only replies", "Show only edits", "Show only commands", "Show only failures",
        "Show only thinking",
    ]  # fmt: skip
    assert offered(signed_in, at=f"{at}/context")["This session"] == mine
    assert offered(signed_in, at=f"{at}#m2")["This session"] == mine, "after a click in the contents"
    assert offered(signed_in, "needle", at)["Search"][1] == "Find “needle” in this session"
    for place in (at, f"{at}#m2"):
        assert option(signed_in, "Copy the resume command", place).attributes["data-copy-text"] == "hermes --resume s"
    page = read(signed_in.get("/palette", {"at": at})).one("main")
    assert page.one("code").text == "hermes --resume s"
    for elsewhere in ("/", "/stores/none/sessions/s", "nonsense", "//[", "/stores/own/index", "%", "/\x00"):
        shown = read(signed_in.get("/palette", {"at": elsewhere})).one("main")
        assert "This session" not in shown.text


@pytest.mark.parametrize(
    ("q", "label"),
    [
        ("2", "Go to message 2"),
        ("1801", "Go to message 1,801"),
        ("#1", "Go to message #1"),
        ("First", "Go to the first message"),
        ("last", "Go to the newest message"),
        ("2026-01-02", "Go to 2026-01-02"),
    ],
)
def test_what_go_to_takes_leads_there(signed_in: Client, empty_store: EmptyStore, q: str, label: str) -> None:
    at = empty_store.session("s")
    empty_store.chat("s", 4)
    assert offered(signed_in, q, at)["This session"][0] == label
    assert "This session" not in offered(signed_in, q), "on a page of no session"
    link = read(signed_in.get("/palette", {"at": at, "q": q})).one("main").all("a")[0]
    going = signed_in.get(link.attributes["href"])
    assert going.status_code == (200 if q == "1801" else 302)


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("edits", ["Files touched", "Show only edits"]),
        ("failures", ["Commands that failed", "Show only failures"]),
        ("files", ["Files touched"]),
    ],
)
def test_a_session_s_lists_and_filters_are_found_by_their_words(
    signed_in: Client, empty_store: EmptyStore, q: str, found: list[str]
) -> None:
    at = empty_store.session("s", title="Sewing box")
    assert offered(signed_in, q, at)["This session"] == found
    if q != "files":
        link = option(signed_in, found[1], at)
        assert link.attributes["href"] == f"{at}?only={q}"
    assert "This session" not in offered(signed_in, q, "/stores")


def test_a_session_without_a_command_has_none_to_copy(signed_in: Client, demo: Callable[[str], str]) -> None:
    at = demo("Lisbon in October, five people and a dog")
    assert "Copy the resume command" not in offered(signed_in, at=at)["This session"]


def test_names_are_redacted_as_in_lists(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title=f"Key {KEY}")
    assert offered(signed_in)["Sessions"] == [f"Key {KEY}"]
    signed_in.post("/redact", {"redact": "1"})
    assert offered(signed_in)["Sessions"] == ["Key [redacted: GitHub token]"]
    assert "Show what is redacted" in offered(signed_in)["Actions"]
    assert KEY not in signed_in.get("/palette").content.decode()


def test_what_is_typed_and_named_is_text(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="<img src=x onerror=alert(1)>")
    answer = signed_in.get("/palette?q=%3Cimg&at=%22%3E%3Cscript%3E").content.decode()
    assert "<img" not in answer and '"><script>' not in answer and "&lt;img src=x" in answer


def test_a_few_queries_however_many_sessions(signed_in: Client, empty_store: EmptyStore, settings: Settings) -> None:
    settings.DEMO_STORE = empty_store.path.with_name("none.db")

    def asked(q: str, shown: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(offered(signed_in, q)["Sessions"]) == shown
        return len(queries)

    for numbers, shown in ((range(2), 2), (range(2, 60), palette.SESSIONS)):
        for number in numbers:
            empty_store.session(f"s{number}", title=f"Sewing box {number}")
        time.sleep(0.1)  # longer than a write counts as just done
        sync_worker.sync_all()
        asked("", shown)  # compares with the store what it lists
        for q in ("", "sewing"):
            assert asked(q, shown) <= 7


def test_posts_are_forms_on_the_page_of_links(signed_in: Client, empty_store: EmptyStore) -> None:
    page = read(signed_in.get("/palette?at=/stores")).one("main")
    forms = {form.one("button").text: form for form in page.all("form", method="post")}
    dark = forms["Switch to the dark theme"]
    button = dark.one("button").attributes
    said = {button["name"]: button["value"], "next": dark.one("input", name="next").attributes["value"]}
    assert signed_in.post(dark.attributes["action"], said).headers["Location"] == "/stores"
    assert read(signed_in.get("/stores")).one("html").attributes["data-theme"] == "dark"
    assert "Switch to the dark theme" not in offered(signed_in)["Actions"]
    assert signed_in.post(forms["Sign out"].attributes["action"]).headers["Location"] == "/sign-in/"
    assert signed_in.get("/palette").status_code == 302


# -- the dialog ------------------------------------------------------------------------------------------------------


def opened(screen: Page, words: str = "") -> None:
    screen.keyboard.press("Control+k")
    expect(screen.locator("#palette-words")).to_be_focused()
    screen.keyboard.type(words)
    screen.locator(f"#palette-found[data-q='{words}'] [aria-selected=true]").wait_for()


def selected(screen: Page) -> str:
    """The option that the field points at, which is the one that is marked."""
    at = screen.locator("#palette-words").get_attribute("aria-activedescendant")
    mark = screen.locator("#palette-found [aria-selected=true]")
    expect(mark).to_have_count(1)
    assert mark.get_attribute("id") == at
    return mark.locator("span").first.inner_text()


def test_keys_alone_lead_to_a_session(screen: Page, empty_store: EmptyStore) -> None:
    for number in range(3):
        empty_store.session(f"s{number}", title=f"Sewing box {number}", started_at=1_790_000_000.0 + number)
    screen.goto("/stores")
    loaded: list[str] = []
    screen.on("request", lambda asked: loaded.append(asked.url))
    opened(screen)
    assert any("palette.js" in url for url in loaded), "its script comes with its first use"
    require_accessible(screen, "the palette")
    expect(screen.locator("#palette-said")).to_contain_text("results")
    screen.keyboard.type("sewing")
    screen.locator("#palette-found[data-q=sewing]").wait_for()
    assert selected(screen) == "Sewing box 2"
    screen.keyboard.press("ArrowDown")
    assert selected(screen) == "Sewing box 1"
    screen.keyboard.press("ArrowUp")
    screen.keyboard.press("ArrowUp")
    assert selected(screen) == "Search every message for “sewing”"
    screen.keyboard.press("ArrowDown")
    screen.keyboard.press("ArrowDown")
    expect(screen.locator("#palette-words")).to_be_focused()
    screen.keyboard.press("Enter")
    expect(screen).to_have_url("/stores/own/sessions/s1")


def test_enter_waits_for_the_list_of_what_was_typed(screen: Page, empty_store: EmptyStore) -> None:
    empty_store.session("a", title="Thimbles")
    empty_store.session("b", title="What is listed before", started_at=1_790_000_001.0)
    screen.goto("/stores")
    opened(screen)
    screen.keyboard.type("thimb")
    screen.keyboard.press("Enter")
    expect(screen).to_have_url("/stores/own/sessions/a")


def test_escape_closes_it_and_gives_the_focus_back(screen: Page, empty_store: EmptyStore) -> None:
    screen.goto("/stores")
    link = screen.locator("main a").first
    link.focus()
    opened(screen)
    screen.keyboard.press("Escape")
    expect(screen.locator("#palette")).to_be_hidden()
    expect(link).to_be_focused()
    screen.get_by_role("link", name="Commands").click()
    expect(screen.locator("#palette-words")).to_be_focused()
    screen.keyboard.press("Control+k")
    expect(screen.locator("#palette")).to_be_hidden()
    screen.keyboard.press("Control+k")
    expect(screen.locator("#palette")).to_be_visible()
    screen.mouse.click(2, 2)
    expect(screen.locator("#palette")).to_be_hidden()


def test_escape_closes_it_alone(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit(360, 760)
    href = empty_store.session("s")
    empty_store.chat("s", 30)
    screen.goto(href)
    screen.get_by_role("link", name="Compact…").click()
    expect(screen.locator("#side.up")).to_be_visible()
    opened(screen)
    screen.keyboard.press("Escape")
    expect(screen.locator("#palette")).to_be_hidden()
    expect(screen.locator("#side.up")).to_be_visible()


def test_what_stands_on_the_page_is_used_there(screen: Page, empty_store: EmptyStore) -> None:
    screen.goto(empty_store.session("s", title="Sewing box"))
    empty_store.chat("s", 30)
    screen.reload()
    loads: list[str] = []
    screen.on("load", lambda page: loads.append(page.url))
    opened(screen, "find")
    screen.keyboard.press("Enter")
    expect(screen.locator("#find")).to_be_focused()
    opened(screen, "compact")
    screen.keyboard.press("Enter")
    expect(screen.locator("#side.up, #plan:focus")).to_have_count(1)
    screen.keyboard.press("Escape")
    opened(screen, "rename")
    screen.keyboard.press("Enter")
    expect(screen.locator(".renaming input[name=title]")).to_be_focused()
    screen.keyboard.press("Escape")
    opened(screen, "dark")
    screen.keyboard.press("Enter")
    expect(screen.locator("html")).to_have_attribute("data-theme", "dark")
    screen.evaluate(
        """() => { navigator.clipboard.write = async ([item]) => {
            window.copied = await (await item.getType('text/plain')).text(); } }"""
    )
    opened(screen, "resume")
    screen.keyboard.press("Enter")
    screen.get_by_text("Copied.").wait_for()
    assert screen.evaluate("copied") == "hermes --resume s"
    opened(screen, "keys")
    screen.keyboard.press("Enter")
    expect(screen.locator("#keys")).to_be_visible()
    assert not loads


def test_signing_out_from_it(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    screen.goto("/stores")
    opened(screen, "sign out")
    screen.keyboard.press("Enter")
    expect(screen).to_have_url("/sign-in/")
    screen.keyboard.press("Control+k")
    expect(screen.locator("#palette")).to_have_count(0)


def test_where_its_script_does_not_come_its_page_does(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit(java_script_enabled=False)
    at = empty_store.session("s", title="Sewing box")
    screen.goto(at)
    screen.get_by_role("link", name="Commands").click()
    expect(screen.get_by_role("heading", name="This session")).to_be_visible()
    screen.get_by_role("link", name="What the model sees").first.click()
    expect(screen).to_have_url(f"{at}/context")


def test_a_script_that_does_not_load_gives_way_to_the_page(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    screen.route(
        "**/palette.js", lambda route: route.fulfill(status=200, content_type="text/javascript", body="throw 1")
    )
    screen.goto("/stores")
    screen.keyboard.press("Control+k")
    expect(screen.get_by_role("heading", name="Commands")).to_be_visible()
