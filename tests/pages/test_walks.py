"""Three people use the site for what they came for, in a real browser: a newcomer, an operator, a reader."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from pytest_django import Settings

from tests.browser import Visit
from viewer.catalog import sync_worker
from viewer.runs.models import Run

STOCKTAKING = "Stocktaking, ten warehouses"


def copied(path: Path, title: str, name: str) -> None:
    """One more session of the store like this one, under another title."""
    with closing(sqlite3.connect(path)) as con, con:
        con.row_factory = sqlite3.Row
        session = dict(con.execute("SELECT * FROM sessions WHERE title = ?", [title]).fetchone())
        rows = [dict(row) for row in con.execute("SELECT * FROM messages WHERE session_id = ?", [session["id"]])]
        _insert(con, "sessions", session | {"id": f"{session['id']}{len(name)}", "title": name})
        for row in rows:
            del row["id"]
            uid = row["message_uid"] and f"{len(name):02x}{row['message_uid'][2:]}"
            _insert(con, "messages", row | {"session_id": f"{session['id']}{len(name)}", "message_uid": uid})


def _insert(con: sqlite3.Connection, table: str, values: dict[str, Any]) -> None:
    marks = ", ".join("?" * len(values))
    con.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", list(values.values()))


@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
def test_an_operator_compacts_three_sessions_at_once_and_undoes_one(
    visit: Visit, demo: Callable[[str], str], settings: Settings
) -> None:
    for name in ("Stocktaking, again", "Stocktaking, at last"):
        copied(settings.DEMO_STORE, STOCKTAKING, name)
    sync_worker.sync_all()
    screen = visit()
    screen.goto("/")
    expect(screen.locator("#needing")).to_contain_text("Needs compaction")
    for at in range(3):  # they are the first ones
        screen.locator("#needing ~ .session").nth(at).get_by_role("checkbox").check()
    expect(screen.locator("#ticked")).to_have_text("3 ticked")
    screen.get_by_role("button", name="Compact…").click()
    expect(screen.locator("h1")).to_have_text("Compact 3 sessions?")
    screen.get_by_role("button", name="Compact 3").click()
    expect(screen.get_by_role("link", name=re.compile(r"^Run \d+$"))).to_have_count(3)
    assert {run.status for run in Run.objects.all()} == {"applied"}
    screen.get_by_role("link", name="See the runs").click()
    screen.get_by_role("link", name=STOCKTAKING).first.click()
    screen.locator("[data-run=applied]").get_by_text("Undo this compaction…").click()
    screen.get_by_role("button", name="Undo", exact=True).click()
    expect(screen.locator("[data-run=undone]").or_(screen.get_by_text("in context again")).first).to_be_visible()
    assert sorted(run.status for run in Run.objects.all()) == ["applied", "applied", "undone"]


def test_a_reader_finds_a_detail_sees_what_became_of_it_and_takes_it_along(
    visit: Visit, demo: Callable[[str], str]
) -> None:
    sync_worker.sync_all()
    screen = visit()
    screen.goto("/")
    screen.keyboard.press("/")
    screen.keyboard.type("beagle")
    screen.keyboard.press("Enter")
    expect(screen.locator("li.hit")).not_to_have_count(0)
    screen.keyboard.press("j")
    screen.keyboard.press("Enter")
    screen.wait_for_url("**/sessions/**")
    expect(screen.locator(".turn.marked, .boundary.marked").first).to_be_in_viewport()
    boundary = screen.locator(".boundary").first
    if not boundary.count():
        screen.keyboard.press("]")
    if not boundary.locator("details.unfolds[open]").count():
        boundary.locator(".line").click()
    boundary.get_by_role("link", name="Before and after").click()
    expect(screen.locator("h1")).to_contain_text("efore and after")
    with screen.expect_download() as made:
        screen.get_by_role("link", name="HTML file").click()
    text = made.value.path().read_text()
    assert "beagle" in text and "<script" not in text


@pytest.mark.usefixtures("at_once")
def test_a_newcomer_compacts_puts_a_detail_back_and_takes_it_all_back(visit: Visit, demo: Callable[[str], str]) -> None:
    sync_worker.sync_all()
    screen = visit()
    screen.goto("/")
    expect(screen.locator("figure.story")).to_contain_text("Nothing is deleted")
    screen.get_by_role("link", name="Open “Stocktaking").click()
    screen.get_by_role("radio", name="Summarise").check()
    screen.get_by_label("Focus on").wait_for()
    screen.get_by_role("button", name="Preview").click()
    screen.locator("[data-run=ready] a[href*='/runs/']").first.click()
    expect(screen.get_by_role("heading", name="Preview, not applied", level=1)).to_be_visible()
    screen.get_by_role("button", name="Put in:").first.click()
    expect(screen.get_by_text("✓ In", exact=True).first).to_be_visible()
    expect(screen.get_by_label("Summary (editable)")).to_have_value(re.compile("Kept exactly:"))
    screen.get_by_role("button", name="Apply", exact=True).click()
    expect(screen.locator("[data-run=applied]")).to_be_visible()
    (run,) = Run.objects.all()
    assert "Kept exactly:" in run.summary
    screen.locator("[data-run=applied]").get_by_text("Undo this compaction…").click()
    screen.get_by_role("button", name="Undo", exact=True).click()
    expect(screen.locator("#said")).to_contain_text("Undone.")
    assert Run.objects.get().status == "undone"
