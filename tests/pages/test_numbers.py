"""One compaction has the same numbers wherever it is told."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client

from tests.clients import ApiClient
from tests.html import read
from viewer.catalog import sync_worker
from viewer.runs.models import Run


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["summary", "prune"])
@pytest.mark.usefixtures("at_once")
def test_tokens_are_the_same_wherever_they_are_told(
    signed_in: Client, api_client: ApiClient, demo: Callable[[str], str], strategy: str
) -> None:
    path = demo("Stocktaking, ten warehouses")
    signed_in.post(f"{path}/compact", {"apply": "1", "strategy": strategy}, headers={"HX-Request": "true"})
    run = Run.objects.get()
    sync_worker.sync_all()
    page = read(signed_in.get(path))
    receipt = page.one("section", "applied")
    found = re.search(r"Compacted (\S+) → (\S+) tokens", receipt.text)
    assert found
    before, after = found.groups()
    assert run.tokens_before == 120_775 and run.tokens_after
    assert abs(run.tokens_after - {"summary": 19_700, "prune": 43_400}[strategy]) < 300  # a summary tells its day
    assert (before, after) == ("120.8k", f"{run.tokens_after / 1_000:.1f}k")

    fragment = {"HX-Request": "true"}
    plan = read(signed_in.get(f"{path}/plan", headers=fragment)).one(id="plan")
    undo = read(signed_in.get(receipt.one("a", "btn").attributes["hx-get"], headers=fragment)).one("form")
    boundary = page.one("section", id=f"b{run.handoff_id}")
    tables = read(signed_in.get("/compactions")).all("table")
    of_run, of_boundary = (table.one("tbody").all("tr")[0] for table in tables)
    (line,) = [line for line in read(signed_in.get("/")).all("li", "session") if "Stocktaking" in line.text]
    compared = read(signed_in.get(f"{path}/boundaries/{run.handoff_id}/before-after")).one("main")
    assert f"{before} → {after} tokens" in boundary.one("h2").text
    assert f"{after} → {before} tokens" in undo.text
    assert f"{before} → {after} tokens" in read(signed_in.get(f"/runs/{run.pk}")).one("section", "applied").text
    assert f"{before} → {after}" in of_run.text and f"{before} → {after}" in of_boundary.text
    assert f"{before} → {after} tokens" in compared.text
    assert f"{after} of 128k tokens" in page.one(id="fill").text
    assert after in line.one("div", "fill").text
    assert f"Now (tokens) {after}" in plan.text
    beside = {"summary": "and the summary in context", "prune": "and the note in context"}[strategy]
    assert beside in page.one(id="facts").text

    told = api_client.get(f"/runs/{run.pk}")
    (listed,) = api_client.get(f"{path}/compactions")["items"]
    counted = [(each["tokens_before"], each["tokens_after"], each["messages_after"]) for each in (told, listed)]
    assert counted[0] == counted[1] == (run.tokens_before, run.tokens_after, run.messages_after)
    session = api_client.get(path)
    assert (session["tokens_live"], session["messages_live"]) == counted[0][1:]
