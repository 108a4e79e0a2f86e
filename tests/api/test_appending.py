"""Appending messages by another program."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from viewer.web import auth

pytestmark = pytest.mark.django_db

CALL = {"id": "call_1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}}
TURN = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "look"}], "timestamp": 1.75e9},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "content": "done", "tool_call_id": "call_1", "name": "terminal"},
    ]
}


@pytest.mark.parametrize("version", [21, 31])
def test_a_turn_is_appended_and_read_back(open_hermes_store: Any, api_client: ApiClient, version: int) -> None:
    hermes_store: HermesStore = open_hermes_store(version)
    path, before = f"{session_path(hermes_store)}/messages", hermes_store.live()
    status, answer = api_client.call("POST", path, TURN)
    assert (status, len(answer["ids"])) == (201, 3)
    assert hermes_store.live()[:-3] == before
    items = api_client.get(path, view="live", around=answer["ids"][0], limit=10)["items"][-3:]
    assert [(item["id"], item["role"], item["content"]) for item in items] == [
        (answer["ids"][0], "user", [{"type": "text", "text": "look"}]),
        (answer["ids"][1], "assistant", None),
        (answer["ids"][2], "tool", "done"),
    ]
    assert (items[1]["tool_calls"], items[2]["tool_name"]) == ([CALL], "terminal")
    assert items[0]["timestamp"].startswith("2025-")
    assert api_client.get(session_path(hermes_store))["messages_live"] == len(before) + 3


def test_it_needs_the_scope_to_write(hermes_store: HermesStore, api_client: ApiClient) -> None:
    reader = ApiClient(auth.new_token("reader", ["read", "compact"]))
    assert reader.call("POST", f"{session_path(hermes_store)}/messages", TURN)[0] == 403
    assert reader.call("GET", f"{session_path(hermes_store)}/messages")[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": []},
        {"messages": [{"content": "no role"}]},
        {"messages": [{"role": "oracle", "content": "x"}]},
        {"messages": [{"role": "user", "content": "x", "active": 0}]},
        {"messages": [{"role": "user", "content": "x", "timestamp": -1}]},
        {"messages": [{"role": "user", "content": "x"}] * 501},
    ],
)
def test_what_is_no_message_is_refused(hermes_store: HermesStore, api_client: ApiClient, body: dict[str, Any]) -> None:
    before = hermes_store.live()
    status, answer = api_client.call("POST", f"{session_path(hermes_store)}/messages", body)
    assert (status, answer["error"]["code"]) == (422, "invalid")
    assert hermes_store.live() == before


def test_more_than_a_call_takes_is_refused_with_the_limit(hermes_store: HermesStore, api_client: ApiClient) -> None:
    before = hermes_store.live()
    messages = [{"role": "user", "content": "x" * 2_700_000}]
    status, answer = api_client.call("POST", f"{session_path(hermes_store)}/messages", {"messages": messages})
    assert (status, answer["error"]["code"]) == (413, "too_large")
    assert "at most 2,621,440 bytes" in answer["error"]["message"]
    assert hermes_store.live() == before


def test_refusals(hermes_store: HermesStore, api_client: ApiClient) -> None:
    def refused(path: str) -> tuple[int, str]:
        status, answer = api_client.call("POST", path, TURN)
        return status, answer["error"]["code"]

    before = hermes_store.live()
    assert refused("/stores/hermes/sessions/nobody/messages") == (404, "not_found")
    hermes_store.start_turn()
    assert refused(f"{session_path(hermes_store)}/messages") == (409, "session_busy")
    hermes_store.end_turn()
    hermes_store.rows(
        "UPDATE sessions SET ended_at = 1, end_reason = 'compression' WHERE id = ?", hermes_store.session_id
    )
    assert refused(f"{session_path(hermes_store)}/messages") == (409, "session_ended")
    assert hermes_store.live() == before
