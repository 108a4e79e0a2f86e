"""What the API shows of real databases."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.clients import ApiClient, session_path, walk
from tests.factories.session_lists import settle
from tests.factories.stores import HermesStore
from viewer.catalog import sync_worker

pytestmark = pytest.mark.django_db

SESSION_FIELDS = {
    "id", "address", "store", "title", "name", "source", "model", "started_at", "last_active", "active",
    "messages_live", "sends_otherwise", "untried_version",
    "messages_total", "tokens_live", "context_window", "compactions", "parent", "parts", "archived", "can_compact",
    "compact_reason", "cwd", "git_branch", "cost", "cost_is_least",
}  # fmt: skip
COMPACTION_FIELDS = {
    "at", "by", "messages_before", "messages_after", "tokens_before", "tokens_after", "summary", "boundary_message_id",
    "handoff_id", "summarised_ids", "kept_ids", "shortened_ids", "run", "undoable", "rules", "audit",
    "details", "statements", "unsure", "reported",
}  # fmt: skip


def test_sessions(hermes_store: HermesStore, api_client: ApiClient) -> None:
    assert {
        item["messages_total"] for item in walk(api_client, "/stores/hermes/sessions", limit=500, compacted=True)
    } == {None}
    sync_worker.sync_all()
    everything = walk(api_client, "/stores/hermes/sessions", limit=500)
    assert len(everything) == 10
    assert set(everything[0]) == SESSION_FIELDS
    assert walk(api_client, "/stores/hermes/sessions", limit=3) == everything

    week = api_client.get(session_path(hermes_store))
    assert week | {"sends_otherwise": None, "untried_version": None} in everything
    assert (week["title"], week["messages_total"], week["compactions"]) == ("Airline desk, week 29", 124, 2)
    assert week["messages_live"] == len(hermes_store.live())
    assert 0 < week["tokens_live"] < week["context_window"]
    assert (week["can_compact"], week["compact_reason"], week["active"]) == (True, "", False)
    assert week["started_at"].endswith("Z")
    assert week["name"] == week["title"]
    assert all(item["name"] for item in everything)


def test_more_sessions_in_a_list_mean_no_more_statements(
    hermes_store: HermesStore, api_client: ApiClient, statements: list[str]
) -> None:
    settle()
    sync_worker.sync_all()
    api_client.get("/stores/hermes/sessions")  # notes that the token was used
    counts = []
    for limit in (2, 9):
        statements.clear()
        with CaptureQueriesContext(connection) as queries:
            assert len(api_client.get("/stores/hermes/sessions", limit=limit)["items"]) == limit
        counts.append((len(statements), len(queries)))
    assert counts[0] == counts[1]


def test_sessions_are_narrowed_and_ordered(hermes_store: HermesStore, api_client: ApiClient) -> None:
    found = api_client.get("/stores/hermes/sessions", q="merged carrier")["items"]
    assert [session["title"].startswith("Merged carrier") for session in found] == [True, True]
    compacted = api_client.get("/stores/hermes/sessions", compacted="true")["items"]
    assert {session["id"] for session in found} < {session["id"] for session in compacted}
    by_size = walk(api_client, "/stores/hermes/sessions", order="messages", limit=5)
    assert [session["messages_live"] for session in by_size] == sorted(
        (session["messages_live"] for session in by_size), reverse=True
    )
    assert api_client.call("GET", "/stores/hermes/sessions", order="messages", cursor=api_client.get(
        "/stores/hermes/sessions", order="recent", limit=1)["next"])[1]["error"]["code"] == "bad_cursor"  # fmt: skip


@pytest.mark.parametrize(("version", "before", "after"), [(21, [84, 53], [29, 28]), (31, [84, 53], [29, 24])])
def test_compactions(
    open_hermes_store: Callable[[int], HermesStore],
    api_client: ApiClient,
    version: int,
    before: list[int],
    after: list[int],
) -> None:
    hermes_store = open_hermes_store(version)
    answer = api_client.get(f"{session_path(hermes_store)}/compactions")
    assert answer["next"] is None
    assert [set(item) == COMPACTION_FIELDS for item in answer["items"]] == [True, True]
    assert [item["messages_before"] for item in answer["items"]] == before
    assert [item["messages_after"] for item in answer["items"]] == after
    assert [(item["by"], item["run"], item["undoable"]) for item in answer["items"]] == [
        ("by Hermes", None, False),
        ("by Hermes", None, True),
    ]
    for item in answer["items"]:
        assert item["tokens_after"] < item["tokens_before"]
        assert item["summary"] and not item["summary"].startswith("[CONTEXT")
        assert (item["rules"], item["audit"]) == ("", None)


@pytest.mark.parametrize("version", [21, 31])
def test_a_walk_through_history_gives_each_message_once(
    open_hermes_store: Callable[[int], HermesStore], api_client: ApiClient, version: int
) -> None:
    hermes_store = open_hermes_store(version)
    items = walk(api_client, f"{session_path(hermes_store)}/messages", limit=50)
    messages = [item for item in items if item["kind"] == "message"]
    handoffs = [item for item in items if item["kind"] == "handoff"]
    assert (len(messages), len(handoffs)) == (124, 2)
    assert len({item["id"] for item in messages}) == 124
    assert len({row for item in messages for row in item["rows"]}) == sum(len(item["rows"]) for item in messages)
    compactions = api_client.get(f"{session_path(hermes_store)}/compactions")["items"]
    assert [item["summary"] for item in handoffs] == [item["summary"] for item in compactions]
    for handoff, compaction in zip(handoffs, compactions, strict=True):
        assert items[items.index(handoff) + 1]["id"] == compaction["boundary_message_id"]
    assert {item["state"] for item in messages} == {"live", "under"}
    shortened = {item["id"] for item in messages if item["shortened"]}
    assert shortened and all(
        item["state"] == "live" or item["id"] in shortened for item in messages if item["shortened"]
    )


def test_around_a_row(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path = f"{session_path(hermes_store)}/messages"
    everything = [item["id"] for item in walk(api_client, path, limit=500) if item["kind"] == "message"]
    wanted = everything[60]
    page = [item["id"] for item in api_client.get(path, around=wanted, limit=11)["items"] if item["kind"] == "message"]
    assert page == everything[55:66]
    assert api_client.call("GET", path, around=10**9)[0] == 404


def test_live_and_raw(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path = f"{session_path(hermes_store)}/messages"
    live = walk(api_client, path, view="live", limit=15)
    assert [item["role"] for item in live if item["kind"] == "handoff"] == ["user"]
    ids = list(dict.fromkeys(item["id"] for item in live))
    assert ids == [row[0] for row in hermes_store.rows(
        "SELECT id FROM messages WHERE session_id = ? AND active = 1 ORDER BY id",
        hermes_store.session_id)]  # fmt: skip
    raw = walk(api_client, path, view="raw", limit=500)
    assert [item["id"] for item in raw] == [
        row[0]
        for row in hermes_store.rows(
            "SELECT id FROM messages WHERE session_id = ? ORDER BY id", hermes_store.session_id
        )
    ]
    assert {item["state"] for item in raw} == {"live", "under", "out"}


def test_context_is_what_a_model_should_be_sent(hermes_store: HermesStore, api_client: ApiClient) -> None:
    context = api_client.get(f"{session_path(hermes_store)}/context")
    assert set(context) == {
        "session", "system", "messages", "tokens", "note_tokens", "events", "sends_otherwise",
    }  # fmt: skip
    assert [(message["role"], message["content"]) for message in context["messages"]] == [
        (role, content) for role, content, _, _ in hermes_store.live()
    ]
    assert {key for message in context["messages"] for key in message} == {
        "role", "content", "tool_calls", "tool_call_id",
    }  # fmt: skip
    assert context["tokens"] == api_client.get(session_path(hermes_store))["tokens_live"]


def test_a_store_that_cannot_compact_says_why(
    open_hermes_store: Callable[..., HermesStore], api_client: ApiClient
) -> None:
    hermes_store = open_hermes_store(16, "Airline desk, week 30 #4")
    stores = {store["name"]: store for store in api_client.get("/stores")["items"]}
    assert not stores["hermes"]["can_compact"] and "schema 16" in stores["hermes"]["compact_reason"]
    assert stores["demo"]["error"]["code"] == "store_unavailable"
    week = api_client.get(session_path(hermes_store))
    assert (week["parts"], week["can_compact"]) == (4, False)
    assert week["compact_reason"] == stores["hermes"]["compact_reason"]
    for path in ("plan", "runs"):
        status, answer = api_client.call("POST", f"{session_path(hermes_store)}/{path}")
        assert (status, answer["error"]["code"]) == (409, "store_read_only")
        assert answer["error"]["message"] == week["compact_reason"]


def test_rename_and_archive(hermes_store: HermesStore, api_client: ApiClient) -> None:
    status, session = api_client.call("PATCH", session_path(hermes_store), {"title": "Refunds", "archived": True})
    assert (status, session["title"], session["archived"]) == (200, "Refunds", True)
    assert hermes_store.rows("SELECT title, archived FROM sessions WHERE id = ?", hermes_store.session_id) == [
        ("Refunds", 1)
    ]
    assert session["id"] not in [item["id"] for item in api_client.get("/stores/hermes/sessions", limit=100)["items"]]
    assert api_client.call("PATCH", session_path(hermes_store), {"title": "much too long " * 9})[0] == 422
    (taken,) = hermes_store.rows("SELECT title FROM sessions WHERE title LIKE 'Merged%' LIMIT 1")
    status, answer = api_client.call("PATCH", session_path(hermes_store), {"title": taken[0]})
    assert (status, set(answer)) == (409, {"error"})


def test_health_needs_no_token(db: None) -> None:
    assert Client().get("/api/v1/health").json()["status"] == "ok"


@pytest.mark.parametrize("version", [21, 31])
@pytest.mark.parametrize("view", ["history", "live"])
def test_a_merged_carrier_is_a_handoff_and_a_message(
    open_hermes_store: Callable[[int], HermesStore], api_client: ApiClient, version: int, view: str
) -> None:
    hermes_store = open_hermes_store(version)
    carriers = api_client.get("/stores/hermes/sessions", q="merged carrier")["items"]
    assert len(carriers) == 2
    for session in carriers:
        items = walk(api_client, f"/stores/hermes/sessions/{session['id']}/messages", view=view)
        (handoff,) = [item for item in items if item["kind"] == "handoff"]
        (stored,) = hermes_store.rows("SELECT role, tool_calls FROM messages WHERE id = ?", handoff["id"])
        live = next(item for item in items if item["kind"] == "message" and handoff["id"] in item["rows"])
        assert live["role"] == stored[0] and bool(live["tool_calls"]) == bool(stored[1])
        assert live["content"] or live["tool_calls"]
        assert handoff["summary"] and handoff["summary"] not in str(live["content"])


def test_what_is_changed_by_a_call_is_listed_so_at_once(hermes_store: HermesStore, api_client: ApiClient) -> None:
    """A session that comes out of the archive leaves no new row, and nobody looks at a line that is not listed."""
    sync_worker.sync_all()
    for archived in (True, False):
        assert (
            api_client.call("PATCH", session_path(hermes_store), {"archived": archived, "title": f"quagga {archived}"})[
                0
            ]
            == 200
        )
        found = [item["title"] for item in api_client.get("/stores/hermes/sessions", q="quagga")["items"]]
        assert found == ([] if archived else ["quagga False"])
