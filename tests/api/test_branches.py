"""A branch by another program."""

from __future__ import annotations

import pytest

from tests.clients import Tool, session_path
from tests.factories.stores import Desk
from viewer import access

pytestmark = pytest.mark.django_db(transaction=True)


def test_before_a_compaction_and_now(desk: Desk, tool: Tool) -> None:
    path, before = session_path(desk), desk.live()
    parent, first = tool.get(path), tool.get(f"{path}/compactions")["items"][0]

    status, made = tool.call("POST", f"{path}/branches", {"before": first["handoff_id"]})
    assert (status, set(made)) == (201, {*parent, "resume"})
    assert (made["parent"], made["messages_live"], made["compactions"], made["parts"]) == (
        desk.session_id,
        first["messages_before"],
        0,
        1,
    )
    assert (made["title"], made["resume"]) == (
        "Airline desk, week 29 (branch)",
        f"hermes --resume {made['id']}",
    )
    assert made["tokens_live"] == first["tokens_before"]
    assert tool.get(f"/stores/hermes/sessions/{made['id']}") == {k: v for k, v in made.items() if k != "resume"}
    prompt = tool.get(f"{path}/context")["system"]
    assert tool.get(f"/stores/hermes/sessions/{made['id']}/context")["system"] == prompt

    for body in ({}, {"before": None}):
        status, made = tool.call("POST", f"{path}/branches", body)
        assert (status, made["messages_live"]) == (201, parent["messages_live"])
    assert desk.live() == before and tool.get(path) == parent


def test_refusals(desk: Desk, tool: Tool) -> None:
    path = session_path(desk)
    sessions = desk.rows("SELECT * FROM sessions")

    def refusal(session: str, body: object) -> tuple[int, str]:
        status, answer = tool.call("POST", f"{session}/branches", body)
        return status, answer["error"]["code"]

    assert refusal(path, {"before": 5}) == (404, "not_found")
    assert refusal("/stores/hermes/sessions/nobody", {}) == (404, "not_found")
    assert refusal(path, {"befor": 5}) == (422, "invalid")
    desk.rows("UPDATE messages SET active = 0 WHERE session_id = ?", desk.session_id)
    assert refusal(path, {}) == (409, "not_branchable")
    assert desk.rows("SELECT * FROM sessions") == sessions


def test_it_needs_the_scope_to_write(desk: Desk) -> None:
    for scope, status in (("read", 403), ("compact", 403), ("write", 201)):
        token = access.new_token(scope, [scope])
        assert Tool(token).call("POST", f"{session_path(desk)}/branches", {})[0] == status
