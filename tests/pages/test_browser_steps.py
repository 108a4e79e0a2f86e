"""What the script keeps over every step: the focus, the place, the way back; keys and the sheet."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from tests.browser import HELD, PHONE, TOP, Visit, at_rest, require, require_top, until_kept
from tests.factories.stores import PRESENT, EmptyStore, HermesStore


def test_the_focus_never_falls_out_of_the_page(visit: Visit, open_hermes_store: Callable[..., HermesStore]) -> None:
    screen = visit()
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}")
    boundary = screen.locator("[data-boundary]").last
    boundary.locator(".line").click()

    def press(name: str, role: str = "link") -> None:
        place = boundary.get_by_role(role, name=name)  # type: ignore[arg-type]
        place.focus()
        screen.keyboard.press("Enter")

    press("summarised")
    boundary.locator(".listed").wait_for()
    at_rest(screen)
    assert "summarised" in screen.evaluate("document.activeElement.textContent"), "the tab keeps it"
    boundary.locator(".listed a").first.focus()
    boundary.get_by_role("link", name="Summary", exact=True).evaluate("tab => tab.click()")
    boundary.locator(".tabbed .handoff").wait_for()
    at_rest(screen)
    assert screen.evaluate("document.activeElement.classList.contains('tabbed')"), "the panel gets what its list had"
    press("Undo this compaction…", "button")
    boundary.locator(".undo form").wait_for()
    at_rest(screen)
    assert screen.evaluate("document.activeElement.textContent") == "Undo"

    screen.get_by_role("button", name="Compact now…").press("Enter")
    screen.locator(".confirm").wait_for()
    at_rest(screen)
    assert screen.evaluate("document.activeElement.textContent") == "Compact"
    screen.locator(".confirm").get_by_role("button", name="Cancel").press("Enter")
    screen.locator(".confirm").wait_for(state="detached")
    at_rest(screen)
    assert screen.evaluate(HELD), "the panel gets what the question had"
    assert screen.evaluate("document.activeElement.closest('#plan') !== null")
    keep = screen.locator("#keep")
    keep.focus()
    keep.select_option("50")
    screen.locator("#keep option[selected][value='50']").wait_for(state="attached")
    at_rest(screen)
    assert screen.evaluate("document.activeElement.id") == "keep"


def test_a_window_that_is_loaded_by_hand_hands_the_focus_on(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s", title="Long")
    ids = empty_store.chat("s", 200)
    screen.goto(f"{href}?around={ids[100]}#m{ids[100]}")
    for side in ("later", "earlier"):
        link = screen.locator(f".neighbour.{side}")
        link.focus()
        before = screen.locator("[data-turn]").count()
        link.press("Enter")
        screen.locator("[data-turn]").nth(before).wait_for(state="attached")
        at_rest(screen)
        assert screen.evaluate("document.activeElement.matches('[data-turn]')"), side
        assert screen.evaluate(HELD)


def test_going_back_leads_to_where_one_was(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s", title="Long")
    ids = empty_store.chat("s", 300)
    for number in range(100):
        empty_store.session(f"other{number:03}", title=f"Other {number}")
    screen.goto("/")
    for more in range(2):
        screen.locator(".neighbour.later").scroll_into_view_if_needed()
        screen.locator("li.session").nth(40 * (more + 1)).wait_for()
    line = screen.locator("li.session a").nth(90)
    line.scroll_into_view_if_needed()
    until_kept(screen)
    at, name = line.evaluate(TOP), line.inner_text()
    line.click()
    screen.locator("#reading, .refusal").first.wait_for()
    screen.go_back()
    again = screen.get_by_role("link", name=name, exact=True)
    expect(again).to_be_in_viewport()
    require_top(again, at)

    screen.goto(f"{href}?around={ids[150]}#m{ids[150]}")
    screen.mouse.wheel(0, -40)
    screen.locator(".neighbour.earlier").scroll_into_view_if_needed()
    screen.locator(f"#m{ids[100]}").wait_for(state="attached")
    screen.locator(f"#m{ids[100]}").scroll_into_view_if_needed()
    until_kept(screen)
    place = screen.locator(f"#m{ids[100]}")
    at, address = place.evaluate(TOP), screen.url
    screen.get_by_role("link", name="What the model sees").evaluate("link => link.click()")
    screen.wait_for_url("**/context")
    screen.go_back()
    expect(screen).to_have_url(address)
    expect(place).to_be_in_viewport()
    require_top(place, at)
    screen.go_forward()
    screen.wait_for_url("**/context")
    expect(screen.get_by_role("link", name="What the model sees")).to_have_attribute("aria-current", "page")


def test_after_every_step_back_shows_whole_pages(visit: Visit, open_hermes_store: Callable[..., HermesStore]) -> None:
    screen = visit()
    session = f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}"
    screen.goto("/")
    steps: list[Callable[[], object]] = [
        lambda: screen.locator("[open] > .tabs a").nth(1).click(),
        lambda: screen.locator("[open] > .tabs a").last.click(),
        lambda: screen.locator(".undo").get_by_role("button", name="Branch from here…").last.click(),
        lambda: screen.locator("#keep").select_option("50"),
        lambda: screen.get_by_role("button", name="Compact now…").click(),
    ]
    for step in steps:
        screen.goto(session)
        screen.locator(".line").last.click()
        with screen.expect_response(lambda answer: "timeline" not in answer.url):
            step()
        at_rest(screen)
        screen.locator(".brand").click()
        screen.get_by_role("heading", name="Sessions", level=1).wait_for()
        screen.go_back()
        screen.get_by_role("heading", name="Merged carrier 92").wait_for()
        assert screen.url.endswith(session)
        expect(screen.locator("header.top, main, #side, #plan")).to_have_count(4)
        screen.go_back()
        screen.get_by_role("heading", name="Sessions", level=1).wait_for()


def test_a_field_that_was_left_does_not_take_the_focus_back(visit: Visit, empty_store: EmptyStore) -> None:
    """Else single keys are typed into it."""
    screen = visit()
    href = empty_store.session("s")
    empty_store.chat("s", 4)
    screen.goto(href)
    at_rest(screen)
    turns = screen.locator("[data-turn]")

    def arrives(words: str) -> None:
        before = turns.count()
        empty_store.say("s", "user", words, timestamp=PRESENT + 100 + before)
        screen.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(turns).to_have_count(before + 1)
        at_rest(screen)

    screen.keyboard.press("/")
    arrives("One more.")
    expect(screen.locator("#search")).to_be_focused()
    screen.locator("h1").click()
    arrives("And another.")
    expect(screen.locator("#search")).not_to_be_focused()
    screen.keyboard.press("?")
    expect(screen.locator("dialog#keys")).to_be_visible()


def test_keys(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    empty_store.say("s", "user", "Where is it?")
    calls = [empty_store.call("terminal", "c1", command="ls")]
    empty_store.say("s", "assistant", "I look.", tool_calls=calls, reasoning="Perhaps in the cellar.")
    empty_store.say("s", "tool", "cellar", tool_call_id="c1")
    screen.goto(href)
    at_rest(screen)
    screen.keyboard.press("j")
    screen.keyboard.press("j")
    open_folds = screen.locator(".turn.focus details[open]")
    folds = screen.locator(".turn.focus details").count()
    assert folds >= 2
    screen.keyboard.press("e")
    expect(open_folds).to_have_count(folds)
    screen.keyboard.press("e")
    expect(open_folds).to_have_count(0)
    screen.keyboard.press("Control+e")
    screen.keyboard.press("Alt+e")
    expect(open_folds).to_have_count(0)
    screen.keyboard.press("/")
    screen.keyboard.type("je?gs")
    assert screen.locator("#search").input_value() == "je?gs", "keys are not taken from who types"
    assert not screen.locator("dialog#keys").is_visible()
    screen.evaluate("document.activeElement.blur()")
    screen.keyboard.press("?")
    expect(screen.locator("dialog#keys")).to_be_visible()
    listed = screen.locator("dialog#keys dt").all_inner_texts()
    keys = {key for line in listed for key in line.split()}
    assert keys == {*"/.fjkpP[]egsgcixnN?KGtF", "Ctrl", "Esc", "Enter", "Home", "End"}
    screen.get_by_label("Single-key shortcuts").uncheck()
    screen.get_by_role("button", name="Close").click()
    screen.reload()
    screen.keyboard.press("?")
    assert not screen.locator("dialog#keys").is_visible(), "single keys are off, also after loading again"
    screen.get_by_role("banner").get_by_role("button", name="Keys").click()
    screen.get_by_label("Single-key shortcuts").check()
    screen.keyboard.press("Escape")
    for key, address in (("c", "**/compactions"), ("s", "**/")):
        screen.keyboard.press("g")
        screen.keyboard.press(key)
        screen.wait_for_url(address)


def test_skip_links_lead_to_the_conversation_the_panel_and_the_search(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    empty_store.chat("s", 4)
    screen.goto(href)
    seen = []
    for _ in range(3):
        screen.keyboard.press("Tab")
        link = screen.locator(":focus")
        assert link.is_visible() and link.bounding_box()["height"] >= 24  # type: ignore[index]
        target = link.get_attribute("href") or ""
        assert screen.locator(target).count() == 1
        seen.append(target)
    assert seen == ["#main", "#plan", "#search"]


def test_the_panel_is_a_sheet_on_a_phone(visit: Visit, open_hermes_store: Callable[..., HermesStore]) -> None:
    screen = visit(*PHONE)
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}")
    opener, side = screen.get_by_role("link", name="Compact…"), screen.locator("#side")
    expect(side).to_be_hidden()  # it is not at the end of the page a second time
    for how in ("Escape", "Close", "outside"):
        opener.focus()
        screen.keyboard.press("Enter")
        expect(side).to_be_focused()
        # A sheet is a dialog: what it hides is no part of the page meanwhile.
        rules = ["aria-allowed-role", "landmark-one-main", "page-has-heading-one", "landmark-unique", "target-size"]
        require(screen, "the sheet", rules)
        for _ in range(40):  # round and round, never outside; the browser's own bar is the way out
            screen.keyboard.press("Tab")
            assert screen.evaluate(
                "document.activeElement.closest('#side') || document.activeElement === document.body"
            )
        if how == "Escape":
            screen.keyboard.press("Escape")
        elif how == "Close":
            side.get_by_role("button", name="Close").click()
        else:
            screen.mouse.click(180, 40)
        expect(side).not_to_have_class("side up")
        assert not screen.locator("[inert]").count()
        expect(opener).to_be_focused()
    screen.goto(f"{screen.url.partition('#')[0]}?a=1#plan")  # as a link from another page, such as the palette's
    expect(side).to_be_visible()


@pytest.mark.parametrize(("zone", "told"), [("Asia/Tokyo", "22 Sep 00:00"), ("America/Los_Angeles", "21 Sep 08:00")])
def test_times_are_the_readers(visit: Visit, empty_store: EmptyStore, zone: str, told: str) -> None:
    screen = visit(timezone_id=zone)
    href = empty_store.session("s")
    row = empty_store.say("s", "user", "What time is it?", timestamp=1_790_002_800.0)  # 21 September 2026, 15:00 UTC
    screen.goto(href)
    said = screen.locator(f"#m{row} time")
    expect(said).to_have_text(told)


def test_a_printed_session_is_its_conversation(visit: Visit, open_hermes_store: Callable[..., HermesStore]) -> None:
    screen = visit()
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}")
    screen.emulate_media(media="print")
    for hidden in ("header.top", ".toc", "#side", ".tabs", ".undo", ".views"):
        assert not screen.locator(hidden).first.is_visible(), hidden
    assert screen.locator("[data-turn] .md").first.is_visible()
    assert screen.locator("h1").is_visible()
    assert screen.locator("details.tool .out").first.evaluate("place => place.checkVisibility()"), "folds are open"


def test_the_contents_are_a_sheet_on_a_phone(visit: Visit, open_hermes_store: Callable[..., HermesStore]) -> None:
    """A session opens at its end: find, filters, lists and the outline come up wherever somebody reads."""
    screen = visit(*PHONE)
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}")
    opener, contents = screen.get_by_role("link", name="Find, files, outline"), screen.locator("#contents")
    at_rest(screen)
    title = screen.locator("h1").bounding_box()
    assert title and title["y"] < screen.viewport_size["height"] / 2, "the title is on the first screen"  # type: ignore[index]
    expect(contents).to_be_hidden()
    opener.click()
    expect(contents).to_be_focused()
    for each in ("Prompts", "Everything"):
        expect(contents.get_by_role("link", name=each, exact=True)).to_be_in_viewport(ratio=1)
    expect(screen.locator("#toc li.here")).to_be_in_viewport(ratio=1)
    require(screen, "the contents", ["aria-allowed-role", "landmark-one-main", "heading-order", "target-size"])
    screen.locator("#toc a").last.click()
    expect(contents).to_be_hidden()
    assert not screen.locator("[inert]").count()
    screen.keyboard.press("f")
    expect(screen.locator("#find")).to_be_focused()
    screen.keyboard.type("flight")
    hit = screen.locator("#found .hit a.to").first
    hit.click()
    screen.wait_for_url("**q=flight**")
    expect(contents).to_be_hidden()
    expect(screen.get_by_role("link", name="Next hit")).to_be_in_viewport(ratio=1)
    screen.get_by_role("link", name="Next hit").click()
    expect(screen.locator("#found [data-of]")).to_contain_text("2 of")


def test_escape_leaves_a_name_as_it_was(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    empty_store.session("s", title="The cellar")
    empty_store.chat("s", 2)
    screen.goto("/")
    screen.get_by_role("link", name="Edit title, tags and note of The cellar").focus()
    screen.keyboard.press("Enter")
    field = screen.get_by_label("Title", exact=True)
    expect(field).to_be_focused()  # then its buttons work as well
    field.fill("The attic")
    screen.keyboard.press("Escape")
    expect(screen.locator(".lines .title a")).to_have_text("The cellar")
    at_rest(screen)
    assert screen.evaluate(HELD)


def test_text_grows_with_the_size_a_reader_asked_for(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    empty_store.say("s", "user", "Where is `it`?\n\n1. In the *cellar*\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    too_small = """() => {
        const all = [...document.body.querySelectorAll("*:not(svg *, option)")].filter(one => one.checkVisibility());
        const sizes = () => all.map(one => parseFloat(getComputedStyle(one).fontSize));
        const before = sizes();
        document.documentElement.style.fontSize = "32px";
        const after = sizes();
        return all.filter((_, at) => after[at] < before[at] * 1.9).map(one => one.outerHTML.slice(0, 80));
    }"""
    for path in ("/", href, "/search", "/compactions", "/stores", "/settings"):
        screen.goto(path)
        at_rest(screen)
        assert not screen.evaluate(too_small), path


def test_a_wheel_at_the_very_top_brings_what_came_before(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    ids = empty_store.chat("s", 200)
    screen.goto(f"{href}?after={ids[120]}")
    at_rest(screen)
    turns = screen.locator("[data-turn]")
    before, first = turns.count(), turns.first.get_attribute("id")
    assert screen.evaluate("scrollY") == 0, "nothing above to scroll to"
    screen.mouse.move(700, 600)
    screen.mouse.wheel(0, -300)
    expect(turns.nth(before)).to_be_attached()
    assert turns.first.get_attribute("id") != first


def test_a_permalink_is_what_e_unfolds(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    empty_store.say("s", "user", "Where is it?")
    told = empty_store.say("s", "assistant", "In the cellar.", reasoning="Perhaps in the cellar.")
    screen.goto(f"{href}?around={told}#m{told}")
    at_rest(screen)
    screen.keyboard.press("e")
    expect(screen.locator(f"#m{told} details[open]")).to_have_count(1)


def test_a_session_opens_on_a_phone_without_a_shift(
    visit: Visit, open_hermes_store: Callable[..., HermesStore]
) -> None:
    screen = visit(*PHONE)
    screen.add_init_script("""
        window.shifts = [];
        new PerformanceObserver(list => window.shifts.push(...list.getEntries().map(shift => shift.value)))
            .observe({type: "layout-shift", buffered: true});
    """)

    def late(route: Route) -> None:  # so that the page is painted before its script runs, as on a slow line
        screen.wait_for_timeout(500)
        route.continue_()

    screen.route(re.compile(r"/js/app.*\.js"), late)
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21).session_id}")
    expect(screen.locator(".timeline svg")).to_be_visible()
    at_rest(screen)
    assert sum(screen.evaluate("window.shifts")) < 0.02


def test_the_contents_lead_into_a_boundary(visit: Visit, open_hermes_store: Callable[..., HermesStore]) -> None:
    screen = visit()
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}")
    tabs = screen.locator("[data-boundary]").last.locator(".tabs")
    expect(tabs).to_be_hidden()
    screen.locator(".toc li.cut a[href^='#']").last.click()
    expect(tabs).to_be_visible()


def test_keys_pressed_while_a_window_loads_are_done_there(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    ids = empty_store.chat("s", 300)
    screen.goto(href)

    def late(route: Route) -> None:
        screen.wait_for_timeout(500)
        route.continue_()

    screen.route(re.compile(r"at=first"), late)
    screen.locator(".timeline svg").wait_for()
    for key in "ggpp":
        screen.keyboard.press(key)
    screen.wait_for_url(re.compile(r"around=1#"))
    expect(screen.locator(".turn.focus")).to_have_id(f"m{ids[4]}")
