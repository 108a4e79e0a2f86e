"""What follows a compaction, by hand and by a program: the processes of `make run`, a browser, the API over HTTP."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser import compact_now, sign_in
from tests.e2e.rows import live, query
from tests.factories.stores import WEEK_29
from tests.factories.workspaces import today, write_workspace
from tests.processes import StartedSite

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestRemovedIn10Warning")
SESSION = f"/stores/hermes/sessions/{WEEK_29}"
RULES = """## Session Startup
Read `SOUL.md`, then `memory/YYYY-MM-DD.md`; on Sundays also `NOT-THERE.md`.

## Red Lines
Never book without the customer's word.
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "airline", RULES, of_today="Booked QX7.")


@pytest.fixture
def site(tmp_path: Path, workspace: Path, hermes_copy: Callable[[int], Path]) -> Iterator[StartedSite]:
    path = hermes_copy(21)
    query(path, "UPDATE sessions SET cwd = ? WHERE id = ?", str(workspace), WEEK_29)
    started = StartedSite(
        tmp_path / "data", PALIMPSEST_STORES=f"hermes=sqlite:///{path}", PALIMPSEST_WORKSPACES=str(tmp_path)
    )
    yield started.ready()
    started.cut_down()


class Program:
    """An agent's runtime with a token."""

    def __init__(self, site: StartedSite) -> None:
        self.base = f"http://127.0.0.1:{site.port}/api/v1"
        self.token = site.own(
            "from viewer.web import auth; print(auth.new_token('runtime', ['read', 'write', 'compact']))"
        )

    def call(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.base}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def turn(self, path: str) -> None:
        """The agent reads one file and answers."""
        arguments = json.dumps({"path": path})
        call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": arguments}}
        self.call(
            "POST",
            f"{SESSION}/messages",
            {
                "messages": [
                    {"role": "user", "content": "Is my seat confirmed?"},
                    {"role": "assistant", "content": "", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": "c1", "content": "1|Be kind."},
                    {"role": "assistant", "content": "Yes, 12A."},
                ]
            },
        )

    def audit(self) -> Any:
        """The audit of the newest compaction."""
        return self.call("GET", f"{SESSION}/audits")["items"][0]


def told(answer: Any) -> list[str]:
    """The messages of a context that say something after a compaction."""
    return [m["content"] for m in answer["messages"] if str(m["content"]).startswith("[Palimpsest")]


def test_rules_carried_the_turn_told_and_audited(
    page: Page, site: StartedSite, workspace: Path, tmp_path: Path
) -> None:
    path, program = tmp_path / "hermes-v21.db", Program(site)
    sign_in(page, site)
    page.get_by_role("link", name="Airline desk, week 29", exact=True).click()
    panel, session = page.locator("#plan"), page.url
    expect(panel).to_contain_text("AGENTS.md")
    expect(panel).to_contain_text(str(workspace))
    expect(panel).to_contain_text("Never book without the customer's word.")
    compact_now(page)
    expect(page.locator("[data-run=applied]")).to_be_visible()
    handoff, _, content, *_ = next(row for row in live(path, WEEK_29) if str(row[2]).startswith("[CONTEXT SUMMARY]"))
    assert content.index("<workspace-critical-rules>") > content.index("## ")
    assert "Never book without the customer's word.\n</workspace-critical-rules>\n\n--- END OF" in content
    boundary = page.locator(f"#b{handoff}")
    expect(boundary).to_contain_text("not yet")

    shown = program.call("GET", f"{SESSION}/context")
    assert told(shown) == [] and [event["status"] for event in shown["events"]] == ["pending"]
    first, second = (program.call("POST", f"{SESSION}/context", {}) for _ in range(2))
    (text,) = told(first)
    assert "SOUL.md" in text and today() in text and "NOT-THERE.md" not in text.partition("## Session Startup")[0]
    assert told(second) == [] and second["events"] == []

    program.turn("SOUL.md")
    found = program.audit()
    assert (found["status"], found["settled"], found["missing"]) == ("missing", False, [today()])
    events = program.call("GET", f"{SESSION}/events")["items"]
    assert sorted((event["kind"], event["status"]) for event in events) == [
        ("note", "delivered"),
        ("warning", "pending"),
    ]
    page.reload()
    expect(boundary).to_contain_text("1 of 2")
    boundary.get_by_role("link", name="1 of 2").click()
    reading = page.locator(f"#b{handoff}")
    expect(reading).to_contain_text(today())
    expect(reading.get_by_role("row", name="SOUL.md").get_by_role("link", name="message")).to_be_visible()

    warning = next(event for event in events if event["kind"] == "warning")
    assert program.call("POST", f"/events/{warning['id']}/ack", {})["status"] == "delivered"
    program.turn(str(workspace / today()))
    found = program.audit()
    assert (found["status"], found["settled"], found["missing"]) == ("passed", True, [])
    assert len(program.call("GET", f"{SESSION}/events")["items"]) == 2, "one note, one warning"
    page.goto(f"{session}?around={handoff}")  # what was said since has moved it out of the newest window
    expect(boundary).to_contain_text("passed")
