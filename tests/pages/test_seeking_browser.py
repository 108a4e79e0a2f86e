"""Going somewhere in a session: where it opens, to a message, along the timeline, from hit to hit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser import PHONE, TOP, Visit, at_rest, on_both_screens, require
from tests.factories.stores import EmptyStore, HermesStore

_SHIFTS = """() => {
    window.shifts = 0;
    new PerformanceObserver(list => list.getEntries().forEach(one => { window.shifts += one.value; }))
        .observe({ type: "layout-shift", buffered: true });
}"""


@on_both_screens
def test_a_session_opens_at_its_newest_message_and_stays_where_it_was_left(
    screen: Page, empty_store: EmptyStore
) -> None:
    href = empty_store.session("s")
    ids = empty_store.chat("s", 200)
    screen.add_init_script(f"({_SHIFTS})()")
    screen.goto(href)
    newest = screen.locator(f"#m{ids[-1]}")
    expect(newest).to_be_in_viewport(ratio=1)
    screen.locator(".timeline svg").wait_for(state="attached")
    at_rest(screen)
    expect(newest).to_be_in_viewport(ratio=1)
    assert screen.evaluate("window.shifts") < 0.05
    told = empty_store.say("s", "user", "One more")
    screen.locator(f"#m{told}").wait_for()
    expect(screen.locator(f"#m{told}")).to_be_in_viewport()

    middle = screen.locator(f"#m{ids[-40]}")
    middle.scroll_into_view_if_needed()
    screen.reload()
    expect(middle).to_be_in_viewport()
    screen.get_by_role("link", name="First message").evaluate("link => link.click()")
    expect(screen.locator(f"#m{ids[0]}")).to_be_in_viewport()
    screen.get_by_role("link", name="Newest").evaluate("link => link.click()")
    expect(screen.locator(f"#m{told}")).to_be_in_viewport()


def test_the_head_stays_and_the_place_is_followed(visit: Visit, empty_store: EmptyStore) -> None:
    """A session opens at its end: its title, Go to and the other view are there, and Home leads to its beginning."""
    screen = visit()
    href = empty_store.session("s", title="A long talk")
    ids = empty_store.chat("s", 400)
    screen.goto(href)
    head, cursor = screen.locator(".head"), screen.locator("#scrub")
    expect(screen.get_by_role("heading", name="A long talk")).to_be_in_viewport(ratio=1)
    expect(head.get_by_label("Go to: a number or a date")).to_be_in_viewport(ratio=1)
    expect(head.get_by_role("link", name="What the model sees")).to_be_in_viewport(ratio=1)
    cursor.wait_for()
    screen.keyboard.press(".")
    expect(head.get_by_label("Go to: a number or a date")).to_be_focused()
    head.get_by_label("Go to: a number or a date").blur()
    screen.keyboard.press("Home")
    expect(screen.locator(f"#m{ids[0]}")).to_be_in_viewport()
    expect(screen.get_by_role("heading", name="A long talk")).to_be_in_viewport(ratio=1)
    expect(screen.locator(".scrub output")).to_contain_text("message 1 of 400")
    screen.keyboard.press("j")
    expect(screen.locator(f"#m{ids[1]}")).to_be_focused()  # the next one from where Home leads
    for _ in range(12):
        screen.mouse.wheel(0, 900)
    at_rest(screen)
    shown = screen.locator(".scrub output").inner_text()
    assert 10 < int(shown.split()[1].replace(",", "")) < 400, shown
    expect(screen.locator(".toc li.here")).to_be_in_viewport()
    screen.keyboard.press("End")
    expect(screen.locator(f"#m{ids[-1]}")).to_be_in_viewport()
    at_rest(screen)
    before = screen.evaluate("scrollY")
    screen.keyboard.press("f")
    expect(screen.locator("#find")).to_be_focused()
    assert screen.evaluate("scrollY") == before, "the field is in the column that stays"
    screen.evaluate("document.querySelector('.head .views a').focus({ preventScroll: true })")
    for _ in range(5):
        screen.keyboard.press("Tab")
    assert screen.evaluate("document.activeElement.closest('.head') !== null")
    assert screen.evaluate("scrollY") == before, "so is the head"
    opened, asked = screen.evaluate("performance.timeOrigin"), head.get_by_label("Go to: a number or a date")
    asked.fill("9999")
    asked.press("Enter")
    expect(head.get_by_role("alert")).to_have_text("There is no message 9,999 here: they go from 1 to 400.")
    expect(asked).to_be_focused()
    assert (screen.evaluate("scrollY"), screen.evaluate("performance.timeOrigin")) == (before, opened)
    asked.fill("7")
    expect(head.get_by_role("alert")).to_be_hidden()
    asked.press("Enter")
    expect(screen.locator(f"#m{ids[6]}")).to_be_in_viewport()
    screen.set_viewport_size({"width": 1024, "height": 768})
    screen.goto(href)
    expect(screen.locator(f"#m{ids[-1]}")).to_be_in_viewport(ratio=1)
    expect(screen.locator(".timeline svg")).to_be_in_viewport(ratio=1)
    screen.set_viewport_size({"width": 360, "height": 640})
    screen.keyboard.press("?")
    expect(screen.get_by_role("heading", name="Keys")).to_be_in_viewport(ratio=1)
    screen.keyboard.press("Escape")
    expect(head.locator("#fill")).to_contain_text("tokens")
    expect(head.locator("#fill")).to_be_in_viewport(ratio=1)


def test_boundaries_that_are_not_loaded_are_found_by_keys(
    visit: Visit, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """Also where the contents name none of the loaded messages, as in the middle of a long run of tool calls."""
    screen = visit()
    href = f"/stores/hermes/sessions/{open_hermes_store(21, 'Airline desk, week 29').session_id}"
    for start, key in (("first", "]"), ("last", "[")):
        screen.goto(f"{href}?at={start}")
        at_rest(screen)
        screen.keyboard.press(key)
        expect(screen.locator(".history [data-boundary]").first).to_be_in_viewport()
    screen.evaluate("document.querySelector('.legend .term').click()")
    expect(screen.locator(".legend :popover-open")).to_be_visible()
    screen.evaluate("htmx.trigger('.neighbour.earlier', 'near')")
    expect(screen.locator(".legend :popover-open")).to_have_count(0)


def test_a_long_newest_message_is_shown_from_its_beginning(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    empty_store.chat("s", 30)
    told = empty_store.say("s", "assistant", "\n\n".join(f"Paragraph {number}" for number in range(100)))
    screen.goto(href)
    screen.wait_for_function("scrollY > 500")
    assert 0 <= screen.locator(f"#m{told}").evaluate(TOP) < 300


def test_find_goes_from_hit_to_hit(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    first = empty_store.say("s", "user", "a needle at the beginning")
    empty_store.chat("s", 150)
    call = empty_store.call("terminal", "c1", command="ls")
    asked = empty_store.say("s", "assistant", "Looking.", tool_calls=[call])
    answered = empty_store.say("s", "tool", "one\nneedle.txt\nthree", tool_call_id="c1", tool_name="terminal")
    read = empty_store.say(
        "s", "assistant", "", tool_calls=[empty_store.call("terminal", "c2", command="cat needle.txt")]
    )
    screen.goto(href)
    field, count = screen.locator("#find"), screen.locator("#found [data-of]")
    field.fill("needle")
    expect(count).to_have_text("3 found", timeout=5000)
    field.press("Enter")
    expect(count).to_have_text("2 of 3")  # the nearest, not the oldest
    expect(screen.locator(f"#m{answered} mark.here")).to_be_in_viewport()
    screen.keyboard.press("N")
    expect(count).to_have_text("1 of 3")
    expect(screen.locator(f"#m{first} mark.here")).to_be_in_viewport()
    expect(screen.locator("#found [aria-current]")).to_be_in_viewport()
    assert screen.url.endswith(f"?q=needle&around={first}#m{first}")
    expect(screen.locator(f"#m{first}")).to_be_focused()
    screen.keyboard.press("N")
    expect(count).to_have_text("3 of 3")
    screen.keyboard.press("n")
    expect(count).to_have_text("1 of 3")
    expect(screen.locator(f"#m{first}")).to_be_focused()
    screen.keyboard.press("Enter")
    expect(count).to_have_text("2 of 3")
    expect(screen.locator(f"#m{answered} mark.here")).to_have_text("needle")
    expect(screen.locator(f"#m{answered} mark.here")).to_be_in_viewport()
    opened = screen.evaluate("performance.timeOrigin")
    screen.keyboard.press("n")
    expect(count).to_have_text("3 of 3")
    expect(screen.locator(f"#m{read} .tool mark.here")).to_be_in_viewport()
    assert screen.evaluate("performance.timeOrigin") == opened, "within the page"
    assert screen.url.endswith(f"around={read}#m{read}")
    screen.keyboard.press("N")
    expect(count).to_have_text("2 of 3")
    expect(screen.locator(".marked")).to_have_attribute("id", f"m{answered}")
    assert screen.locator(f"#m{asked} > details").evaluate("fold => fold.open")
    screen.locator("#found").get_by_role("link", name="Next hit").click()
    screen.locator("#found").get_by_role("link", name="Next hit").click()
    expect(count).to_have_text("1 of 3")
    expect(screen.locator(f"#m{first}")).to_be_in_viewport()
    screen.keyboard.press("f")
    screen.keyboard.type("no n")
    expect(field).to_have_value("no n")


def test_a_hit_of_the_search_is_scrolled_to_and_marked(screen: Page, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.chat("s", 90)
    long = "\n\n".join(f"Paragraph {number}" for number in range(80))
    told = empty_store.say("s", "assistant", f"{long}\n\nthe **haystack** & <i>more</i>\n\n{long}")
    empty_store.chat("s", 90)
    screen.goto("/search?q=haystack")
    screen.locator(".hit").click()
    screen.wait_for_url(f"**{href}?q=haystack&around={told}#m{told}")
    marks = screen.locator(f"#m{told} mark")
    expect(marks).to_have_text(["haystack"])
    expect(marks.first).to_be_in_viewport()
    expect(screen.locator("#found [data-of]")).to_have_text("1 of 1")


@on_both_screens
def test_no_control_is_half_under_what_stays_where_one_lands(screen: Page, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    ids = [empty_store.say("s", "user", "word " * (number % 7 * 9 + 1)) for number in range(90)]
    for address in (href, f"{href}?around={ids[40]}#m{ids[40]}", f"{href}?around={ids[88]}#m{ids[88]}"):
        screen.goto(address)
        at_rest(screen)
        # What is under the bar at the bottom comes up by reading on.
        screen.locator(".sheet-open").evaluate(
            "bar => { bar.style.cssText = 'visibility: hidden; pointer-events: none' }"
        )
        for key in ("", "k", "k"):
            if key:
                screen.keyboard.press(key)
            require(screen, f"{address} {key}", ["target-size"])
    edge = screen.locator("#main").evaluate("it => parseFloat(getComputedStyle(it).scrollMarginTop)")
    screen.goto("about:blank")
    screen.goto(href)
    tops = screen.locator(".turn").evaluate_all("all => all.map(it => it.getBoundingClientRect())")
    cut = [box for box in tops if box["top"] < edge - 10 and box["bottom"] > edge + 10]
    assert not cut, "the page ends before its newest message is at the top, where a whole one is"


@on_both_screens
def test_a_message_is_at_the_top_also_where_what_follows_is_not_loaded(screen: Page, empty_store: EmptyStore) -> None:
    """Below the line or two before it, where there are."""
    href = empty_store.session("s")
    ids = empty_store.chat("s", 300)
    screen.add_init_script("document.addEventListener('htmx:beforeRequest', event => event.preventDefault())")
    size = screen.viewport_size
    assert size
    screen.set_viewport_size({"width": size["width"], "height": 6_000})
    for at in (100, 1):
        screen.goto(f"{href}?at={at}")
        message = screen.locator(f"#m{ids[at - 1]} > .msg")
        message.wait_for()
        screen.wait_for_timeout(300)
        covered = screen.locator("#main").evaluate("it => parseFloat(getComputedStyle(it).scrollMarginTop)")
        tops = screen.locator(".history .msg").evaluate_all(f"all => all.map({TOP})")
        first = min(top for top in tops if top > covered - 12)
        assert first - covered < 12 and message.evaluate(TOP) - first in (0.0, pytest.approx(80, abs=20)), at


def test_find_begins_where_somebody_reads_and_leads_to_the_line(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    empty_store.say("s", "user", "the first needle")
    empty_store.chat("s", 40)
    reading = empty_store.say("s", "user", "Where is it?")
    call = empty_store.call("terminal", "c1", command="cat log")
    empty_store.say("s", "assistant", "", tool_calls=[call])
    lines = "\n".join(f"line {number}" for number in range(200))
    empty_store.say("s", "tool", f"{lines}\na needle\n{lines}", tool_call_id="c1", tool_name="terminal")
    last = empty_store.say("s", "user", "the last needle")
    empty_store.chat("s", 40)
    for key, at, number in (
        ("Enter", reading, "2 of 3"),
        ("Shift+Enter", reading, "1 of 3"),
        ("Enter", last + 1, "3 of 3"),
    ):
        screen.goto("about:blank")
        screen.goto(f"{href}?around={at}#m{at}")
        at_rest(screen)
        screen.locator("#find").fill("needle")
        expect(screen.locator("#found [data-of]")).to_have_text("3 found")
        screen.locator("#find").press(key)
        expect(screen.locator("#found [data-of]")).to_have_text(number)
        mark = screen.locator("mark.here")
        expect(mark).to_be_in_viewport(ratio=1)
        corner = "const {x, y} = it.getBoundingClientRect()"
        seen = f"it => {{ {corner}; return document.elementFromPoint(x + 2, y + 2) === it }}"
        screen.wait_for_function(seen, arg=mark.element_handle())


def test_the_timeline_is_dragged_and_stays_in_sight(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    ids = empty_store.chat("s", 401)
    screen.goto(href)
    cursor, label = screen.locator("#scrub"), screen.locator(".scrub output")
    expect(label).to_contain_text("message 401 of 401 · ")
    expect(cursor).to_be_in_viewport(ratio=1)
    box = cursor.bounding_box()
    assert box
    screen.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 30)
    screen.mouse.down()
    screen.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 40, steps=4)
    expect(label).to_contain_text("message 201 of 401 · ")
    expect(cursor).to_have_attribute("aria-valuetext", label.inner_text())
    screen.mouse.up()
    screen.wait_for_url(f"**?around={ids[200]}#m{ids[200]}")
    expect(label).to_contain_text("message 201 of 401 · ")
    under = screen.locator(".timeline").evaluate("it => it.getBoundingClientRect().bottom")
    assert screen.locator(f"#m{ids[200]}").evaluate(TOP) >= under, "what is gone to is not behind the timeline"
    cursor.focus()
    screen.keyboard.press("ArrowLeft")
    expect(label).to_contain_text("message 200 of 401 · ")
    assert screen.url.endswith(f"#m{ids[200]}"), "keys only choose"
    screen.keyboard.press("Enter")
    screen.wait_for_url(f"**?around={ids[199]}#m{ids[199]}")


def test_where_to_go_is_typed_in_full_on_a_phone(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit(*PHONE)
    href = empty_store.session("s")
    empty_store.chat("s", 4)
    screen.goto(href)
    field = screen.get_by_label("Go to: a number or a date")
    field.click()
    screen.keyboard.type("2026-11-03 10:00")
    assert field.evaluate("field => field.scrollWidth <= field.clientWidth && field.clientWidth > 150")


def test_far_windows_give_way_to_their_link_and_what_is_read_stays(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    ids = empty_store.chat("s", 900)
    screen.goto(f"{href}?around={ids[450]}#m{ids[450]}", wait_until="load")
    turns = "[...document.querySelectorAll('.history > [data-turn]')].map(turn => +turn.id.slice(1))"

    def load(side: str) -> list[int]:
        edge = 0 if side == "earlier" else -1
        before = screen.evaluate(turns)
        at = screen.locator(f"#m{before[edge]}")
        at.scroll_into_view_if_needed()  # which brings the link near, and so the window behind it
        screen.wait_for_function(f"([edge, id]) => ({turns}).at(edge) !== id", arg=[edge, before[edge]])
        expect(at).to_be_in_viewport()
        at_rest(screen)
        now: list[int] = screen.evaluate(turns)
        assert now == list(range(now[0], now[-1] + 1)), "each once, without a gap"
        assert len(now) <= 5 * 60
        return now

    for _ in range(6):
        shown = load("earlier")
    later, earlier = screen.locator(".neighbour.later"), screen.locator(".neighbour.earlier")
    expect(later).to_have_text(f"{ids[-1] - shown[-1]} later messages")
    assert ids[450] not in shown
    for _ in range(12):
        if not later.count():
            break
        shown = load("later")
    assert shown[-1] == ids[-1]
    expect(screen.locator("#live")).to_have_count(1)
    expect(earlier).to_have_text(f"{shown[0] - ids[0]} earlier messages")
    told = empty_store.say("s", "user", "One more")
    screen.locator(f"#m{told}").wait_for(state="attached")
    for _ in range(6):
        load("earlier")
    expect(screen.locator("#live")).to_have_count(0)
    screen.get_by_role("link", name="Newest").evaluate(
        "link => link.setAttribute('href', '#m' + location.hash.slice(2))"
    )
    screen.get_by_role("link", name="Newest").evaluate("link => link.click()")
    screen.wait_for_load_state()
    expect(screen.locator(f"#m{ids[450]}")).to_be_in_viewport()


def test_a_find_says_at_once_that_it_is_searching(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href = empty_store.session("s")
    empty_store.chat("s", 4)
    screen.goto(href)
    at_rest(screen)
    waiting: list[Callable[[], None]] = []
    screen.route("**/find?*", lambda route: waiting.append(route.continue_))
    with screen.expect_request("**/find?*"):
        screen.locator("#find").fill("message")
    content = "getComputedStyle(document.getElementById('found'), '::before').content"
    assert "Searching" in screen.evaluate(content)
    waiting[0]()
    expect(screen.locator("#found .steps")).to_be_visible()
    at_rest(screen)
    assert screen.evaluate(content) == "none"


def test_what_a_finger_presses_in_the_head_is_high_enough(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit(*PHONE)
    href = empty_store.session("s")
    empty_store.chat("s", 4)
    screen.goto(href)
    for each in screen.locator(".head :is(.views a, .seek a, .seek input, .rename, .menu > summary)").all():
        box = each.bounding_box()
        assert box and box["height"] >= 36
