"""Events, audits and carried rules, as another program sees them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from compaction.handoff import EVENT_START, RULES_CLOSE, RULES_OPEN, WARNING_START
from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from tests.workspace_session import READ_TOOL, RULES, WorkspaceSession
from viewer.enforcement.models import Event
from viewer.web import auth, cursors

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]

EVENT_FIELDS = {
    "id", "store", "session_id", "kind", "status", "text", "files", "source", "workspace", "handoff_id", "run",
    "created_at", "delivered_at",
}  # fmt: skip
AUDIT_FIELDS = {
    "id", "store", "session_id", "handoff_id", "run", "status", "settled", "late", "turns", "required", "missing",
    "warned", "reason", "workspace", "source", "compacted_at", "armed_at", "audited_at",
}  # fmt: skip


def test_an_event_is_acknowledged_by_a_runtime_that_tells_it_itself(workspace_session: WorkspaceSession) -> None:
    assert workspace_session.events() == []
    run = workspace_session.compact()
    (workspace_session.workspace / "memory").mkdir()
    today = datetime.now(UTC).date()
    (workspace_session.workspace / "memory" / f"{today}.md").write_text("Today.")
    (event,) = workspace_session.events(status="pending")
    assert set(event) == EVENT_FIELDS
    assert (event["kind"], event["run"], event["session_id"]) == ("note", run["id"], workspace_session.session_id)
    assert (event["source"], event["workspace"]) == ("AGENTS.md", str(workspace_session.workspace))
    assert event["files"] == ["WORKFLOW.md", "STYLE.md", f"memory/{today}.md"]
    assert event["text"].startswith(EVENT_START) and f"memory/{today}.md" in event["text"]
    assert event["delivered_at"] is None

    status, said = workspace_session.api_client.call("POST", f"/events/{event['id']}/ack")
    assert (status, said["status"], set(said)) == (200, "delivered", EVENT_FIELDS)
    assert said["delivered_at"].endswith("Z")
    (workspace_session.workspace / "STYLE.md").unlink()
    assert workspace_session.api_client.call("POST", f"/events/{event['id']}/ack") == (200, said), (
        "it stays as it was told"
    )
    assert workspace_session.events(status="pending") == []
    assert workspace_session.api_client.call("POST", f"{workspace_session.path}/context")[1]["events"] == []


def test_one_that_expired_stays_so(workspace_session: WorkspaceSession) -> None:
    run = workspace_session.compact()
    (event,) = workspace_session.events()
    assert workspace_session.api_client.call("POST", f"/runs/{run['id']}/undo")[0] == 200
    status, said = workspace_session.api_client.call("POST", f"/events/{event['id']}/ack")
    assert (status, said["status"], said["delivered_at"]) == (200, "expired", None)
    assert (
        [one["id"] for one in workspace_session.events()]
        == [one["id"] for one in workspace_session.events(status="expired")]
        == [said["id"]]
    )


def test_events_are_listed_newest_first_in_pages(workspace_session: WorkspaceSession) -> None:
    workspace_session.compact()
    workspace_session.turn()
    assert [event["kind"] for event in workspace_session.events()] == ["warning", "note"]
    first = workspace_session.api_client.get(f"{workspace_session.path}/events", limit=1)
    second = workspace_session.api_client.get(f"{workspace_session.path}/events", limit=1, cursor=first["next"])
    assert [event["kind"] for page in (first, second) for event in page["items"]] == ["warning", "note"]
    assert second["next"] is None


def test_the_audit_names_what_is_missing_and_links_what_was_read(workspace_session: WorkspaceSession) -> None:
    assert workspace_session.api_client.get(f"{workspace_session.path}/audits") == {"items": [], "next": None}
    run = workspace_session.compact()
    audit = workspace_session.audit()
    assert set(audit) == AUDIT_FIELDS
    assert (audit["status"], audit["turns"], audit["missing"], audit["warned"]) == ("not_yet", 0, [], None)
    assert (audit["run"], audit["source"], audit["workspace"]) == (
        run["id"],
        "AGENTS.md",
        str(workspace_session.workspace),
    )
    unread = [{"name": name, "read_by": None, "tool": ""} for name in ("WORKFLOW.md", "STYLE.md")]
    assert audit["required"] == unread

    _, call, *_ = workspace_session.turn("./WORKFLOW.md")
    audit = workspace_session.audit()
    read = {"name": "WORKFLOW.md", "read_by": call, "tool": READ_TOOL}
    assert (audit["status"], audit["settled"], audit["turns"]) == ("missing", False, 1)
    assert (audit["required"], audit["missing"]) == ([read, unread[1]], ["STYLE.md"])
    warning = workspace_session.events()[0]
    assert (warning["kind"], warning["id"], warning["files"]) == ("warning", audit["warned"], ["STYLE.md"])
    assert warning["text"].startswith(WARNING_START) and "STYLE.md" in warning["text"]

    _, call, *_ = workspace_session.turn(str(workspace_session.workspace / "STYLE.md"))
    audit = workspace_session.audit()
    assert (audit["status"], audit["settled"], audit["turns"], audit["late"]) == ("passed", True, 2, False)
    assert (audit["required"][1]["read_by"], audit["missing"], audit["warned"]) == (call, [], warning["id"])
    assert [event["status"] for event in workspace_session.events()] == ["expired", "expired"]
    assert len(workspace_session.events()) == 2, "one warning, once"


def test_compactions_say_which_rules_they_carry_and_what_became_of_the_audit(
    workspace_session: WorkspaceSession,
) -> None:
    workspace_session.compact(rules=False)
    workspace_session.turn("WORKFLOW.md", "STYLE.md")
    assert workspace_session.audit()["status"] == "passed"
    workspace_session.compact()
    workspace_session.turn("WORKFLOW.md", "STYLE.md")  # which nobody looked at before this
    without, carrying = workspace_session.api_client.get(f"{workspace_session.path}/compactions")["items"]
    assert (without["rules"], without["audit"]) == ("", "passed")
    assert (carrying["rules"], carrying["audit"]) == (RULES, "passed")
    assert carrying["summary"].endswith(f"{RULES_OPEN}\n{RULES}\n{RULES_CLOSE}")


def test_a_plan_and_a_run_show_what_is_carried_and_from_where(workspace_session: WorkspaceSession) -> None:
    found = {
        "workspace": str(workspace_session.workspace),
        "source": "AGENTS.md",
        "sections": [RULES[: RULES.index("\n\n## Red")], RULES[RULES.index("## Red") :]],
        "text": RULES,
        "reason": "",
    }
    for choices, carried in [({}, True), ({"rules": False}, False)]:
        plan = workspace_session.api_client.call("POST", f"{workspace_session.path}/plan", choices)[1]
        assert plan["rules"] == found | {"carried": carried}
    run = workspace_session.compact(rules=False, apply=False)
    assert run["rules"] == found | {"carried": False}
    run = workspace_session.compact(apply=False)
    assert run["rules"] == found | {"carried": True} and RULES_OPEN not in run["summary"]
    (workspace_session.workspace / "AGENTS.md").write_text("Changed since: nothing of this is in the candidate.")
    run = workspace_session.api_client.call("POST", f"/runs/{run['id']}/apply")[1]
    handoffs = [
        m["content"]
        for m in workspace_session.api_client.get(f"{workspace_session.path}/context")["messages"]
        if RULES in str(m["content"])
    ]
    assert run["status"] == "applied" and len(handoffs) == 1

    plan = workspace_session.api_client.call("POST", f"{workspace_session.path}/plan")[1]
    assert (plan["rules"]["text"], plan["rules"]["sections"], plan["rules"]["carried"]) == ("", [], False)
    assert "no section called Session Startup or Red Lines" in plan["rules"]["reason"]
    assert workspace_session.api_client.call("POST", f"{workspace_session.path}/plan", {"rules": "perhaps"})[0] == 422


def test_refusals(hermes_store: HermesStore, api_client: ApiClient, signed_in: Client) -> None:
    events, audits = (f"{session_path(hermes_store)}/{name}" for name in ("events", "audits"))
    reader, writer = (ApiClient(auth.new_token(scope, [scope])) for scope in ("read", "write"))

    def code(by: ApiClient, method: str, path: str, **query: Any) -> tuple[int, str]:
        status, answer = by.call(method, path, **query)
        return status, answer["error"]["code"]

    for path in (events, audits):
        assert code(ApiClient("wrong"), "GET", path) == (401, "unauthorized")
        assert code(writer, "GET", path) == (403, "forbidden")
        assert (reader.get(path), signed_in.get(f"/api/v1{path}").status_code) == ({"items": [], "next": None}, 200)
        assert code(api_client, "POST", path) == (405, "method_not_allowed")
        assert code(api_client, "GET", path.replace("hermes", "nowhere")) == (404, "not_found")
        assert code(api_client, "GET", path.replace(hermes_store.session_id, "nobody")) == (404, "not_found")
    assert code(api_client, "GET", events, status="read") == (422, "invalid")
    assert code(api_client, "GET", events, limit=0) == (422, "invalid")
    for cursor in ("abc", cursors.written("runs", 7), cursors.written("events", "7")):
        assert code(api_client, "GET", events, cursor=cursor) == (422, "bad_cursor")
    assert api_client.get(events, cursor=cursors.written("events", 10**40))["items"] == []

    assert code(ApiClient("wrong"), "POST", "/events/1/ack") == (401, "unauthorized")
    assert signed_in.post("/api/v1/events/1/ack").status_code == 401
    assert code(reader, "POST", "/events/1/ack") == (403, "forbidden")
    assert code(api_client, "GET", "/events/1/ack") == (405, "method_not_allowed")
    for unknown in ("1", "0", str(2**63), str(10**40), "-1", "one"):
        assert code(api_client, "POST", f"/events/{unknown}/ack") == (404, "not_found")
    assert not Event.objects.exists()
