"""What the API says of itself: every error is JSON, choices and types are named, nothing is read laxly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "runs/1%0A/undo", 404),
        ("POST", "runs/1%0D%0A/undo", 404),
        ("GET", "%0A", 404),
        ("GET", "nothing%0Ahere/%FF%00", 404),
        ("GET", "", 404),
        ("GET", "stores/hermes%0A/sessions", 404),
        ("GET", "stores/hermes/sessions/%2e%2e%2f%0a", 404),
        ("GET", "stores/hermes/sessions/%FF%FE", 404),
        ("GET", "stores/hermes/sessions/a%2Fb", 404),
        ("GET", "runs/99999999999999999999999999", 404),
        ("GET", "../v2/stores", 404),
        ("GET", "../v1%0A", 404),
        ("BREW", "stores", 405),
        ("PUT", "stores/hermes/sessions", 405),
        ("DELETE", "runs/1", 405),
        ("BREW", "nothing", 405),
        ("BREW", "runs/1%0A/undo", 405),
        ("POST", "stores/hermes/sessions", 400),
    ],
)
def test_every_error_is_json(
    hermes_store: HermesStore, api_client: ApiClient, method: str, path: str, status: int
) -> None:
    client = Client(headers={"Authorization": f"Bearer {api_client.token}"}, raise_request_exception=False)
    body, kind = (b'{"title": "\xff\xfe"}', "application/json; charset=nonsense") if status == 400 else (b"", "")
    answer = client.generic(method, f"/api/v1/{path}", body, content_type=kind)
    assert (answer.status_code, answer.headers["Content-Type"].partition(";")[0]) == (status, "application/json")
    assert set(answer.json()["error"]) == {"code", "message"}


@pytest.mark.parametrize("value", [0, 1, "true", "no", None, 1.0, []])
@pytest.mark.parametrize("name", ["apply", "rules"])
def test_yes_and_no_are_booleans(hermes_store: HermesStore, api_client: ApiClient, name: str, value: Any) -> None:
    before = hermes_store.live()
    status, answer = api_client.call("POST", f"{session_path(hermes_store)}/runs", {name: value})
    assert (status, answer["error"]["code"]) == (422, "invalid")
    assert answer["error"]["message"] == f"body.{name}: Input should be a valid boolean"
    assert hermes_store.live() == before and api_client.get("/runs")["items"] == []


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", "", {"archived": 0}),
        ("POST", "/runs", {"keep_last": True}),
        ("POST", "/runs", {"keep_last": "4"}),
        ("POST", "/branches", {"before": "7"}),
        ("POST", "/messages", {"messages": [{"role": "user", "content": "x", "timestamp": "1.8e9"}]}),
    ],
)
def test_a_value_of_another_type_is_refused(
    hermes_store: HermesStore, api_client: ApiClient, method: str, path: str, body: Any
) -> None:
    status, answer = api_client.call(method, session_path(hermes_store) + path, body)
    assert (status, answer["error"]["code"]) == (422, "invalid")


def test_the_document_names_the_choices_and_types(client: Client, db: None) -> None:
    document = json.loads(client.get("/api/v1/openapi.json").content)
    run = document["components"]["schemas"]["RunIn"]["properties"]
    choices = {name: run[name]["anyOf"][0]["enum"] for name in ("strategy", "mode")}
    assert choices == {"strategy": ["summary", "prune", "mask"], "mode": ["in_place", "split"]}
    assert run["summarizer"]["enum"] == ["offline", "openai", "anthropic"]
    exported = document["paths"]["/api/v1/stores/{store}/sessions/{session_id}/export"]["get"]["responses"]["200"]
    assert {kind: shape["schema"]["type"] for kind, shape in exported["content"].items()} == {
        "text/markdown": "string",
        "text/html": "string",
        "application/json": "object",
        "application/x-ndjson": "string",
    }


def test_a_whole_number_may_be_written_with_a_point(hermes_store: HermesStore, api_client: ApiClient) -> None:
    assert api_client.call("POST", f"{session_path(hermes_store)}/plan", {"keep_last": 4.0})[0] == 200
    for value in (4.5, 0.0, 1e300):
        assert api_client.call("POST", f"{session_path(hermes_store)}/plan", {"keep_last": value})[0] == 422


@pytest.mark.parametrize("choice", [{"strategy": "x"}, {"mode": "x"}, {"summarizer": "x"}])
def test_an_unknown_choice_is_named_as_before(
    hermes_store: HermesStore, api_client: ApiClient, choice: dict[str, str]
) -> None:
    status, answer = api_client.call("POST", f"{session_path(hermes_store)}/runs", choice)
    assert (status, answer["error"]["code"]) == (422, "unknown_choice")


def test_the_document_is_made_once(client: Client, db: None) -> None:
    from viewer.api import api

    client.get("/api/v1/openapi.json")
    assert api.get_openapi_schema() is api.get_openapi_schema()
    assert client.get("/api/v1/openapi.json").content == client.get("/api/v1/openapi.json").content
