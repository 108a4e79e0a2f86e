"""What a model should be sent now, and what the agent is told with it: each event once, to one caller."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from compaction.handoff import EVENT_START
from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from tests.workspace_session import AGENTS, WorkspaceSession
from viewer.enforcement import auditing
from viewer.enforcement.models import Audit, Event
from viewer.history import index_cache
from viewer.stores.hermes.paths import get_session
from viewer.stores.hermes.reader import open_store
from viewer.web import auth
from viewer.workspaces.models import StoreRules

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]


def told(workspace_session: WorkspaceSession) -> Any:
    status, context = workspace_session.api_client.call("POST", f"{workspace_session.path}/context")
    assert status == 200, context
    return context


def notes(context: Any) -> list[str]:
    return [message["content"] for message in context["messages"] if message["role"] == "system"]


def test_an_event_is_shown_as_often_as_asked_and_told_once(workspace_session: WorkspaceSession) -> None:
    handoff = workspace_session.compact()
    workspace_session.append({"role": "user", "content": "Where were we?"})
    shown = [workspace_session.api_client.get(f"{workspace_session.path}/context") for _ in range(2)]
    assert [[event["status"] for event in context["events"]] for context in shown] == [["pending"]] * 2
    assert [notes(context) for context in shown] == [[], []]

    context = told(workspace_session)
    (event,) = context["events"]
    assert (event["kind"], event["status"], event["run"]) == ("note", "delivered", handoff["id"])
    assert event["text"].startswith(EVENT_START) and "Never push to main." in event["text"]
    assert context["messages"][-2:] == [
        {"role": "system", "content": event["text"]},
        {"role": "user", "content": "Where were we?"},
    ]
    assert notes(context) == [event["text"]]
    assert [each for each in context["messages"] if each["role"] != "system"] == shown[0]["messages"]
    assert context["tokens"] > shown[0]["tokens"] + len(event["text"]) / 8

    again = told(workspace_session)
    assert (again["events"], again["messages"], again["tokens"]) == ([], shown[0]["messages"], shown[0]["tokens"])
    assert workspace_session.api_client.get(f"{workspace_session.path}/context") == again
    assert workspace_session.events() == [event]


def test_behind_the_messages_where_no_request_waits(workspace_session: WorkspaceSession) -> None:
    workspace_session.compact()
    context = told(workspace_session)
    assert [message["role"] for message in context["messages"][-2:]] == ["assistant", "system"]


def test_where_the_conversation_went_on_in_a_new_session(workspace_session: WorkspaceSession) -> None:
    run = workspace_session.compact(mode="split")
    assert told(workspace_session)["events"] == []
    part = replace(workspace_session, session_id=run["new_session_id"])
    assert [event["session_id"] for event in told(part)["events"]] == [part.session_id]
    assert told(part)["events"] == []


def test_a_warning_is_told_after_the_note_and_nothing_once_all_is_read(workspace_session: WorkspaceSession) -> None:
    workspace_session.compact()
    workspace_session.turn("WORKFLOW.md")
    workspace_session.append({"role": "user", "content": "Go on."})
    context = told(workspace_session)
    assert [event["kind"] for event in context["events"]] == ["note", "warning"]
    assert notes(context) == [event["text"] for event in context["events"]]
    assert context["events"][1]["files"] == ["STYLE.md"] and "STYLE.md" in notes(context)[1]
    workspace_session.compact()
    workspace_session.turn("WORKFLOW.md", "STYLE.md")
    assert [
        event["kind"] for event in workspace_session.api_client.get(f"{workspace_session.path}/context")["events"]
    ] == []


def test_a_turn_that_a_program_appends_is_judged_at_once(workspace_session: WorkspaceSession) -> None:
    """No worker has looked: the warning is there for the program's next question."""
    workspace_session.compact()
    workspace_session.turn("WORKFLOW.md")
    assert Event.objects.filter(kind="warning", status="pending").exists()
    workspace_session.turn("WORKFLOW.md", "STYLE.md", by_agent=True)
    assert workspace_session.api_client.get(f"{workspace_session.path}/audits")["items"][0]["status"] == "passed"
    assert Event.objects.filter(kind="warning", status="pending").exists(), "a GET writes nothing"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_is_over_is_not_told(workspace_session: WorkspaceSession, method: str) -> None:
    """Nobody looked between the turn that read everything and this call."""
    workspace_session.compact()
    workspace_session.turn("WORKFLOW.md", "STYLE.md", by_agent=True)
    assert Event.objects.get().status == "pending"
    assert workspace_session.api_client.call(method, f"{workspace_session.path}/context")[1]["events"] == []
    assert Event.objects.get().status == ("expired" if method == "POST" else "pending"), "a GET writes nothing"


