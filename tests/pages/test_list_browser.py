"""The list of sessions in a real browser: keys, ticking, news that come without a jump, accessible at every width."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from tests.browser import PHONE, TOP, WIDE, Visit, require_accessible
from tests.factories.stores import PRESENT, EmptyStore, connected
from viewer.catalog import sync_worker
from viewer.labels.sessions import set_label


@pytest.fixture
def many(empty_store: EmptyStore) -> EmptyStore:
    for number in range(30):
        name = f"s{number:02}"
        empty_store.session(name, title=f"Session {number:02}")
        empty_store.say(name, "user", "hello", timestamp=PRESENT + number)
    return empty_store


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_it_is_accessible_with_all_there_is(visit: Visit, many: EmptyStore, size: tuple[int, int, str]) -> None:
    set_label(("own", "s03"), pinned=True, tags=["sea", "family"], note="ask Ana about the tickets")
    sync_worker.sync_all()
    screen = visit(*size)
    screen.goto("/")
    require_accessible(screen, "list")
    line = screen.locator("li.session").nth(1)
    if size == WIDE:
        assert line.bounding_box()["height"] <= 37  # type: ignore[index]
    line.hover()
    line.get_by_role("link", name="Edit").click()
    screen.get_by_label("Tags, with commas").wait_for()
    require_accessible(screen, "editing")


def test_lines_are_chosen_and_opened_by_keys(visit: Visit, many: EmptyStore) -> None:
    screen = visit(*WIDE)
    screen.goto("/")
    archive = screen.get_by_role("button", name="Archive")
    expect(archive).to_be_hidden()
    screen.keyboard.press("j")
    screen.keyboard.press("j")
    expect(screen.locator("li.session").nth(1)).to_have_css("outline-style", "solid")
    screen.keyboard.press("x")
    expect(screen.locator("#ticked")).to_have_text("1 ticked")
    expect(archive).to_be_visible()
    expect(screen.locator("li.session input:checked")).to_have_attribute("value", "own/s28")
    screen.locator("#all-sessions").check()
    expect(screen.locator("#ticked")).to_have_text("30 ticked")
    screen.locator("#all-sessions").uncheck()
    screen.keyboard.press("j")
    screen.keyboard.press("Enter")
    screen.wait_for_url("**/sessions/s**")


def test_no_column_moves_when_the_first_line_with_a_cost_is_loaded(visit: Visit, many: EmptyStore) -> None:
    many.session("old", title="Paid", started_at=PRESENT - 9e6, estimated_cost_usd=2.5)
    many.say("old", "user", "hello", timestamp=PRESENT - 9e6)
    for at in range(20):
        many.session(f"m{at}")
        many.say(f"m{at}", "user", "hello")
    sync_worker.sync_all()
    screen = visit(*WIDE)
    screen.goto("/")
    expect(screen.get_by_text("$2.50")).to_have_count(0)
    heads = screen.locator(".list-heads a")
    where = heads.evaluate_all("all => all.map((head) => [head.textContent, head.getBoundingClientRect().right])")
    assert "Cost" in dict(where)
    screen.get_by_role("link", name="More sessions").click()
    expect(screen.get_by_text("$2.50")).to_be_visible()
    now = heads.evaluate_all("all => all.map((head) => [head.textContent, head.getBoundingClientRect().right])")
    assert now == where
    assert heads.first.evaluate("head => head.getBoundingClientRect().top >= 0"), "the heads stay while one scrolls"


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_the_question_before_many_are_compacted_can_be_read(
    visit: Visit, many: EmptyStore, size: tuple[int, int, str]
) -> None:
    sync_worker.sync_all()
    screen = visit(*size)
    screen.goto("/")
    for name in ("Session 28", "Session 29"):
        screen.get_by_label(f"Choose {name}").check()
    screen.get_by_role("button", name="Compact…").click()
    lines = screen.get_by_role("main").get_by_role("listitem")
    expect(lines).to_have_count(2)
    for line in lines.all():
        title, meta = line.get_by_role("link").bounding_box(), line.locator(".meta").bounding_box()
        assert title and meta and title["height"] < 30 and meta["height"] < 60
        assert meta["y"] >= title["y"] + title["height"]
    require_accessible(screen, "the question")


def test_news_come_by_themselves_and_move_nothing(visit: Visit, many: EmptyStore) -> None:
    screen = visit(*WIDE)
    screen.goto("/")
    read = screen.locator("li.session", has_text="Session 18")
    for ticked in ("Session 05", "Session 18"):
        screen.get_by_label(f"Choose {ticked}").check()
    read.evaluate("line => line.scrollIntoView({ block: 'center' })")
    before = read.evaluate(TOP)
    many.session("new", title="Just begun")
    many.say("new", "user", "hello", timestamp=PRESENT + 900)
    many.say("s05", "user", "again", timestamp=PRESENT + 800)
    expect(screen.locator("li.session").first).to_contain_text("Just begun")
    expect(screen.locator("li.session").nth(1)).to_contain_text("Session 05")
    expect(screen.locator("#total")).to_have_text("31 sessions")
    expect(screen.locator("li.session")).to_have_count(31)
    assert abs(read.evaluate(TOP) - before) < 2
    for ticked in ("Session 05", "Session 18"):
        expect(screen.get_by_label(f"Choose {ticked}")).to_be_checked()


def test_a_session_that_fills_its_window_is_lifted_above_the_others(screen: Page, empty_store: EmptyStore) -> None:
    now = time.time()
    for at, name in enumerate(("full", "small")):
        empty_store.session(name, model="gpt-4", title=f"Session {name}")
        empty_store.say(name, "user", "hello", timestamp=now - 3_600 * (2 - at))
    sync_worker.sync_all()
    screen.goto("/")
    listed = screen.locator("ol.lines > :is(li.session, li.of-list)")
    expect(listed).to_contain_text(["Session small", "Session full"])
    screen.get_by_label("Choose Session small").check()
    empty_store.say("full", "user", "many more words " * 2_200, timestamp=now - 60)
    sync_worker.sync_all()
    expect(listed).to_contain_text(["Needs compaction", "Session full", "Other sessions", "Session small"])
    expect(listed).to_have_count(4)
    expect(listed.nth(1).get_by_role("link", name="Compact")).to_be_visible()
    expect(screen.get_by_label("Choose Session small")).to_be_checked()
    with closing(connected(empty_store.path)) as con, con:
        con.execute("UPDATE sessions SET ended_at = ? WHERE id = 'full'", [now])
    sync_worker.sync_all()
    expect(listed).to_have_count(2)
    expect(listed).to_contain_text(["Session full", "Session small"])


def test_on_a_phone_the_filters_are_folded_and_name_what_is_set(visit: Visit, many: EmptyStore) -> None:
    many.session("other", source="telegram")
    many.say("other", "user", "hello", timestamp=PRESENT)
    sync_worker.sync_all()
    screen = visit(*PHONE)
    screen.goto("/")
    first = screen.locator("li.session").first
    expect(first).to_be_in_viewport()
    assert first.evaluate(TOP) <= 300
    screen.get_by_text("Filters", exact=True).click()
    screen.get_by_text("More filters").click()
    screen.get_by_role("link", name="telegram").click()
    expect(screen.get_by_text("Filters: source telegram")).to_be_visible()
    expect(screen.get_by_role("link", name="telegram")).to_be_hidden()


def test_numbers_of_the_context_end_in_one_line(visit: Visit, many: EmptyStore) -> None:
    for name, model in (("a", "gpt-4"), ("b", "gpt-4o"), ("c", "claude-opus-4-5")):
        many.session(name, model=model)
        many.say(name, "user", "hello " * len(name), timestamp=PRESENT + 99)
    sync_worker.sync_all()
    screen = visit(*WIDE)
    screen.goto("/")
    ends = screen.locator(".fill > span").evaluate_all(
        "all => all.slice(0, 3).map(one => { const text = document.createRange(); text.selectNodeContents(one);"
        " return [text.getBoundingClientRect().right, one.textContent]; })"
    )
    assert len({text.split(" of ")[1] for _, text in ends}) > 1 and len({round(right) for right, _ in ends}) == 1


def test_a_line_that_came_as_news_is_left_alone_by_the_next(screen: Page, many: EmptyStore) -> None:
    screen.goto("/")
    for number in (1, 2):
        many.session(f"new{number}", title=f"Just begun {number}")
        many.say(f"new{number}", "user", "hello", timestamp=PRESENT + 900 * number)
        expect(screen.locator("li.session").first).to_contain_text(f"Just begun {number}")
        if number == 1:
            came = screen.locator("li.session").first.element_handle()
    assert came.evaluate("line => line.isConnected")


def test_a_pin_is_set_in_place(screen: Page, many: EmptyStore) -> None:
    screen.goto("/")
    line = screen.locator("li.session", has_text="Session 20")
    line.hover()
    line.get_by_role("link", name="Edit").click()
    screen.get_by_label("Tags, with commas").fill("sea")
    screen.get_by_label("Pinned").check()
    screen.get_by_role("button", name="Save", exact=True).click()
    expect(screen.locator("li.session", has_text="Session 20").locator(".tag")).to_have_text("sea")
    screen.reload()
    expect(screen.locator("li.session").first).to_contain_text("Session 20")
