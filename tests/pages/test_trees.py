"""Sessions of OpenClaw and of pi on their pages: boundaries, what was left, what the client adds."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.openclaw.by_hand import SECRET, OpenClawByHand
from tests.agents.pi.by_hand import PiByHand, said
from tests.agents.reading import history, opened
from tests.agents.talk import talk
from tests.html import read


@pytest.fixture(params=["openclaw", "pi"])
def agent(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> OpenClawByHand | PiByHand:
    """An agent with a session that was compacted, taken back and gone on with."""
    made = OpenClawByHand(tmp_path / "home") if request.param == "openclaw" else PiByHand(tmp_path / "home")
    settings.STORES = {"agent": made.url}
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    made.write("s", talk(2))
    kept = made.active("s")[-1]["id"]
    made.append("s", "compaction", summary="The garden.", firstKeptEntryId=kept, tokensBefore=9_000, tokensAfter=800)
    made.append("s", "message", message=said({"role": "user", "content": "left behind"}))
    made.take_back("s")
    made.append("s", "message", message=said({"role": "user", "content": "instead"}))
    return made


def test_the_pages_of_a_tree(agent: OpenClawByHand | PiByHand, signed_in: Client) -> None:
    at = f"/stores/agent/sessions/{agent.id_of('s')}"
    page = read(signed_in.get(at))
    assert "The garden." in page.text and "instead" in page.text and "left behind" not in page.text
    assert "9,000" in page.text or "9k" in page.text or "9.0k" in page.text
    assert "left behind" in read(signed_in.get(f"{at}/abandoned")).text
    context = read(signed_in.get(f"{at}/context")).text
    assert "was compacted into the following summary" in context and "request0" not in context
    assert "system prompt" in context
    rows = read(signed_in.get(f"{at}/rows")).text
    assert "left behind" in rows and "firstKeptEntryId" in rows
    with opened(agent) as reader:
        (boundary,) = history(reader, agent.id_of("s")).boundaries
    for tab in ("summarised", "kept", "details", "before-after"):
        assert signed_in.get(f"{at}/boundaries/{boundary.handoff_id}/{tab}").status_code == 200, tab
    for place in ("", "/context", "/rows", "/abandoned"):
        assert SECRET not in signed_in.get(f"{at}{place}").content.decode()


def test_a_reset_on_its_page(tmp_path: Path, settings: Settings, signed_in: Client) -> None:
    agent = OpenClawByHand(tmp_path / "home")
    settings.STORES = {"agent": agent.url}
    agent.write("s", talk(1))
    agent.append("s", "reset", reason="idle")
    agent.append("s", "message", message=said({"role": "user", "content": "after it"}))
    at = f"/stores/agent/sessions/{agent.id_of('s')}"
    assert "was reset here (idle)" in read(signed_in.get(at)).text
    context = read(signed_in.get(f"{at}/context")).text
    assert "after it" in context and "request0" not in context


def test_a_rewind_changes_the_list(
    tmp_path: Path, settings: Settings, signed_in: Client, transactional_db: None
) -> None:
    from viewer.catalog import sync_worker  # models: conftest files are read before Django is set up

    agent = OpenClawByHand(tmp_path / "home")
    settings.STORES = {"agent": agent.url}
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    agent.write("s", talk(2))
    agent.write("t", talk(1))
    sync_worker.sync_all()
    old = agent.id_of("s")
    agent.take_back("s")
    sync_worker.sync_all()
    page = read(signed_in.get("/"))
    assert page.all("a", href=f"/stores/agent/sessions/{agent.id_of('s')}")
    assert page.all("a", href=f"/stores/agent/sessions/{agent.id_of('t')}")
    assert not page.all("a", href=f"/stores/agent/sessions/{old}")


def test_an_older_transcript_of_a_rewind_leads_to_the_newer_one(
    tmp_path: Path, settings: Settings, signed_in: Client
) -> None:
    agent = OpenClawByHand(tmp_path / "home")
    settings.STORES = {"agent": agent.url}
    agent.write("s", talk(2))
    old = agent.id_of("s")
    agent.take_back("s")
    answer = signed_in.get(f"/stores/agent/sessions/{old}")
    assert answer.status_code == 302 and answer["Location"].startswith(f"/stores/agent/sessions/{agent.id_of('s')}")
