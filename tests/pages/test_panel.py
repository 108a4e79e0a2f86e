"""The compact panel before the first press: how few words it has, and which strategy it offers first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from compaction.strategy import STRATEGIES
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.talk import talk
from tests.factories.stores import HermesStore
from tests.html import Element, read
from viewer.runs import planning
from viewer.runs.models import CompactionSetting

FRAGMENT = {"HX-Request": "true"}
MOST_WORDS = 60


def visible(element: Element) -> Iterator[str]:
    """Its texts, without what is in closed folds, options that are not chosen, and what only replaces a script."""
    if element.tag in ("noscript", "svg"):
        return
    closed = element.tag == "details" and "open" not in element.attributes
    chosen = element.all("option", selected="")[:1] or element.all("option")[:1] if element.tag == "select" else []
    for item in chosen or element.inside:
        if isinstance(item, str):
            yield item
        elif not closed or item.tag == "summary":
            yield from visible(item)
            yield " "


def words(panel: Element) -> list[str]:
    return "".join(visible(panel)).split()


def plan(client: Client, href: str) -> Element:
    return read(client.get(href, headers=FRAGMENT)).one("section", id="plan")


@pytest.fixture(params=["hermes 21", "claude code", "demo"])
def session(
    request: pytest.FixtureRequest,
    open_hermes_store: Callable[..., HermesStore],
    demo: Callable[[str], str],
    tmp_path: Path,
    settings: Settings,
) -> str:
    """The address of a session of each of these stores."""
    if request.param == "demo":
        return demo("Stocktaking, ten warehouses")
    if request.param == "hermes 21":
        return f"/stores/hermes/sessions/{open_hermes_store(21).session_id}"
    settings.STORES = {"work": f"claude-code:///{tmp_path / 'claude'}"}
    agent = ClaudeByHand(tmp_path / "claude")
    agent.write("s", talk(60))
    return f"/stores/work/sessions/{agent.id_of('s')}"


def test_before_the_first_press_it_has_few_words(signed_in: Client, session: str) -> None:
    for query in ("", "?strategy=summary"):
        panel = plan(signed_in, f"{session}/plan{query}")
        assert panel.all("button", name="apply") and not panel.all("p", "warn")
        assert len(words(panel)) <= MOST_WORDS, " ".join(words(panel))
        assert panel.one("details", id="plan-details").one("summary").text in (
            "Nothing leaves this machine", "No turn is running", "Compact while the agent rests",
        )  # fmt: skip


def choices(panel: Element) -> list[tuple[str, bool, str]]:
    """The strategies in order: name, whether it is chosen, its sentence."""
    radios = ((label.one("input").attributes, label.text) for label in panel.one("fieldset", "ways").all("label"))
    return [(radio["value"], "checked" in radio, text) for radio, text in radios]


def test_shorter_tool_output_comes_first_where_it_saves_half(
    signed_in: Client, demo: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    href = f"{demo('Stocktaking, ten warehouses')}/plan"
    planning._recent.clear()  # another test may have planned this session
    planned: list[str] = []
    for strategy in STRATEGIES.values():

        def counted(*args: object, make: Callable[..., object] = strategy.plan, name: str = strategy.name) -> object:
            planned.append(name)
            return make(*args)

        monkeypatch.setattr(strategy, "plan", counted)
    shorter, summary = (
        ("prune", "Shorten tool output : 120.8k → 43.4k , nothing anybody said is lost"),
        ("summary", "Summarise : 120.8k → at most 20.3k , the middle becomes a summary"),
    )
    panel = plan(signed_in, href)
    assert choices(panel) == [(shorter[0], True, shorter[1]), (summary[0], False, summary[1])]
    assert panel.one("dl").all("dd")[-1].text == "43.4k"
    panel = plan(signed_in, f"{href}?strategy=summary")
    assert choices(panel) == [(shorter[0], False, shorter[1]), (summary[0], True, summary[1])], "nothing moves"
    assert planned == ["prune", "summary"], "each plan is made once, and also tells the other choice's number"
    CompactionSetting.objects.create(store="demo", strategy="summary")
    assert choices(plan(signed_in, href)) == [(summary[0], True, summary[1]), (shorter[0], False, shorter[1])]


def test_a_strategy_without_a_plan_has_no_numbers(signed_in: Client, chat_store: HermesStore) -> None:
    shown = choices(plan(signed_in, f"/stores/hermes/sessions/{chat_store.session_id}/plan"))
    assert [(name, chosen) for name, chosen, _ in shown] == [("summary", True), ("prune", False)]
    assert shown[1][2] == "Shorten tool output : not possible here"
