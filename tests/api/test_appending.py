"""Appending messages by another program."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients import Tool, session_path
from tests.factories.stores import Desk
from viewer import access

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
def test_a_turn_is_appended_and_read_back(open_desk: Any, tool: Tool, version: int) -> None:
    desk: Desk = open_desk(version)
    path, before = f"{session_path(desk)}/messages", desk.live()
    status, answer = tool.call("POST", path, TURN)
    assert (status, len(answer["ids"])) == (201, 3)
    assert desk.live()[:-3] == before
    items = tool.get(path, view="live", around=answer["ids"][0], limit=10)["items"][-3:]
    assert [(item["id"], item["role"], item["content"]) for item in items] == [
        (answer["ids"][0], "user", [{"type": "text", "text": "look"}]),
        (answer["ids"][1], "assistant", None),
        (answer["ids"][2], "tool", "done"),
    ]
    assert (items[1]["tool_calls"], items[2]["tool_name"]) == ([CALL], "terminal")
    assert items[0]["timestamp"].startswith("2025-")
    assert tool.get(session_path(desk))["messages_live"] == len(before) + 3


def test_it_needs_the_scope_to_write(desk: Desk, tool: Tool) -> None:
    reader = Tool(access.new_token("reader", ["read", "compact"]))
    assert reader.call("POST", f"{session_path(desk)}/messages", TURN)[0] == 403
    assert reader.call("GET", f"{session_path(desk)}/messages")[0] == 200


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
def test_what_is_no_message_is_refused(desk: Desk, tool: Tool, body: dict[str, Any]) -> None:
    before = desk.live()
    status, answer = tool.call("POST", f"{session_path(desk)}/messages", body)
    assert (status, answer["error"]["code"]) == (422, "invalid")
    assert desk.live() == before


def test_more_than_a_call_takes_is_refused_with_the_limit(desk: Desk, tool: Tool) -> None:
    before = desk.live()
    messages = [{"role": "user", "content": "x" * 2_700_000}]
    status, answer = tool.call("POST", f"{session_path(desk)}/messages", {"messages": messages})
    assert (status, answer["error"]["code"]) == (413, "too_large")
    assert "at most 2,621,440 bytes" in answer["error"]["message"]
    assert desk.live() == before


def test_refusals(desk: Desk, tool: Tool) -> None:
    def refused(path: str) -> tuple[int, str]:
        status, answer = tool.call("POST", path, TURN)
        return status, answer["error"]["code"]

    before = desk.live()
    assert refused("/stores/hermes/sessions/nobody/messages") == (404, "not_found")
    desk.start_turn()
    assert refused(f"{session_path(desk)}/messages") == (409, "session_busy")
    desk.end_turn()
    desk.rows("UPDATE sessions SET ended_at = 1, end_reason = 'compression' WHERE id = ?", desk.session_id)
    assert refused(f"{session_path(desk)}/messages") == (409, "session_ended")
    assert desk.live() == before
