"""The workspace's rules on the pages before a compaction: shown word for word, carried or left out, or why none are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import expect
from pytest_django import DjangoAssertNumQueries, Settings

from tests.browser import PHONE, Visit, require_accessible
from tests.factories.stores import EmptyStore
from tests.html import Element, read
from viewer.pages.parts.rules import shown_rules
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.registry import get_store

FRAGMENT = {"HX-Request": "true"}
STARTUP = "## Session Startup\n\n- Read `WORKFLOW.md`.\n    - indented, and\t\ttabbed"
RED = "## Red Lines\n\nNever push to main."
AGENTS = f"# Agents\n\n{STARTUP}\n\n## Style\n\nShort.\n\n{RED}\n"


@pytest.fixture
def workspace(tmp_path: Path, settings: Settings) -> Path:
    """A directory with rules, the only one that may be read."""
    made = tmp_path / "ws"
    made.mkdir()
    (made / "AGENTS.md").write_text(AGENTS)
    settings.WORKSPACES = [made]
    return made


@pytest.fixture
def chat(empty_store: EmptyStore) -> Callable[..., str]:
    """A function that makes the session `s`, long enough to be compacted, in this working directory; its address."""

    def made(cwd: str | Path = "") -> str:
        href = empty_store.session("s", cwd=str(cwd))
        for at in range(24):
            empty_store.say(
                "s", ("user", "assistant")[at % 2], f"number {at} " + "of many words " * (280 if at < 15 else 25)
            )
        return href

    return made


def panel(client: Client, href: str) -> Element:
    return read(client.get(href, headers=FRAGMENT if "/plan" in href else {})).one("section", id="plan")


def word_for_word(shown: Element) -> str:
    """The text of the fold of rules, white space kept."""
    (fold,) = [each for each in shown.walk() if each.tag == "details" and "rules" in each.classes]
    (text,) = fold.one("pre").inside
    assert isinstance(text, str)
    return text


# -- the panel ---------------------------------------------------------------------------------------------------------


def test_the_panel_shows_what_is_carried_from_where(
    signed_in: Client, chat: Callable[..., str], workspace: Path
) -> None:
    shown = panel(signed_in, chat(workspace))
    said = f"Rules carried along: Session Startup, Red Lines from AGENTS.md in {workspace} "
    carried = f"{STARTUP}\n\n{RED}"
    assert shown.one("details", "rules").one("summary").text == f"{said}({len(carried)} characters)"
    assert word_for_word(shown) == carried
    assert "checked" in shown.one("input", type="checkbox", name="carry").attributes
    assert shown.one("input", type="hidden", name="carry").attributes["value"] == "0", "told apart from a bare link"


def test_one_tick_leaves_them_out(signed_in: Client, chat: Callable[..., str], workspace: Path) -> None:
    href = chat(workspace)
    usual, without, with_them = (
        panel(signed_in, f"{href}/plan{query}") for query in ("", "?carry=0", "?carry=0&carry=1")
    )
    tick = without.one("input", type="checkbox", name="carry")
    assert "checked" not in tick.attributes and tick.attributes["id"] == "carry"
    assert "Rules left out: Session Startup" in without.text and "carried along" not in without.text
    assert usual.text == with_them.text
    after = [_exact(each) for each in (usual, without)]
    assert after[0] > after[1], "the plan counts them"


def _exact(panel: Element) -> int:
    """Tokens after, at most."""
    return int(panel.one("dl").all("span")[-1].attributes["title"].removesuffix(" tokens").replace(",", ""))


def test_the_choice_travels(signed_in: Client, chat: Callable[..., str], workspace: Path, at_once: None) -> None:
    href = chat(workspace)
    asked = read(signed_in.post(f"{href}/plan", {"confirm": "1", "carry": "0"}, headers=FRAGMENT))
    assert asked.one(cls="confirm")
    assert "checked" not in asked.one("input", type="checkbox", name="carry").attributes
    for said, carry in ({"carry": "0"}, False), ({"carry": ["0", "1"]}, True), ({}, True):
        signed_in.post(f"{href}/compact", {"apply": "0", **said}, headers=FRAGMENT)
        run = Run.objects.latest("pk")
        assert (run.status, run.carry) == ("ready", carry)


@pytest.mark.parametrize("carry", [False, True])
def test_the_choice_comes_back_after_a_failure(signed_in: Client, chat: Callable[..., str], carry: bool) -> None:
    href = chat()
    run = service.start(get_store("own"), "s", Options(carry=carry), apply=True)
    Run.objects.update(status="conflict")
    again = read(signed_in.get(f"/runs/{run.pk}")).one("section", "card").one("a", "btn").attributes["href"]
    assert panel(signed_in, again).one("input", name="carry").attributes["value"] == str(int(carry))
    Run.objects.update(status="failed", summarizer="openai")
    form = read(signed_in.get(f"/runs/{run.pk}")).one("section", "card").one("form")
    typed = {each.attributes["name"]: each.attributes["value"] for each in form.all("input")[1:]}
    signed_in.post(f"{href}/compact", {**typed, form.all("button")[1].attributes["name"]: "1"})
    assert (Run.objects.latest("pk").carry, Run.objects.latest("pk").summarizer) == (carry, "offline")


def test_the_tick_keeps_the_focus_and_its_state(visit: Visit, chat: Callable[..., str], workspace: Path) -> None:
    screen = visit(*PHONE)
    tick = screen.locator("#carry")

    def rest() -> None:
        expect(screen.locator(".htmx-request, .htmx-settling, .htmx-swapping")).to_have_count(0)

    def details() -> None:
        screen.evaluate("document.querySelector('#plan-details').open = true")

    def toggle(said: str) -> None:
        tick.focus()
        screen.keyboard.press("Space")
        screen.get_by_text(said).wait_for(state="attached")
        rest()
        details()
        expect(tick).to_be_focused()

    screen.goto(f"{chat(workspace)}/plan")
    toggle("Rules left out")
    screen.locator("#strategy-prune").check()
    screen.locator("#focus[type=hidden]").wait_for(state="attached")
    rest()
    screen.locator("#strategy-summary").check()
    screen.get_by_text("Rules left out").wait_for(state="attached")
    rest()
    toggle("Rules carried along")
    screen.get_by_text("Rules carried along").click()
    require_accessible(screen, "the panel with rules")
    toggle("Rules left out")
    expect(screen.locator("#plan-rules pre")).to_be_visible()
    screen.get_by_role("button", name="Compact now…").click()
    screen.locator(".confirm").wait_for()
    expect(tick).not_to_be_checked()


def test_nothing_to_carry_is_a_note_with_the_reason(
    signed_in: Client, chat: Callable[..., str], workspace: Path
) -> None:
    href = chat()
    shown = panel(signed_in, href)
    assert shown.one("p", "rules").text.startswith("No rules carried along. No workspace is known")
    assert shown.one("p", "rules").one("a").attributes["href"] == "/settings#rules"
    assert not shown.all("input", type="checkbox") and not shown.all("details", "rules")
    for query, value in ("", "1"), ("?carry=0", "0"):
        kept = panel(signed_in, f"{href}/plan{query}").one("input", name="carry")
        assert (kept.attributes["type"], kept.attributes["value"]) == ("hidden", value)


def test_a_link_is_not_followed_and_that_is_said(
    signed_in: Client, chat: Callable[..., str], workspace: Path, tmp_path: Path
) -> None:
    (workspace / "AGENTS.md").rename(tmp_path / "secret.md")
    (workspace / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    shown = panel(signed_in, chat(workspace))
    assert "a symbolic link" in shown.one("p", "rules").text and "Never push" not in shown.text


def test_shortening_tool_output_carries_none(
    signed_in: Client, chat: Callable[..., str], empty_store: EmptyStore, workspace: Path
) -> None:
    href = chat(workspace)
    for at in range(20):
        empty_store.say("s", "assistant", "", tool_calls=[empty_store.call("terminal", f"c{at}", command="ls")])
        empty_store.say("s", "tool", f"file {at} " * 500, tool_call_id=f"c{at}")
    empty_store.say("s", "user", "And now?")
    shown = panel(signed_in, f"{href}/plan?strategy=prune&carry=0")
    assert "To shorten, " in shown.text
    assert not shown.all(cls="rules")
    assert shown.one("input", name="carry").attributes == {"name": "carry", "type": "hidden", "value": "0"}


HOSTILE = (
    "## Red Lines\n\n```\n</pre><script>alert(1)</script>\n```\n\u202eneveR <b>bold</b>\x1b[31m\n\n"
    "</details><img src=x onerror=a()>"
)


def test_hostile_rules_are_text(signed_in: Client, chat: Callable[..., str], workspace: Path, at_once: None) -> None:
    (workspace / "AGENTS.md").write_text(HOSTILE)
    href = chat(workspace)
    signed_in.post(f"{href}/compact", {"apply": "0"}, headers=FRAGMENT)
    for address in (f"{href}/plan", href, f"/runs/{Run.objects.get().pk}"):
        answer = signed_in.get(address)
        page = answer.content.decode()
        assert "&lt;script&gt;alert(1)" in page and "\u202e" not in page and "\x1b" not in page
        assert not [*read(answer).one("main").all("script"), *read(answer).all("img")]
        for fold in read(answer).all("details", "rules"):
            assert "</pre><script>alert(1)</script>\n```\n⟨RLO⟩neveR <b>bold</b>␛[31m" in word_for_word(fold)


def test_a_title_that_had_no_room_is_not_named() -> None:
    text = "## Session Startup\n\nRead.\n[… 900 characters cut]"
    shown = shown_rules(text, (f"{text}\nand more", "### Red Lines ###\n\nNever."), "AGENTS.md", "/ws")
    assert (shown.titles, shown.length) == ("Session Startup", 48)
    assert shown_rules("### Red Lines ###\n\nNever.", ("### Red Lines ###\n\nNever.",)).titles == "Red Lines"


def test_the_switch_masks_what_somebody_else_named(
    signed_in: Client, chat: Callable[..., str], workspace: Path
) -> None:
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    (workspace / "AGENTS.md").write_text(f"{RED}\n\nThe key is {key}.")
    href = chat(f"/nowhere/{key}")
    assert key in panel(signed_in, href).one("p", "rules").text
    signed_in.post("/redact", {"redact": "1"})
    for address in (href, f"{href}/plan"):
        assert key not in signed_in.get(address).content.decode()


# -- the candidate -----------------------------------------------------------------------------------------------------


def test_the_candidate_says_what_stands_behind_it(
    signed_in: Client, chat: Callable[..., str], workspace: Path, at_once: None
) -> None:
    href = chat(workspace)
    card = read(signed_in.post(f"{href}/compact", {"apply": "0"}, headers=FRAGMENT)).one("section", "card")
    assert "After the summary follows, word for word:" in card.text
    assert word_for_word(card) == f"{STARTUP}\n\n{RED}"
    assert "Never push" not in card.one("textarea").text, "the body alone is edited"
    (workspace / "AGENTS.md").write_text("## Red Lines\n\nSomething else.")
    run = Run.objects.get()
    assert word_for_word(read(signed_in.get(f"/runs/{run.pk}"))) == f"{STARTUP}\n\n{RED}", "as it was planned"
    done = read(signed_in.post(f"/runs/{run.pk}/apply", {"summary": "My own words."}, headers=FRAGMENT))
    assert word_for_word(done.one("section", "applied")) == f"{STARTUP}\n\n{RED}"
    alone = read(signed_in.get(f"/runs/{run.pk}"))
    assert word_for_word(alone) == f"{STARTUP}\n\n{RED}" and "My own words." in alone.one("section", "handoff").text


def test_what_was_not_carried_is_said(
    signed_in: Client, chat: Callable[..., str], workspace: Path, at_once: None
) -> None:
    href = chat(workspace)
    left_out = read(signed_in.post(f"{href}/compact", {"apply": "0", "carry": "0"}, headers=FRAGMENT))
    assert left_out.one("p", "rules").text == "The workspace's rules were left out."
    assert not left_out.all("details", "rules") and "After the summary follows" not in left_out.text
    (workspace / "AGENTS.md").unlink()
    none = read(signed_in.post(f"{href}/compact", {"apply": "0"}, headers=FRAGMENT)).one("section", "ready")
    assert "No rules carried along. There is no context file" in none.one("p", "rules").text


def test_a_run_that_knows_nothing_of_rules_says_nothing(
    signed_in: Client, chat: Callable[..., str], workspace: Path, at_once: None
) -> None:
    signed_in.post(f"{chat(workspace)}/compact", {"apply": "0"})
    shortened = {"rules": {"text": "Never."}, "carry": True, "strategy": "prune", "status": "applied"}
    none: list[dict[str, Any]] = [{"rules": {}}, {"carry": False}, shortened]
    for changed in none:
        Run.objects.update(**changed)
        page = read(signed_in.get(f"/runs/{Run.objects.get().pk}"))
        assert not page.all(cls="rules") and "rules" not in page.one("main").text


def test_rules_cost_one_more_question_what_is_installed_in_the_agent(
    signed_in: Client, chat: Callable[..., str], workspace: Path, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    href = chat(workspace)
    (workspace / "AGENTS.md").write_text("nothing of that kind")
    with CaptureQueriesContext(connection) as none:
        signed_in.get(f"{href}/plan")
    (workspace / "AGENTS.md").write_text(AGENTS)
    with django_assert_num_queries(len(none) + 1):
        signed_in.get(f"{href}/plan")
