"""The compact panel under a pointer: no press is lost, and no edit."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import PHONE, WIDE, Visit, at_rest, require_accessible
from tests.factories.stores import HermesStore
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.registry import get_store

UNLOAD = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))"  # whether leaving asks first


def panel(visit: Visit, hermes_store: HermesStore) -> Page:
    screen = visit()
    screen.goto(f"/stores/hermes/sessions/{hermes_store.session_id}/plan")
    at_rest(screen)
    return screen


def compact_now(screen: Page) -> tuple[float, float]:
    """A point of the button, found in one step: a plan that comes meanwhile brings another one in its place."""
    found = screen.evaluate("document.querySelector('#plan button[name=confirm]').getBoundingClientRect().toJSON()")
    return found["x"] + 9, found["y"] + 9


def test_a_pressed_button_says_so_at_once_and_nothing_moves(
    visit: Visit, open_hermes_store: Callable[..., HermesStore]
) -> None:
    screen = panel(visit, open_hermes_store(21))
    held: list[Route] = []
    screen.route("**/compact", lambda route: held.append(route))
    buttons = screen.locator("#plan .actions button")
    before = [each.bounding_box() for each in buttons.all()]
    screen.get_by_role("button", name="Preview", exact=True).click()
    pressed = screen.locator("#plan [aria-busy=true]")
    expect(pressed).to_be_disabled()
    word = "[getComputedStyle(e, '::after').visibility, getComputedStyle(e, '::after').content]"
    seen, content = pressed.evaluate(f"e => {word}")
    assert seen == "visible" and "Starting…" in content
    assert [each.bounding_box() for each in buttons.all()] == before
    held.pop().fulfill(status=204)
    expect(screen.locator("[aria-busy=true]")).to_have_count(0)
    expect(screen.get_by_role("button", name="Preview", exact=True)).to_be_enabled()


@pytest.mark.parametrize(("before", "held"), [(0, 0), (550, 900)])
def test_a_press_on_compact_now_counts_however_soon_after_typing(
    visit: Visit, open_hermes_store: Callable[..., HermesStore], before: int, held: int
) -> None:
    screen = panel(visit, open_hermes_store(21))
    screen.get_by_label("Focus on").press_sequentially("refunds")
    screen.wait_for_timeout(before)
    screen.mouse.move(*compact_now(screen))
    screen.mouse.down()
    screen.wait_for_timeout(held)
    screen.mouse.up()
    confirm = screen.get_by_role("group", name="Confirm")
    expect(confirm).to_contain_text("Replace")
    expect(screen.get_by_label("Focus on")).to_have_value("refunds")
    screen.wait_for_timeout(1_000)  # nothing that was still to come takes it away
    expect(confirm).to_be_visible()


def test_the_question_is_in_sight_and_a_double_click_does_not_answer_it(
    visit: Visit, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    before = hermes_store.live()
    screen = visit()
    screen.set_viewport_size({"width": 1500, "height": 700})
    screen.goto(f"/stores/hermes/sessions/{hermes_store.session_id}")
    at_rest(screen)
    screen.get_by_role("button", name="Compact now…").click()
    question = screen.get_by_role("group", name="Confirm")
    expect(question).to_be_in_viewport(ratio=1)
    yes = question.get_by_role("button", name="Compact")
    expect(yes).to_be_focused()
    box = yes.bounding_box()
    assert box
    screen.mouse.move(box["x"] + 9, box["y"] + 9)
    screen.mouse.down(click_count=2)
    screen.mouse.up(click_count=2)
    screen.wait_for_timeout(500)
    assert not Run.objects.exists() and hermes_store.live() == before
    yes.click()
    expect(screen.locator("section.card").first).to_be_visible()
    assert Run.objects.exists()


@pytest.mark.parametrize("shape", [WIDE, PHONE])
def test_a_key_leads_to_it(
    visit: Visit, open_hermes_store: Callable[..., HermesStore], shape: tuple[int, int, str]
) -> None:
    screen = visit(*shape)
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21).session_id}")
    at_rest(screen)
    screen.keyboard.press("c")
    assert screen.evaluate("document.activeElement.closest('#plan, #side')?.checkVisibility()")
    if shape is PHONE:
        expect(screen.get_by_role("dialog", name="Compact")).to_be_in_viewport()
    else:
        expect(screen.locator("#plan input[name=strategy]:focus")).to_be_checked()


def test_a_press_that_is_let_go_elsewhere_plans_after_all(
    visit: Visit, open_hermes_store: Callable[..., HermesStore]
) -> None:
    screen = panel(visit, open_hermes_store(21))
    screen.get_by_label("Keep recent").focus()
    screen.mouse.move(*compact_now(screen))
    screen.mouse.down()
    screen.locator("#keep").evaluate(
        "field => { field.value = '20'; field.dispatchEvent(new Event('change', { bubbles: true })) }"
    )
    screen.wait_for_timeout(300)
    old = screen.locator("#plan dl").inner_text()
    screen.mouse.move(2, 2)
    screen.mouse.up()
    expect(screen.locator("#plan dl")).not_to_have_text(old)


def test_an_edit_survives_a_refusal_and_is_not_left_without_a_question(
    visit: Visit, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    screen = panel(visit, open_hermes_store(31))
    screen.get_by_role("button", name="Preview").click()
    screen.get_by_text("Edit", exact=True).click()
    summary = screen.get_by_label("Summary (editable)")
    expect(summary).to_be_visible()
    assert not screen.evaluate(UNLOAD)
    weight = screen.locator("[data-weight]")
    expect(weight).to_contain_text("in context")
    first = weight.inner_text()
    summary.fill("  ")
    expect(weight).not_to_have_text(first)
    assert screen.evaluate(UNLOAD)
    screen.get_by_role("button", name="Apply").click()
    expect(screen.get_by_role("alert")).to_contain_text("empty")
    expect(screen.get_by_role("button", name="Discard")).to_be_visible()
    assert screen.evaluate(UNLOAD)
    summary.fill("## Goal\nBooked.")
    screen.get_by_role("button", name="Apply").click()
    expect(screen.locator("section.card.applied")).to_be_visible()
    assert not screen.evaluate(UNLOAD)
    run = Run.objects.get()
    assert (run.status, run.summary.strip()) == ("applied", "## Goal\nBooked.")


def test_undo_on_the_receipt_and_what_a_second_tab_is_told(
    visit: Visit, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    hermes_store = open_hermes_store(21)
    screen, second = visit(), visit()
    href = f"/stores/hermes/sessions/{hermes_store.session_id}"
    screen.goto(href)
    screen.get_by_role("button", name="Preview").click()
    screen.get_by_role("button", name="Apply").click()
    receipt = screen.locator("section.card.applied")
    expect(receipt).to_be_visible()
    handoff = Run.objects.get().handoff_id
    second.goto(f"{href}?around={handoff}")
    expect(second.locator(f"#b{handoff}")).to_be_visible()
    before = second.locator("#facts").inner_text()
    live = re.compile(r"/live\?")
    second.route(live, lambda route: route.fulfill(status=204))  # it would take the boundary away by itself
    receipt.get_by_role("button", name="Undo this compaction…").click()
    receipt.get_by_role("button", name="Undo", exact=True).click()
    expect(screen.locator("#said")).to_contain_text("Undone.")
    expect(screen.locator(f"#b{handoff}")).to_have_count(0)
    expect(receipt).to_have_count(0)
    second.locator(f"#b{handoff}-undo").get_by_role("button", name="Branch from here…").click()
    second.unroute(live)
    expect(second.locator("#said")).to_contain_text("Already undone at")
    expect(second.locator(f"#b{handoff}")).to_have_count(0)
    expect(second.locator("#facts")).not_to_have_text(before)
    expect(second.locator("#plan").get_by_role("button", name="Preview")).to_be_enabled()


@pytest.mark.usefixtures("at_once")
def test_a_candidate_in_the_panel_moves_nothing_and_is_whole(
    visit: Visit, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """The text next to it stays as wide, and the end of the card is in sight though the card is longer."""

    def width() -> float:
        return float(screen.locator("#main").evaluate("element => element.getBoundingClientRect().width"))

    screen = visit(*WIDE)
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21).session_id}")
    at_rest(screen)
    before = width()
    screen.get_by_role("button", name="Preview").click()
    expect(screen.locator("[data-run=ready] textarea")).to_be_visible()
    assert width() == before
    cut, end = (
        screen.locator(name).evaluate("element => element.getBoundingClientRect().bottom")
        for name in (".page > .side", "[data-run=ready] > .actions")
    )
    assert screen.locator(".page > .side").evaluate("side => side.scrollHeight > side.clientHeight")
    assert abs(cut - end) < 2


@pytest.mark.parametrize("shape", [WIDE, PHONE])
@pytest.mark.usefixtures("at_once")
def test_what_is_lost_can_be_read_in_any_light(
    visit: Visit, demo: Callable[[str], str], shape: tuple[int, int, str]
) -> None:
    """How much is lost is said in words as well as in colour, before and after it is applied."""
    place = demo("Stocktaking, ten warehouses")
    store, session_id = get_store("demo"), place.rsplit("/", 1)[1]
    run = service.start(store, session_id, Options("summary"), apply=False)
    screen = visit(*shape)
    screen.goto(f"/runs/{run.pk}")
    at_rest(screen)
    expect(screen.locator(".findings")).to_contain_text("lines are lost")
    screen.get_by_text("All that is lost").click()
    screen.locator("#all-lost .lost li").nth(3).wait_for()
    require_accessible(screen, "a preview")
    done = service.apply(service.get_run(run.pk))
    screen.goto(f"{place}/boundaries/{service.get_run(done.pk).handoff_id}/details")
    at_rest(screen)
    require_accessible(screen, "lost details")
