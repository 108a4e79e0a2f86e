"""A session as a file over the API: the same files as the page's, for whoever may read."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from tests.slow import slow
from viewer.exports import CONTENT_TYPES
from viewer.web import auth

pytestmark = pytest.mark.django_db

KEY = "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYabcd"


def fetch(api_client: ApiClient, hermes_store: HermesStore, **query: str) -> tuple[int, bytes, str, str]:
    client = Client(headers={"Authorization": f"Bearer {api_client.token}"})
    answer = client.get(f"/api/v1{session_path(hermes_store)}/export", query)
    body = b"".join(answer) if answer.streaming else answer.content
    headers = answer.headers
    return answer.status_code, body, headers["Content-Type"], headers.get("Content-Disposition", "")


@pytest.mark.parametrize("format", list(CONTENT_TYPES))
@pytest.mark.parametrize("view", ["history", *slow("live", "raw")])
def test_any_view_in_any_format_redacted_unless_told_otherwise(
    hermes_store: HermesStore, api_client: ApiClient, format: str, view: str
) -> None:
    hermes_store.append(f"my key is {KEY}")
    status, body, kind, named = fetch(api_client, hermes_store, format=format, view=view)
    assert (status, kind) == (200, CONTENT_TYPES[format])  # type: ignore[index]
    assert named.startswith("attachment") and f"{hermes_store.session_id}.{format}" in named
    assert KEY.encode() not in body and b"redacted: GitHub token" in body
    assert KEY.encode() in fetch(api_client, hermes_store, format=format, view=view, redact="0")[1]
    assert KEY.encode() in fetch(api_client, hermes_store, format=format, view=view, mask="0")[1], (
        "its name until December 2027"
    )


def test_without_choices_it_is_the_history_as_json(hermes_store: HermesStore, api_client: ApiClient) -> None:
    found = json.loads(fetch(api_client, hermes_store)[1])
    assert (found["view"], found["masked"], found["session"]["id"]) == ("history", True, hermes_store.session_id)
    messages = [each for each in found["messages"] if each["kind"] == "message"]
    assert len(messages) == api_client.get(session_path(hermes_store))["messages_total"]
    first = api_client.get(f"{session_path(hermes_store)}/messages", limit=1)["items"][0]
    shared = first.keys() & messages[0].keys() - {"timestamp"}
    assert {"id", "kind", "role", "content", "tool_calls", "state", "rows"} <= shared
    assert {name: messages[0][name] for name in shared} == {name: first[name] for name in shared}


def test_refusals_are_json(hermes_store: HermesStore, api_client: ApiClient) -> None:
    for query in ({"format": "exe"}, {"view": "x"}, {"redact": "perhaps"}):
        status, body, kind, _ = fetch(api_client, hermes_store, **query)
        assert (status, json.loads(body)["error"]["code"]) == (422, "invalid") and "json" in kind
    assert api_client.call("GET", "/stores/hermes/sessions/none/export")[0] == 404
    writer = ApiClient(auth.new_token("writer", ["write"]))
    assert fetch(writer, hermes_store)[0] == 403 and fetch(ApiClient("none"), hermes_store)[0] == 401


def test_the_document_of_the_api_names_the_calls(api_client: ApiClient) -> None:
    paths = Client().get("/api/v1/openapi.json").json()["paths"]
    session = "/api/v1/stores/{store}/sessions/{session_id}"
    assert {"get", "post"} <= paths["/api/v1/stores/{store}/sessions"].keys()
    assert {"get", "patch", "delete"} <= paths[session].keys()
    assert "application/x-ndjson" in paths[f"{session}/export"]["get"]["responses"]["200"]["content"]
