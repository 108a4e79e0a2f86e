"""A compaction by another program: plan, run, apply, undo, and every refusal."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from viewer.runs.models import Run
from viewer.stores.base import Store
from viewer.stores.hermes.kind import Hermes

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]

RUN_FIELDS = {
    "id", "store", "session_id", "address", "status", "strategy", "summarizer", "focus", "keep_last", "apply",
    "progress", "tokens_before", "tokens_after", "messages_before", "messages_after", "summary", "error", "undoable",
    "created_at", "finished_at", "mode", "fallback", "new_session_id", "model", "usage", "rules",
}  # fmt: skip
PLAN_FIELDS = {
    "sends_otherwise", "strategy", "mode", "fallback",
    "head", "middle", "tail", "lifted", "earlier_tokens", "reasons", "tokens_before", "tokens_after_estimate",
    "notes", "note_tokens", "recompaction",
    "context_window", "tokens_are_estimates", "pick_up", "busy", "rules",
}  # fmt: skip


def test_the_whole_life(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path, before = session_path(hermes_store), hermes_store.live()

    status, plan = api_client.call("POST", f"{path}/plan", {"focus": "refunds"})
    assert (status, set(plan)) == (200, PLAN_FIELDS)
    assert plan["busy"] is None and plan["reasons"]
    parts = [plan[part] for part in ("head", "middle", "tail")]
    assert [part["count"] == len(part["ids"]) for part in parts] == [True, True, True]
    assert sum(part["count"] for part in parts) + len(plan["lifted"]) == len(before)
    assert not Run.objects.exists() and hermes_store.live() == before

    status, run = api_client.call("POST", f"{path}/runs", {"apply": False, "focus": "refunds"})
    assert (status, set(run)) == (202, RUN_FIELDS)
    run = api_client.get(f"/runs/{run['id']}")
    assert (run["status"], run["focus"], run["error"], run["undoable"]) == ("ready", "refunds", None, False)
    assert run["messages_before"] == len(before) and run["summary"]
    report = api_client.get(f"/runs/{run['id']}/report")
    assert report["summarised"] == sorted([*plan["middle"]["ids"], *plan["lifted"]])
    assert {kind: still <= total for kind, (still, total) in report["anchors"].items()}["id"]
    lost = [one["text"] for one in report["lost"]]
    assert len(lost) == min(sum(total - still for still, total in report["anchors"].values()), 500)
    assert not any(one["text"] in run["summary"].split() for one in report["lost"] if one["kind"] in ("path", "url"))
    assert all(one["text"] in (one["line"] or one["text"]) for one in report["lost"])
    speakers = [("person", "agent", "summary", "call").index(one["by"]) for one in report["lost"]]
    assert speakers == sorted(speakers), "people first"
    kept, statements = report["statements"]
    assert 0 < kept <= statements and len(report["lost_statements"]) == statements - kept
    assert {one["message"] for one in report["lost"]} <= {*report["summarised"], *report["shortened"], None}

    text = "## Goal\nWritten by a person."
    status, run = api_client.call("POST", f"/runs/{run['id']}/apply", {"summary": text})
    assert (status, run["status"], run["summary"], run["undoable"]) == (202, "applied", text, True)
    newest = api_client.get(f"{path}/compactions")["items"][-1]
    assert (newest["run"], newest["by"], newest["summary"], newest["undoable"]) == (
        run["id"],
        "by you, here",
        text,
        True,
    )
    assert text in [message["content"] for message in api_client.get(f"{path}/context")["messages"]][0]
    edited = api_client.get(f"/runs/{run['id']}/report")
    assert len(edited["lost"]) > len(lost), "the text that counts is the edited one"
    assert edited["statements"] == [0, statements] and len(edited["lost_statements"]) == statements
    assert api_client.get(path)["compactions"] == 3

    status, run = api_client.call("POST", f"/runs/{run['id']}/undo")
    assert (status, run["status"], run["undoable"]) == (200, "undone", False)
    assert hermes_store.live() == before
    assert [item["id"] for item in api_client.get("/runs", status="undone")["items"]] == [run["id"]]
    assert api_client.get("/runs", status="applied")["items"] == []
    status, answer = api_client.call("POST", f"/runs/{run['id']}/undo")
    assert (status, answer["error"]["code"]) == (409, "not_undoable")
    assert re.fullmatch(r"Already undone at \d\d:\d\d\.", answer["error"]["message"])


def test_compact_at_once_and_list_runs(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path = session_path(hermes_store)
    asked = ({"apply": True, "keep_last": 20}, {"apply": True, "keep_last": 10}, {"apply": False, "keep_last": 2})
    made = [api_client.call("POST", f"{path}/runs", each)[1] for each in asked]
    assert [run["status"] for run in made] == ["applied", "applied", "ready"]
    page = api_client.get("/runs", store="hermes", session_id=hermes_store.session_id, limit=2)
    assert [run["id"] for run in page["items"]] == [made[2]["id"], made[1]["id"]]
    rest = api_client.get("/runs", store="hermes", session_id=hermes_store.session_id, limit=2, cursor=page["next"])
    assert ([run["id"] for run in rest["items"]], rest["next"]) == ([made[0]["id"]], None)
    assert [run["undoable"] for run in (*page["items"], *rest["items"])] == [False, True, False]
    discarded = api_client.call("POST", f"/runs/{made[2]['id']}/discard")[1]
    assert (discarded["status"], discarded["tokens_after"], discarded["messages_after"]) == ("discarded", None, None)
    assert made[2]["tokens_after"] and discarded["tokens_before"]


def test_shortening_tool_output_instead_of_a_summary(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path, before = session_path(hermes_store), hermes_store.live()
    status, plan = api_client.call("POST", f"{path}/plan", {"strategy": "prune"})
    assert (status, set(plan), plan["lifted"], plan["earlier_tokens"]) == (200, PLAN_FIELDS, [], 0)
    assert sum(plan[part]["count"] for part in ("head", "middle", "tail")) == len(before)
    status, run = api_client.call("POST", f"{path}/runs", {"strategy": "prune", "apply": False})
    report = api_client.get(f"/runs/{run['id']}/report")
    assert (status, report["shortened"], report["summarised"]) == (202, plan["middle"]["ids"], [])
    status, refused = api_client.call("POST", f"/runs/{run['id']}/apply", {"summary": "Mine."})
    assert (status, refused["error"]["code"]) == (422, "nothing_to_edit")
    status, run = api_client.call("POST", f"/runs/{run['id']}/apply")
    assert (status, run["status"], run["strategy"]) == (202, "applied", "prune")
    newest = api_client.get(f"{path}/compactions")["items"][-1]
    assert (newest["summarised_ids"], len(newest["shortened_ids"])) == ([], plan["middle"]["count"])
    assert api_client.call("POST", f"/runs/{run['id']}/undo")[1]["status"] == "undone" and hermes_store.live() == before


def test_refusals(hermes_store: HermesStore, api_client: ApiClient, settings: Settings) -> None:
    path = session_path(hermes_store)

    def refused(method: str, address: str, body: object = None) -> tuple[int, str]:
        status, answer = api_client.call(method, address, body)
        assert set(answer) == {"error"} and set(answer["error"]) == {"code", "message"} and answer["error"]["message"]
        return status, answer["error"]["code"]

    assert refused("POST", f"{path}/plan", {"keep_last": 5000}) == (409, "nothing_to_compact")
    assert refused("POST", f"{path}/runs", {"keep_last": 5000}) == (409, "nothing_to_compact")
    assert refused("POST", f"{path}/runs", {"summarizer": "oracle"}) == (422, "unknown_choice")
    assert refused("POST", f"{path}/runs", {"summarizer": "openai"}) == (409, "model_not_set_up")
    assert refused("POST", f"{path}/plan", {"summarizer": "openai"}) == (409, "model_not_set_up")
    assert refused("POST", f"{path}/runs", {"keep_last": 0}) == (422, "invalid")
    assert refused("POST", "/stores/hermes/sessions/nobody/runs") == (404, "not_found")
    assert refused("POST", "/stores/nowhere/sessions/nobody/runs") == (404, "not_found")
    assert refused("GET", "/runs/99999") == (404, "not_found")

    ready = api_client.call("POST", f"{path}/runs", {"apply": False})[1]["id"]
    assert refused("POST", f"/runs/{ready}/apply", {"summary": " "}) == (422, "summary_rejected")
    assert refused("POST", f"/runs/{ready}/undo") == (409, "not_undoable")
    assert refused("POST", f"/runs/{ready}/cancel") == (409, "wrong_status")
    hermes_store.take_back_newest()
    assert refused("POST", f"/runs/{ready}/apply") == (409, "compaction_conflict")
    assert api_client.get(f"/runs/{ready}")["error"]["code"] == "compaction_conflict"

    settings.AT_ONCE = False
    status, run = api_client.call("POST", f"{path}/runs", {"apply": True})
    assert (status, run["status"], run["finished_at"]) == (202, "queued", None)
    assert refused("POST", f"{path}/runs", {"apply": True}) == (409, "session_busy")
    assert refused("GET", f"/runs/{run['id']}/report") == (409, "wrong_status")
    assert api_client.call("POST", f"/runs/{run['id']}/cancel")[1]["status"] == "cancelled"


def test_a_plan_names_who_is_busy(hermes_store: HermesStore, api_client: ApiClient) -> None:
    hermes_store.start_turn()
    busy = api_client.call("POST", f"{session_path(hermes_store)}/plan")[1]["busy"]
    assert busy["lock"] is None
    assert busy["turn"]["holder"] == "pid=1:turn=9:platform=telegram" and busy["turn"]["since"].endswith("Z")


def test_a_list_of_runs_opens_each_store_once_and_reads_no_large_columns(
    hermes_store: HermesStore, api_client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compact() -> int:
        status, run = api_client.call("POST", f"{session_path(hermes_store)}/runs", {"apply": True, "keep_last": 4})
        assert status == 202 and run["status"] == "applied", run
        return int(run["id"])

    def cost() -> tuple[int, int]:
        """Openings of the store, and queries of our own database."""
        opened.clear()
        with CaptureQueriesContext(connection) as queries:
            api_client.get("/runs")
        read = [query["sql"] for query in queries if 'FROM "runs_run"' in query["sql"]]
        assert sum('"runs_run"."plan"' in sql for sql in read) <= 1, "of the one that is in effect"
        return len(opened), len(queries)

    opened: list[str] = []
    plain = Hermes.open

    def counted(kind: Hermes, store: Store, *, listed: bool) -> Any:
        opened.append(store.name)
        return plain(kind, store, listed=listed)

    monkeypatch.setattr(Hermes, "open", counted)
    first = compact()
    before = cost()
    second = compact()
    assert before[0] == 1 and cost() == before
    assert {run["id"]: run["undoable"] for run in api_client.get("/runs")["items"]} == {second: True, first: False}
    assert [api_client.get(f"/runs/{number}")["undoable"] for number in (second, first)] == [True, False]