def test_two_calls_at_the_same_time_share_the_events(workspace_session: WorkspaceSession) -> None:
    """One call has read what waits and is about to mark it, when another one gets ahead of it."""
    workspace_session.compact()
    workspace_session.turn("WORKFLOW.md")
    ahead: list[Any] = []

    def overtake(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        # The note is marked by the call itself; before it marks the warning the other call runs from end to end.
        if sql.startswith('UPDATE "runs_event"') and Event.objects.filter(status="delivered").exists() and not ahead:
            ahead.append(None)
            ahead[0] = told(workspace_session)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(overtake):
        late = told(workspace_session)
    shares = [[event["kind"] for event in context["events"]] for context in (late, ahead[0])]
    assert shares == [["note"], ["warning"]]
    assert [len(notes(context)) for context in (late, ahead[0])] == [1, 1]
    assert {notes(late)[0], notes(ahead[0])[0]} == {event["text"] for event in workspace_session.events()}


def test_a_store_that_cannot_be_compacted_here_has_events_all_the_same(
    open_hermes_store: Callable[..., HermesStore], api_client: ApiClient, tmp_path: Path, settings: Settings
) -> None:
    """Of a compaction that the agent made; nothing is written to the agent's database."""
    hermes_store = open_hermes_store(16, "Airline desk, week 30 #4")
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "AGENTS.md").write_text(AGENTS)
    (tmp_path / "ws" / "STYLE.md").write_text("Short.")
    settings.WORKSPACES = [tmp_path]
    StoreRules.objects.create(store="hermes", workspace=str(tmp_path / "ws"))
    with open_store(hermes_store.store) as reader:
        boundaries = index_cache.index_of(reader, get_session(reader, hermes_store.session_id)).compactions
    newest = max(max(boundary.block_ids) for boundary in boundaries)
    hermes_store.rows(
        "DELETE FROM messages WHERE session_id = ? AND id > ?", hermes_store.session_id, newest
    )  # it was just now
    with open_store(hermes_store.store) as reader:
        session = get_session(reader, hermes_store.session_id)
        auditing.look(reader, session, index_cache.index_of(reader, session), arm=True)
    octets = hashlib.sha256(hermes_store.path.read_bytes()).digest()
    path = f"{session_path(hermes_store)}/context"
    assert [event["kind"] for event in api_client.get(path)["events"]] == ["note"]
    assert [event["files"] for event in api_client.call("POST", path)[1]["events"]] == [["STYLE.md"]]
    assert api_client.call("POST", path)[1]["events"] == []
    assert hashlib.sha256(hermes_store.path.read_bytes()).digest() == octets


def test_refusals(hermes_store: HermesStore, api_client: ApiClient, signed_in: Client) -> None:
    path = f"{session_path(hermes_store)}/context"
    reader, writer = (ApiClient(auth.new_token(scope, [scope])) for scope in ("read", "write"))

    def code(by: ApiClient, method: str, address: str) -> tuple[int, str]:
        status, answer = by.call(method, address)
        return status, answer["error"]["code"]

    assert code(ApiClient("wrong"), "POST", path) == (401, "unauthorized")
    assert code(reader, "POST", path) == (403, "forbidden")
    assert code(writer, "GET", path) == (403, "forbidden")
    assert (reader.call("GET", path)[0], writer.call("POST", path)[0]) == (200, 200)
    assert signed_in.get(f"/api/v1{path}").status_code == 200
    assert signed_in.post(f"/api/v1{path}").status_code == 401, "a cookie alone must not tell an event"
    assert code(api_client, "PUT", path) == (405, "method_not_allowed")
    for method in ("GET", "POST"):
        assert code(api_client, method, "/stores/nowhere/sessions/nobody/context") == (404, "not_found")
        assert code(api_client, method, "/stores/hermes/sessions/nobody/context") == (404, "not_found")


def test_more_events_mean_no_more_statements(workspace_session: WorkspaceSession) -> None:
    workspace_session.compact()
    told(workspace_session)
    counts = []
    for more in (2, 20):
        for at in range(more):
            audit = Audit.objects.create(
                store="hermes",
                session_id=workspace_session.session_id,
                handoff_id=-(more + at),
                compacted_at=1,
                after=1,
                settled=True,
            )
            Event.objects.create(
                audit=audit, store="hermes", session_id=workspace_session.session_id, kind="note", status="expired"
            )
        for method, path in [("GET", "context"), ("POST", "context"), ("GET", "events"), ("GET", "audits")]:
            with CaptureQueriesContext(connection) as queries:
                status, answer = workspace_session.api_client.call(method, f"{workspace_session.path}/{path}")
            assert status == 200 and (path == "context" or len(answer["items"]) > more)
            counts.append((method, path, len(queries)))
    assert counts[:4] == counts[4:]
