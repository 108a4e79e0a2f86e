"""Folded work in a browser: keys, links and windows open it or step over it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser import PHONE, TOP, Visit, at_rest
from tests.factories.stores import PRESENT, EmptyStore


def working(store: EmptyStore, turns: int, calls: int) -> tuple[str, list[list[int]]]:
    """A session of so many turns; the address of its page, and the ids of each turn: prompt, calls, answer."""
    href, made = store.session("s"), []
    for turn in range(turns):
        ids = [store.say("s", "user", f"Plant bed {turn}", timestamp=PRESENT + turn)]
        for at in range(calls):
            call = store.call("terminal", f"c{turn}-{at}", command=f"dig {turn} {at}")
            ids.append(store.say("s", "assistant", None, tool_calls=[call], timestamp=PRESENT + turn))
            store.say("s", "tool", "dug", tool_call_id=f"c{turn}-{at}", timestamp=PRESENT + turn)
        ids.append(store.say("s", "assistant", f"Bed {turn} is planted.", timestamp=PRESENT + turn))
        made.append(ids)
    return href, made


def top_of(screen: Page) -> str:
    return str(screen.evaluate("document.activeElement.id"))


def test_keys_step_over_folded_work_and_from_prompt_to_prompt(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href, turns = working(empty_store, 3, 5)
    screen.goto(f"{href}?at=first")
    at_rest(screen)
    screen.keyboard.press("j")
    assert top_of(screen) == f"w{turns[0][1]}", "the line of the work, not a call that is folded away"
    screen.keyboard.press("j")
    assert top_of(screen) == f"m{turns[0][-1]}"
    screen.keyboard.press("p")
    assert top_of(screen) == f"m{turns[1][0]}"
    screen.keyboard.press("p")
    assert top_of(screen) == f"m{turns[2][0]}"
    expect(screen.locator(".history :is(.focus, .marked)")).to_have_count(1)
    for key, turn in (("", 2), ("P", 1), ("P", 0), ("p", 1)):
        if key:
            screen.keyboard.press(key)
        at_rest(screen)
        expect(screen.locator(".toc li.here")).to_have_text(f"Plant bed {turn}")
        number = turn * 12 + 1
        expect(screen.locator(".scrub output")).to_contain_text(f"message {number} of 36")
    screen.keyboard.press("j")
    screen.keyboard.press("e")
    call = screen.locator(f"#m{turns[1][1]}")
    expect(call).to_be_visible()
    screen.keyboard.press("j")
    assert top_of(screen) == f"m{turns[1][1]}"


def test_keys_with_nothing_to_go_to_say_so(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href, turns = working(empty_store, 2, 0)
    screen.goto(f"{href}?at=first")
    at_rest(screen)
    noted = screen.locator("#said")
    screen.keyboard.press("p")
    screen.keyboard.press("P")
    assert top_of(screen) == f"m{turns[0][0]}"
    expect(noted).to_have_text("")
    for key, sentence in (
        ("P", "No earlier prompt."),
        ("e", "Nothing to unfold here."),
        ("]", "No later compaction."),
        ("p", ""),
        ("p", "No later prompt."),
    ):
        screen.keyboard.press(key)
        if sentence:
            expect(noted).to_contain_text(sentence)
    assert top_of(screen) == f"m{turns[1][0]}"


def test_what_is_open_of_work_is_set_in_below_its_line(visit: Visit, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "Look at the beds")
    for at, name in enumerate(["read_file"] * 3 + ["terminal"] * 8):
        call = empty_store.call(name, f"c{at}", **{"path" if at < 3 else "command": f"/bed{at}"})
        empty_store.say("s", "assistant", None, tool_calls=[call])
        empty_store.say("s", "tool", "earth", tool_call_id=f"c{at}", tool_name=name)
    empty_store.say("s", "assistant", "Looked.")
    left = "it => it.getBoundingClientRect().left"
    for width, inset in ((1500, 20), (360, 12)):
        screen = visit(width)
        screen.goto(href)
        screen.evaluate("document.querySelectorAll('.worked, .reads').forEach(fold => fold.open = true)")
        work, reads = screen.locator("details.worked > summary"), screen.locator("details.reads > summary")
        read, ran = screen.locator(".reads details.tool").first, screen.locator(".worked > .turn > details.tool").first
        assert ran.evaluate(left) - work.evaluate(left) == reads.evaluate(left) - work.evaluate(left) == inset
        assert read.evaluate(left) - reads.evaluate(left) == inset
        font = "it => getComputedStyle(it).font"
        assert reads.evaluate(font) == ran.locator("> summary").evaluate(font)


def test_a_link_to_a_call_leads_to_its_row(visit: Visit, empty_store: EmptyStore) -> None:
    """By the id of its result, and by that of the message with all its calls; a failure says first how it failed."""
    screen, href = visit(), empty_store.session("s")
    empty_store.chat("s", 30)
    calls = [empty_store.call("terminal", f"c{at}", command=f"dig {at}\n" + "# a bed\n" * 60) for at in range(9)]
    message = empty_store.say("s", "assistant", "Digging.", tool_calls=calls)
    for at in range(9):
        result = empty_store.say("s", "tool", '{"exit_code": 1, "output": "a stone"}', tool_call_id=f"c{at}")
    empty_store.chat("s", 30)
    for target in (message, result):
        screen.goto(f"{href}?around={result}#m{target}")
        at_rest(screen)
        row = screen.locator("details.tool[open]")
        assert 200 < row.locator("> summary").evaluate(TOP) < 300, "directly below the timeline"
        assert row.evaluate("row => getComputedStyle(row).outlineStyle") == "solid"
        expect(row.get_by_text("a stone")).to_be_in_viewport(ratio=1)
        screen.goto("about:blank")


def test_a_prompt_that_is_not_loaded_is_found_by_its_key(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href, turns = working(empty_store, 3, 60)
    screen.goto(href)
    at_rest(screen)
    screen.keyboard.press("P")
    expect(screen.locator(f"#m{turns[2][0]}")).to_be_in_viewport()


def test_windows_of_folded_work_are_given_back_and_loaded_again(visit: Visit, empty_store: EmptyStore) -> None:
    """However far one reads, the page holds each message once, and no more windows than are near."""
    screen = visit()
    href, turns = working(empty_store, 40, 12)
    screen.goto(href)
    at_rest(screen)
    first = screen.locator(f"#m{turns[0][0]}")
    for _ in range(120):
        screen.mouse.wheel(0, -900)
        screen.wait_for_timeout(60)
        if first.count():
            break
    assert first.count()
    ids = screen.evaluate("[...document.querySelectorAll('.history [id^=m]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    assert screen.locator(".history > .neighbour.later").count() == 1
    later = int(screen.locator(".history > .neighbour.later").inner_text().split()[0].replace(",", ""))
    assert later + len(ids) == 40 * 26, "what the link says is what is not here"


def test_a_hit_within_folded_work_is_seen(visit: Visit, empty_store: EmptyStore) -> None:
    screen = visit()
    href, turns = working(empty_store, 3, 8)
    screen.goto(f"{href}?q=dig&around={turns[1][4]}#m{turns[1][4]}")
    expect(screen.locator(f"#m{turns[1][4]}")).to_be_in_viewport()


def test_earlier_windows_of_folded_work_wait_until_somebody_goes_up(visit: Visit, empty_store: EmptyStore) -> None:
    """Each is a few lines high: four would come at once where a page opens at its newest message."""
    href, _ = working(empty_store, 4, 30)
    empty_store.say("s", "assistant", "Rain.\n\n" * 60, timestamp=PRESENT + 9)
    screen = visit(*PHONE)
    asked: list[str] = []
    screen.on("request", lambda request: asked.append(request.url) if "?before=" in request.url else None)
    screen.goto(href)
    at_rest(screen)
    screen.wait_for_timeout(500)  # a window that came near would be asked for now
    assert screen.evaluate("scrollY") > 100 and not asked
    with screen.expect_request(lambda request: "?before=" in request.url):
        screen.mouse.wheel(0, -50)
