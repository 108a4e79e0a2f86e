"""Applying an undone compaction again, in the one kind of store that can: what is noted of it, whoever is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.codex.by_hand import CodexByHand
from tests.agents.talk import talk
from tests.clients import Tool
from tests.contract.site import Site
from tests.runs.commands import run as command
from viewer.enforcement.models import Audit
from viewer.history.models import Compaction
from viewer.runs import recovery
from viewer.runs.models import Run
from viewer.stores.codex.writer import CodexWriter
from viewer.stores.registry import get_store, writer_of

DEAD = "pid=999999999:agent=palimpsest:nonce=1"


@pytest.fixture
def site(tool: Tool, transactional_db: None, at_once: None, settings: Settings, tmp_path: Path) -> Iterator[Site]:
    """The site with one session of Codex, whose compaction was undone."""
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    agent = CodexByHand(tmp_path / "codex")
    settings.STORES = {"agent": agent.url}
    agent.write("s", talk(16))
    site = Site(tool, "agent", agent)
    run = site.compact("s")
    assert tool.call("POST", f"/runs/{run['id']}/undo")[1]["status"] == "undone"
    yield site


def run_of(site: Site) -> Run:
    return Run.objects.get(store=site.store)


def redone(site: Site) -> None:
    status, run = site.tool.call("POST", f"/runs/{run_of(site).pk}/redo")
    assert (status, run["status"]) == (200, "applied"), run


def test_what_is_noted(site: Site) -> None:
    written = Compaction.objects.get()
    assert written.undone and written.undo
    redone(site)
    written.refresh_from_db()
    assert not written.undone and written.undone_at is None and not written.undo
    assert run_of(site).holder == "" and run_of(site).applied_at is not None


def test_by_a_command(site: Site) -> None:
    number = str(run_of(site).pk)
    assert "applied again" in command("redo", number) and run_of(site).status == "applied"
    with pytest.raises(SystemExit, match="only one that was undone"):
        command("redo", number)


def test_the_agents_next_turn_is_judged_again(site: Site) -> None:
    assert [each.status for each in Audit.objects.all()] == ["undone"]
    redone(site)
    assert [(each.run, each.status, each.settled) for each in Audit.objects.all()] == [
        (run_of(site).pk, "nothing_required", False)
    ]


def test_a_page_offers_it(site: Site, signed_in: Client) -> None:
    page = f"/runs/{run_of(site).pk}"
    assert f'action="{page}/redo"' in signed_in.get(page).content.decode()
    assert signed_in.post(f"{page}/redo").status_code == 302
    shown = signed_in.get(page).content.decode()
    assert "Undo this compaction" in shown and "/redo" not in shown
    assert signed_in.post(f"{page}/redo").status_code == 409


def test_a_page_does_not_offer_it_below_another(site: Site, signed_in: Client) -> None:
    run = run_of(site)
    site.compact("s")
    assert "/redo" not in signed_in.get(f"/runs/{run.pk}").content.decode()


@pytest.mark.parametrize("is_written", [True, False])
def test_whoever_was_killed_is_found(site: Site, is_written: bool) -> None:
    run = run_of(site)
    Run.objects.filter(pk=run.pk).update(holder=DEAD)
    if is_written:
        writer, receipt = writer_of(get_store(site.store)), Compaction.objects.get().receipt
        assert isinstance(writer, CodexWriter)
        writer.take_lock(run.session_id, DEAD)
        writer.redo(run.session_id, receipt, holder=DEAD)
    assert [each.pk for each in recovery.sweep(0)] == [run.pk]
    assert (run_of(site).status, run_of(site).holder) == ("applied" if is_written else "undone", "")
    assert len(site.compactions("s")) == int(is_written)
    site.tool.call("POST", f"/runs/{run.pk}/{'undo' if is_written else 'redo'}")
    assert len(site.compactions("s")) == int(not is_written)
    assert recovery.sweep(0) == []
