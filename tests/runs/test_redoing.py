"""Applying an undone compaction again, in the one kind of store that can: what is noted of it, whoever is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.codex.by_hand import CodexByHand
from tests.agents.talk import talk
from tests.clients import ApiClient
from tests.runs.commands import run as command
from tests.store_api import StoreApi
from viewer.enforcement.models import Audit
from viewer.history.models import Compaction
from viewer.runs import recovery
from viewer.runs.models import Run
from viewer.stores.codex import paths, presence
from viewer.stores.codex.writer import CodexWriter
from viewer.stores.registry import get_store, writer_of

DEAD = "pid=999999999:agent=palimpsest:nonce=1"


@pytest.fixture
def store_api(
    api_client: ApiClient, transactional_db: None, at_once: None, settings: Settings, tmp_path: Path
) -> Iterator[StoreApi]:
    """The site with one session of Codex, whose compaction was undone."""
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    agent = CodexByHand(tmp_path / "codex")
    settings.STORES = {"agent": agent.url}
    agent.write("s", talk(8))
    store_api = StoreApi(api_client, "agent", agent)
    run = store_api.compact("s")
    assert api_client.call("POST", f"/runs/{run['id']}/undo")[1]["status"] == "undone"
    yield store_api


def run_of(store_api: StoreApi) -> Run:
    return Run.objects.get(store=store_api.store)


def redone(store_api: StoreApi) -> None:
    status, run = store_api.api_client.call("POST", f"/runs/{run_of(store_api).pk}/redo")
    assert (status, run["status"]) == (200, "applied"), run


def test_what_is_noted(store_api: StoreApi) -> None:
    written = Compaction.objects.get()
    assert written.undone and written.undo
    redone(store_api)
    written.refresh_from_db()
    assert not written.undone and written.undone_at is None and not written.undo
    assert run_of(store_api).holder == "" and run_of(store_api).applied_at is not None


def test_by_a_command(store_api: StoreApi) -> None:
    number = str(run_of(store_api).pk)
    assert "applied again" in command("redo", number) and run_of(store_api).status == "applied"
    with pytest.raises(SystemExit, match="only a run that was undone"):
        command("redo", number)


def test_the_agents_next_turn_is_judged_again(store_api: StoreApi) -> None:
    assert [each.status for each in Audit.objects.all()] == ["undone"]
    redone(store_api)
    assert [(each.run, each.status, each.settled) for each in Audit.objects.all()] == [
        (run_of(store_api).pk, "nothing_required", False)
    ]


def test_a_page_offers_it(store_api: StoreApi, signed_in: Client) -> None:
    page = f"/runs/{run_of(store_api).pk}"
    assert f'action="{page}/redo"' in signed_in.get(page).content.decode()
    assert signed_in.post(f"{page}/redo").status_code == 302
    shown = signed_in.get(page).content.decode()
    assert "Undo this compaction" in shown and "/redo" not in shown
    assert signed_in.post(f"{page}/redo").status_code == 409


def test_who_undoes_it_in_the_session_is_offered_it_at_once(store_api: StoreApi, signed_in: Client) -> None:
    redone(store_api)
    run = run_of(store_api)
    href = f"/stores/{run.store}/sessions/{run.session_id}"
    here = {"HX-Request": "true", "HX-Current-URL": f"http://testserver{href}"}
    answer = signed_in.post(f"{href}/boundaries/{run.handoff_id}/undo", headers=here).content.decode()
    assert "Undone. " in answer and f'action="/runs/{run.pk}/redo"' in answer


def test_a_page_does_not_offer_it_below_another(store_api: StoreApi, signed_in: Client) -> None:
    run = run_of(store_api)
    store_api.compact("s")
    assert "/redo" not in signed_in.get(f"/runs/{run.pk}").content.decode()


@pytest.mark.parametrize("is_written", [True, False])
def test_whoever_was_killed_is_found(store_api: StoreApi, is_written: bool) -> None:
    run = run_of(store_api)
    Run.objects.filter(pk=run.pk).update(holder=DEAD)
    if is_written:
        writer, receipt = writer_of(get_store(store_api.store)), Compaction.objects.get().receipt
        assert isinstance(writer, CodexWriter)
        presence.take_lock(writer.store, run.session_id, paths.find(writer.store, run.session_id).path, DEAD)
        writer.redo(run.session_id, receipt, holder=DEAD)
    assert [each.pk for each in recovery.sweep(0)] == [run.pk]
    assert (run_of(store_api).status, run_of(store_api).holder) == ("applied" if is_written else "undone", "")
    assert len(store_api.compactions("s")) == int(is_written)
    store_api.api_client.call("POST", f"/runs/{run.pk}/{'undo' if is_written else 'redo'}")
    assert len(store_api.compactions("s")) == int(not is_written)
    assert recovery.sweep(0) == []
