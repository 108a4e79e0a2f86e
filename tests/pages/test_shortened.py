"""The preview of shorter tool output: real outputs before and after, in the card and all of them on a page."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from compaction.handoff import PRUNED
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.agents.talk import talk
from tests.factories.stores import EmptyStore, connected
from tests.html import Element, read
from viewer.pages.redaction import COOKIE
from viewer.runs import service
from viewer.runs.models import Run
from viewer.runs.planning import Options
from viewer.stores.registry import get_store

SECRET = "sk-live-4f9d8c7b6a5e4d3c2b1a0f9e8d7c6b5a"


def works_on_logs(store: EmptyStore, logs: int) -> None:
    store.session("s")
    for at in range(logs):
        store.say("s", "user", f"Look at log {at}.")
        store.say("s", "assistant", "", tool_calls=[store.call("terminal", f"c{at}", command=f"tail {at}")])
        text = f"first of log {at}\n  api_key={SECRET}\n<b>third</b>\nnever shown\n" + "one more line of it\n" * 300
        store.say("s", "tool", text, tool_call_id=f"c{at}", tool_name="terminal")
        store.say("s", "assistant", f"Log {at} is long.")
    store.chat("s", 12)


def pairs(element: Element) -> list[tuple[str, str]]:
    """Before and after of each output."""
    shown = (item.all("dl") for item in element.one("ol", "shortened").all("li"))
    return [("".join(map(str, dl.one("pre").inside)), dl.one("code").text) for found in shown for dl in found]


@pytest.fixture
def run(empty_store: EmptyStore, at_once: None) -> Run:
    works_on_logs(empty_store, 60)
    return service.start(get_store("own"), "s", Options("prune"), apply=False)


def test_the_preview_shows_outputs_before_and_after(signed_in: Client, run: Run) -> None:
    card = read(signed_in.get(f"/runs/{run.pk}")).one("section", "card")
    shown = pairs(card)
    assert len(shown) == 3
    for before, after in shown:
        assert before.split("\n")[0].startswith("first of log ")
        assert before.split("\n")[1:] == [f"  api_key={SECRET}", "<b>third</b>", "…"]
        assert after.startswith(f"{PRUNED} terminal(command=tail ") and after.endswith(" characters]")
    note = card.one("details", id=f"note-{run.pk}")
    assert note.one("summary").text.startswith("Note to the model (") and run.summary in note.text
    rest = card.one("a", href=f"/runs/{run.pk}/shortened")
    total = len(run.report["shortened"])
    assert rest.text == f"All that gets shorter, in {total} messages" and total > 50
    page = read(signed_in.get(rest.attributes["href"]))
    assert len(pairs(page)) == 50 and pairs(page)[:3] == shown
    further = signed_in.get(page.one("a", "later").attributes["href"], headers={"HX-Request": "true"})
    assert further.content.decode().count("<dt>before</dt>") == total - 50


def test_it_hides_secrets_where_the_browser_asks_for_that(signed_in: Client, run: Run) -> None:
    signed_in.cookies[COOKIE] = "1"
    for address in (f"/runs/{run.pk}", f"/runs/{run.pk}/shortened"):
        page = signed_in.get(address)
        assert SECRET not in page.content.decode() and "[redacted: " in pairs(read(page))[0][0]


def test_outputs_in_blocks_are_shown_as_well(
    signed_in: Client, tmp_path: Path, settings: Settings, at_once: None
) -> None:
    """Claude Code keeps a result as a block of a message."""
    settings.STORES = {"work": f"claude-code:///{tmp_path / 'claude'}"}
    agent = ClaudeByHand(tmp_path / "claude")
    agent.write("s", talk(60))
    made = service.start(get_store("work"), agent.id_of("s"), Options("prune"), apply=False)
    shown = pairs(read(signed_in.get(f"/runs/{made.pk}")).one("section", "card"))
    assert shown and all(before and after.startswith(PRUNED) for before, after in shown)


def test_an_output_that_the_agent_wrote_anew_since_the_plan_is_no_error(
    signed_in: Client, empty_store: EmptyStore, run: Run
) -> None:
    """The row may have another number of results by now."""
    blocks = [{"type": "tool_result", "tool_use_id": f"b{at}", "content": "new"} for at in range(2)]
    with closing(connected(empty_store.path)) as con, con:
        con.execute(
            "UPDATE messages SET role = 'user', content = ? WHERE id = ?",
            ["\x00json:" + json.dumps(blocks), run.report["shortened"][-1]],
        )
    assert len(pairs(read(signed_in.get(f"/runs/{run.pk}")).one("section", "card"))) == 3
    assert pairs(read(signed_in.get(f"/runs/{run.pk}/shortened")))
