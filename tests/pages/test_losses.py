"""What a compaction loses: plan, candidate and boundary say the same, on pages, over the API and in the command."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from compaction.__main__ import main
from tests.clients import ApiClient
from tests.factories.stores import HermesStore
from tests.html import Element, read
from tests.slow import slow
from viewer.runs import planning
from viewer.runs.models import Run
from viewer.stores.hermes.reader import open_store
from viewer.stores.registry import get_store
from viewer.web import auth

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]
Lost = tuple[int, int]  # lost of how many


@pytest.fixture
def api_client() -> ApiClient:
    return ApiClient(auth.new_token("tool", auth.SCOPES))


def numbers(text: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", text)]


def _counted(page: Element) -> int:
    """The number of lost lines on a page."""
    return next(iter(numbers(page.one("p", "loss").text)), 0)


def _said(report: Any) -> tuple[Lost, Lost]:
    """Details and statements of an answer with `anchors` and `statements`."""
    still = sum(kept for kept, _ in report["anchors"].values())
    total = sum(all_ for _, all_ in report["anchors"].values())
    kept, statements = report["statements"]
    return (total - still, total), (statements - kept, statements)


def _command(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[Lost, Lost]:
    """What `python -m compaction` says of the same messages on the same day."""
    with open_store(get_store(run.store)) as reader:
        basis = planning.read_basis(reader, run.session_id)
    sent = json.dumps([planning._dated(row) for row in basis.sent])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sent.encode())))
    day = (run.finished_at or run.created_at).date()
    options = ["--window", str(basis.window), "--today", str(day), "--strategy", run.strategy, "--report"]
    assert main(options) == 0
    told = capsys.readouterr().err.strip().splitlines()[-1]
    total, lost, statements, stated = numbers(told)[:4]
    return (lost, total), (stated, statements)


def _agree(path: str, client: Client, api_client: ApiClient, strategy: str) -> tuple[Run, tuple[Lost, Lost]]:
    """Compact, and compare all that is said of it; what the run's report says."""
    run_id = api_client.call("POST", f"{path}/runs", {"apply": False, "strategy": strategy})[1]["id"]
    details, statements = said = _said(api_client.get(f"/runs/{run_id}/report"))
    report = api_client.get(f"/runs/{run_id}/report")
    lines = len(
        {(each["message"], each["line"] or each["text"]) for each in report["lost"] + report["lost_statements"]}
    )
    assert report["things"] == len(report["ranked"]) == lines, "each line counts once"
    assert _counted(read(client.get(f"/runs/{run_id}"))) == lines
    assert api_client.call("POST", f"/runs/{run_id}/apply")[1]["status"] == "applied"
    run = Run.objects.get(pk=run_id)
    newest = api_client.get(f"{path}/compactions")["items"][-1]
    assert [(newest[name]["lost"], newest[name]["total"]) for name in ("details", "statements")] == [*said]
    found = api_client.get(f"{path}/compactions/{run.handoff_id}/details")
    assert _said(found) == said and len(found["lost"]) == details[0] and len(found["lost_statements"]) == statements[0]
    boundary = read(client.get(f"{path}?around={run.handoff_id}")).one("section", id=f"b{run.handoff_id}")
    (tab,) = [each for each in boundary.one("nav", "tabs").all("a") if "ost" in each.text]
    page = read(client.get(f"{path}/boundaries/{run.handoff_id}/details"))
    assert numbers(tab.text)[0] == numbers(page.one("h1").text)[0] == found["things"] == lines
    assert _counted(page) == lines
    return run, said


@pytest.mark.slow
@pytest.mark.parametrize("title", ["Stocktaking, ten warehouses", *slow("Support desk, the long thread")])
def test_all_that_is_said_of_a_loss_agrees(
    signed_in: Client,
    api_client: ApiClient,
    demo: Callable[[str], str],
    title: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = demo(title)
    with open_store(get_store("demo")) as reader:  # before it is compacted
        assert planning.read_basis(reader, path.split("/")[-1]).sent
    run, said = _agree(path, signed_in, api_client, "summary")
    assert said[0][0] < said[0][1] and said[1][0] < said[1][1]
    assert title.startswith("Stock") or (said[0][0] and said[1][0]), "of the Stocktaking nothing is lost"
    api_client.call("POST", f"/runs/{run.pk}/undo")
    assert _command(run, monkeypatch, capsys) == said


@pytest.mark.parametrize("strategy", ["summary", *slow("prune")])
def test_it_agrees_for_a_session_compacted_before(
    signed_in: Client,
    api_client: ApiClient,
    open_hermes_store: Callable[..., HermesStore],
    strategy: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hermes_store = open_hermes_store(21)
    run, said = _agree(f"/stores/hermes/sessions/{hermes_store.session_id}", signed_in, api_client, strategy)
    api_client.call("POST", f"/runs/{run.pk}/undo")
    assert _command(run, monkeypatch, capsys) == said


def test_what_the_agent_lost_is_told_over_the_api_as_on_the_page(
    signed_in: Client, api_client: ApiClient, open_hermes_store: Callable[..., HermesStore]
) -> None:
    hermes_store = open_hermes_store(21)
    path = f"/stores/hermes/sessions/{hermes_store.session_id}"
    handoff = api_client.get(f"{path}/compactions")["items"][0]["handoff_id"]
    found = _said(api_client.get(f"{path}/compactions/{handoff}/details"))
    page = read(signed_in.get(f"{path}/boundaries/{handoff}/details"))
    told = api_client.get(f"{path}/compactions/{handoff}/details")
    assert numbers(page.one("h1").text) == [told["things"]] and _counted(page) == told["things"] > 0
    assert found[0][0] > 0
    status, answer = api_client.call("GET", f"{path}/compactions/1/details")
    assert (status, answer["error"]["code"]) == (404, "not_found")


def test_where_nothing_can_be_lost_no_number_is_told(
    signed_in: Client, api_client: ApiClient, demo: Callable[[str], str]
) -> None:
    """Shortened output of a session in which everything said and called stays: there is no "0 of 0"."""
    path = demo("Stocktaking, ten warehouses")
    run = Run.objects.get(pk=api_client.call("POST", f"{path}/runs", {"apply": True, "strategy": "prune"})[1]["id"])
    boundary = read(signed_in.get(f"{path}?around={run.handoff_id}")).one("section", id=f"b{run.handoff_id}")
    assert [each.text for each in boundary.one("nav", "tabs").all("a")][1] == "Lost 0"
