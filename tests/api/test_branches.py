"""A branch by another program."""

from __future__ import annotations

import pytest

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from viewer.web import auth

pytestmark = pytest.mark.django_db(transaction=True)


def test_before_a_compaction_and_now(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path, before = session_path(hermes_store), hermes_store.live()
    parent, first = api_client.get(path), api_client.get(f"{path}/compactions")["items"][0]

    status, made = api_client.call("POST", f"{path}/branches", {"before": first["handoff_id"]})
    assert (status, set(made)) == (201, {*parent, "resume"})
    assert (made["parent"], made["messages_live"], made["compactions"], made["parts"]) == (
        hermes_store.session_id,
        first["messages_before"],
        0,
        1,
    )
    assert (made["title"], made["resume"]) == (
        "Airline desk, week 29 (branch)",
        f"hermes --resume {made['id']}",
    )
    assert made["tokens_live"] == first["tokens_before"]
    assert api_client.get(f"/stores/hermes/sessions/{made['id']}") == {k: v for k, v in made.items() if k != "resume"}
    prompt = api_client.get(f"{path}/context")["system"]
    assert api_client.get(f"/stores/hermes/sessions/{made['id']}/context")["system"] == prompt

    for body in ({}, {"before": None}):
        status, made = api_client.call("POST", f"{path}/branches", body)
        assert (status, made["messages_live"]) == (201, parent["messages_live"])
    assert hermes_store.live() == before and api_client.get(path) == parent


def test_refusals(hermes_store: HermesStore, api_client: ApiClient) -> None:
    path = session_path(hermes_store)
    sessions = hermes_store.rows("SELECT * FROM sessions")

    def refusal(session: str, body: object) -> tuple[int, str]:
        status, answer = api_client.call("POST", f"{session}/branches", body)
        return status, answer["error"]["code"]

    assert refusal(path, {"before": 5}) == (404, "not_found")
    assert refusal("/stores/hermes/sessions/nobody", {}) == (404, "not_found")
    assert refusal(path, {"befor": 5}) == (422, "invalid")
    hermes_store.rows("UPDATE messages SET active = 0 WHERE session_id = ?", hermes_store.session_id)
    assert refusal(path, {}) == (409, "not_branchable")
    assert hermes_store.rows("SELECT * FROM sessions") == sessions


def test_it_needs_the_scope_to_write(hermes_store: HermesStore) -> None:
    for scope, status in (("read", 403), ("compact", 403), ("write", 201)):
        token = auth.new_token(scope, [scope])
        assert ApiClient(token).call("POST", f"{session_path(hermes_store)}/branches", {})[0] == status
