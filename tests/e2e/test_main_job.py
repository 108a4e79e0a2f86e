"""The main job as a person does it: the processes of `make run`, a real browser, an agent that writes beside us."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import compact_now, sign_in
from tests.e2e.rows import live, query
from tests.factories.stores import WEEK_29
from tests.processes import StartedSite

# pytest-playwright's own base_url fixture warns of a pytest to come, and warnings are errors here
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestRemovedIn10Warning")


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Path], StartedSite]]:
    """Start the whole site on one store, beside the demo store."""
    sites: list[StartedSite] = []

    def start(path: Path) -> StartedSite:
        sites.append(StartedSite(tmp_path / "data", PALIMPSEST_STORES=f"hermes=sqlite:///{path}").ready())
        return sites[-1]

    yield start
    for site in sites:
        site.cut_down()


def test_read_compact_and_undo_week_29(
    page: Page, serve: Callable[[Path], StartedSite], hermes_copy: Callable[[int], Path]
) -> None:
    path = hermes_copy(21)
    before = live(path, WEEK_29)
    problems: list[str] = []
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    site = serve(path)
    sign_in(page, site)

    page.get_by_role("link", name="Airline desk, week 29", exact=True).click()
    contents = page.locator("#contents")
    expect(contents).to_contain_text("1,002 → 195")
    expect(contents).to_contain_text("393 → 194")
    expect(page.locator("[data-turn]").last).to_be_visible()

    page.evaluate("document.documentElement.dataset.sameDocument = 'yes'")
    compact_now(page)
    receipt = page.locator("[data-run=applied]")
    expect(receipt).to_contain_text("240 → ")
    handoff = query(path, "SELECT MIN(id) FROM messages WHERE session_id = ? AND active = 1", WEEK_29)[0][0]
    boundary = page.locator(f"#b{handoff}")
    expect(boundary).to_be_visible()
    after = live(path, WEEK_29)
    expect(boundary).to_contain_text(f"240 → {len(after)} messages")
    expect(boundary).to_contain_text("by you, here")
    expect(boundary.locator("xpath=following::*[@data-turn][1]")).to_be_visible()
    assert page.evaluate("document.documentElement.dataset.sameDocument") == "yes", "the page was loaded again"
    assert 20 < len(after) < 120
    assert [row[1:] for row in after[1:]] == [row[1:] for row in before[1 - len(after) :]]
    assert query(path, "SELECT COUNT(*) FROM sessions") == [(26,)]

    insert = (
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'and the return flight?', ?)"
    )
    query(path, insert, WEEK_29, time.time())
    page.reload()
    expect(page.locator("[data-run=applied]")).to_contain_text("Picked up")

    page.locator(f"#b{handoff}").get_by_role("button", name="Undo this compaction").click()
    outlook = page.locator(f"#b{handoff}-undo")
    expect(outlook).to_contain_text("1 later message stays.")
    outlook.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator(f"#b{handoff}")).to_have_count(0)
    expect(page.locator("#contents")).to_contain_text("393 → 194")
    restored = live(path, WEEK_29)
    assert restored[:-1] == before
    assert restored[-1][2] == "and the return flight?"
    assert not problems


def test_a_store_without_a_compacted_column_offers_a_copy_to_practise_on(
    page: Page, serve: Callable[[Path], StartedSite], hermes_copy: Callable[[int], Path], tmp_path: Path
) -> None:
    """In the demo store: a summary of it is made, edited and applied."""
    path = hermes_copy(16)
    untouched = path.read_bytes()
    site = serve(path)
    sign_in(page, site)
    line = page.get_by_role("link", name="Airline desk, week 30", exact=True)
    expect(line).to_have_count(1)
    line.click()
    expect(page.get_by_role("button", name="Compact now…")).to_be_disabled()
    expect(page.locator("#plan")).to_contain_text("schema 16")
    page.get_by_role("button", name="Try on a copy").click()
    expect(page).to_have_url(re.compile("/stores/demo/sessions/"))
    page.get_by_role("button", name="Preview").click()
    summary = page.get_by_label("Summary (editable)")
    expect(summary).to_be_visible()
    demo, session_id = tmp_path / "data" / "demo.db", page.url.rpartition("/")[2]
    count = len(live(demo, session_id))
    summary.fill("## Goal\nCount everything twice, says the tangerine clerk.")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("[data-run=applied]")).to_be_visible()
    assert len(live(demo, session_id)) < count
    assert any("tangerine clerk" in str(row[2]) for row in live(demo, session_id))
    expect(page.locator("#reading")).to_contain_text("tangerine clerk")
    assert path.read_bytes() == untouched
