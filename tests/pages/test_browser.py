"""The pages in a real browser: accessible in both themes and on a phone, nothing the content policy stops, the keys."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it brings no types
from playwright.sync_api import Page, expect
from pytest_django import Settings

from tests.browser import TOP, at_rest, on_both_screens, require_accessible, require_top
from tests.factories.stores import WEEK_29, EmptyStore, HermesStore
from tests.model_services import KEY, ModelService
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options


@on_both_screens
def test_settings_and_runs_are_accessible(
    screen: Page, open_hermes_store: Callable[..., HermesStore], at_once: None
) -> None:
    screen.goto("/settings")
    require_accessible(screen, "settings, nothing set up")
    screen.locator("#openai").get_by_text("Set up a model").click()
    screen.locator("#openai-address").fill("http://models.example/v1/chat/completions")
    screen.locator("#openai").get_by_role("button", name="Save").click()
    screen.locator("#openai .bad").first.wait_for()
    require_accessible(screen, "settings, not accepted")
    screen.locator("#openai-model").fill("some-model")
    screen.locator("#openai-address").fill("http://models.example/v1")
    screen.locator("#openai-key").fill(KEY)
    screen.locator("#openai").get_by_role("button", name="Save").click()
    screen.locator("#openai .warn").wait_for()
    require_accessible(screen, "settings, a model set up")

    hermes_store = open_hermes_store(31)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=False)
    part = {"sentence": "Summarising.", "chunk": 2, "chunks": 4, "tokens": 1_204, "seconds": 9}
    failed = {"error_code": "model_unauthorized", "error_message": "models.example does not accept the API key (401)."}
    states: list[dict[str, Any]] = [
        {"status": "ready"},
        {"status": "summarizing", "model": "some-model", "progress": part},
        {"status": "failed", "summarizer": "openai", "chunks": [{"key": "k", "summary": "s"}], **failed},
        {"status": "conflict"},
    ]
    for changed in states:
        Run.objects.filter(pk=run.pk).update(**changed)
        screen.goto(f"/runs/{run.pk}")
        require_accessible(screen, changed["status"])


def test_a_model_is_set_up_and_tried_with_the_keyboard(screen: Page, model_service: ModelService) -> None:
    asked: list[str] = []
    screen.on("request", lambda request: asked.append(request.url))
    screen.goto("/settings")
    screen.locator("#openai").get_by_text("Set up a model").focus()
    for key in ("Enter", "Tab"):
        screen.keyboard.press(key)
    for typed in ("some-model", f"{model_service.url}/v1", KEY, "4096"):
        screen.keyboard.type(typed)
        screen.keyboard.press("Tab")
    screen.keyboard.press("Tab")
    screen.keyboard.press("Enter")
    screen.locator("#openai-tried .ok").wait_for()
    expect(screen.get_by_role("status").get_by_text("Works")).to_contain_text("Works: some-model at ")
    at_rest(screen)
    assert screen.evaluate("document.activeElement.value") == "test", "the focus stays on the button"
    assert screen.locator("#openai-key").input_value() == KEY, "what was typed stays"
    screen.keyboard.press("Shift+Tab")
    screen.keyboard.press("Enter")
    screen.get_by_text("Saved.").wait_for()
    expect(screen.locator("#openai-key")).to_have_value("")
    assert not [url for url in asked if KEY[8:24] in url] and KEY[8:24] not in screen.content()


def test_a_screen_reader_hears_of_parts_and_not_of_seconds(
    screen: Page, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(31)
    run = service.start(hermes_store.store, hermes_store.session_id, Options(), apply=True)

    def tell(chunk: int, seconds: int) -> None:
        said = {"sentence": "Summarising.", "chunk": chunk, "chunks": 4, "tokens": 40 * seconds, "seconds": seconds}
        Run.objects.filter(pk=run.pk).update(status="summarizing", progress=said)

    tell(1, 3)
    screen.goto(f"/runs/{run.pk}")
    screen.get_by_role("button", name="Cancel").focus()
    screen.evaluate(
        """() => {
            window.heard = [];
            new MutationObserver(() => heard.push(document.getElementById('run-said').textContent)).observe(
                document.getElementById('run-said'), { childList: true, subtree: true });
            document.querySelector('.card').dataset.same = 'yes';
        }"""
    )
    for seconds in (4, 5):
        tell(1, seconds)
        screen.get_by_text(f"{40 * seconds} tokens written, {seconds} s").wait_for()
    assert screen.locator(".card").get_attribute("data-same") == "yes", "the card is not put in anew"
    assert screen.evaluate("heard") == []
    tell(2, 6)
    screen.get_by_text("Part 2 of 4.", exact=True).wait_for()
    screen.wait_for_function("heard.some(said => said)")
    assert screen.evaluate("heard.filter(said => said)") == [f"Run {run.pk}: Summarising. Part 2 of 4."]
    assert screen.evaluate("document.activeElement.textContent") == "Cancel", "the focus stays"
    assert not screen.locator("[aria-live], [role=alert]").count()
    Run.objects.filter(pk=run.pk).update(status="cancelled")
    screen.locator(".card.cancelled:not([hx-get])").wait_for()  # nothing is asked after the test


def test_no_address_carries_the_token(screen: Page, open_hermes_store: Callable[..., HermesStore]) -> None:
    asked: list[tuple[str, str]] = []
    screen.on("request", lambda request: asked.append((request.method, request.url)))
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(21).session_id}")
    screen.evaluate("document.getElementById('side').classList.add('up')")
    expect(screen.get_by_role("button", name="Preview")).to_be_enabled()
    asked.clear()
    screen.locator("#keep").select_option("20")
    screen.locator("#keep option[selected][value='20']").wait_for(state="attached")
    screen.get_by_role("button", name="Compact now…").click()
    screen.get_by_role("button", name="Cancel").click()
    screen.locator(".confirm").wait_for(state="detached")
    expect(screen.locator("#keep")).to_have_value("20")
    assert [method for method, url in asked if "/plan" in url] == ["GET", "POST", "GET"]
    assert not [url for _, url in asked if "csrf" in url]


def test_each_block_of_a_message_has_its_own_direction(screen: Page, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "user", "Read this first.\n\nשלום, מה שלומך?\n\n- one\n- שתיים")
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


def test_keys_and_neighbours(
    screen: Page, own_databases: Callable[[int], Path], tmp_path: Path, settings: Settings
) -> None:
    settings.STORES = {"hermes": f"sqlite:///{shutil.copyfile(own_databases(21), tmp_path / 'long.db')}"}
    session = f"/stores/hermes/sessions/{WEEK_29}"
    screen.goto(f"{session}?around=500#m500", wait_until="load")
    place = screen.locator("#m500")
    at_rest(screen)
    before = place.evaluate(TOP)
    assert 0 <= before < 250
    screen.locator(".neighbour.earlier").evaluate("link => link.click()")
    screen.wait_for_function("document.querySelector('[data-turn]').id !== 'm470'")
    screen.wait_for_selector("#m440", state="attached")
    require_top(place, before)
    screen.keyboard.press("j")
    screen.keyboard.press("j")
    assert screen.locator(".focus").get_attribute("id") not in (None, "m500")
    screen.keyboard.press("]")
    screen.wait_for_url("**?around=1006#b1006")
    screen.keyboard.press("?")
    expect(screen.locator("dialog#keys")).to_be_visible()
    screen.keyboard.press("Escape")
    screen.keyboard.press("/")
    expect(screen.locator("#search")).to_be_focused()


@on_both_screens
def test_a_branch_by_keyboard(screen: Page, open_hermes_store: Callable[..., HermesStore]) -> None:
    session = f"/stores/hermes/sessions/{open_hermes_store(21, 'Merged carrier 92').session_id}"
    screen.goto(session)
    screen.locator(".line").last.focus()
    screen.keyboard.press("Enter")
    button = screen.get_by_role("button", name="Branch from here…")
    button.focus()
    screen.keyboard.press("Enter")
    screen.locator(".undo form").wait_for()
    at_rest(screen)
    assert screen.evaluate("document.activeElement.textContent") == "Branch"
    assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert Axe().run(screen, context=".undo").response["violations"] == []
    screen.keyboard.press("Enter")
    screen.get_by_role("heading", name="Merged carrier 92 (branch)").wait_for()
    screen.wait_for_load_state()
    command = screen.locator(".menu .resume").get_attribute("data-copy-text")
    assert command == f"hermes --resume {screen.url.rsplit('/', 1)[1]}"
    assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert Axe().run(screen, context=[[".head"], ["header.about"]]).response["violations"] == []


@on_both_screens
def test_a_refusal_that_names_a_holder_stays_in_its_card(
    screen: Page, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(31)
    screen.goto(f"/stores/hermes/sessions/{hermes_store.session_id}")
    sheet = screen.get_by_role("link", name="Compact…")
    if sheet.is_visible():
        sheet.click()
    expect(screen.get_by_role("button", name="Preview")).to_be_enabled()
    holder = "pid=4242:pidns=1:tid=139812345678912:agent=deadbeef:nonce=12345678"
    hermes_store.rows(
        "INSERT INTO compression_locks VALUES (?, ?, unixepoch(), unixepoch() + 300)", hermes_store.session_id, holder
    )
    screen.get_by_role("button", name="Preview").click()
    refusal = screen.locator(".refusal")
    expect(refusal).to_contain_text(holder)
    at_rest(screen)
    assert refusal.evaluate("card => card.scrollWidth <= card.clientWidth")


@on_both_screens
def test_what_comes_into_a_session_has_only_its_own_style_computed(
    screen: Page, open_hermes_store: Callable[..., HermesStore]
) -> None:
    """A selector with `:has()` on what holds the whole session, and a line that comes, may have each style computed."""
    screen.goto(f"/stores/hermes/sessions/{open_hermes_store(31).session_id}")
    at_rest(screen)
    browser = screen.context.browser
    assert browser
    browser.start_tracing(page=screen, categories=["disabled-by-default-devtools.timeline", "devtools.timeline"])
    for place in ("#toc", ".history", "#run", "#said"):
        screen.locator(place).evaluate("it => { it.append(document.createElement('p')); document.body.offsetTop; }")
    events = json.loads(browser.stop_tracing())["traceEvents"]
    computed = [event["args"]["elementCount"] for event in events if event["name"] == "UpdateLayoutTree"]
    assert len(computed) >= 4 and max(computed) < screen.locator("*").count() / 10, computed


def test_code_in_a_fold_gets_its_colours_once_when_the_fold_is_opened(screen: Page, empty_store: EmptyStore) -> None:
    href = empty_store.session("s")
    empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("read_file", "1", path="a.py")])
    empty_store.say("s", "tool", "def f():\n    return 1\n", tool_call_id="1")
    asked: list[str] = []
    screen.on("request", lambda request: asked.append(request.url) if "/colours?" in request.url else None)
    screen.goto(href)
    at_rest(screen)
    assert not asked
    for keyword in (screen.locator("details.tool .out .k"), screen.locator("details.tool:not([open]) .out .k")):
        screen.locator("details.tool > summary").click()
        expect(keyword).to_have_text(["def", "return"])
    screen.locator("details.tool > summary").click()
    at_rest(screen)
    assert len(asked) == len(set(asked)) == 2, "its arguments and its result"
