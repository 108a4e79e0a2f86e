"""Tokens, scopes, and the shape of every error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from viewer.stores.registry import all_stores
from viewer.web import auth

pytestmark = pytest.mark.django_db


def code(answer: dict[str, Any]) -> str:
    assert set(answer) == {"error"} and set(answer["error"]) == {"code", "message"}
    return str(answer["error"]["code"])


def test_without_a_token(hermes_store: HermesStore) -> None:
    response = Client().get("/api/v1/stores")
    assert (response.status_code, code(response.json())) == (401, "unauthorized")
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert ApiClient("wrong").call("GET", "/stores")[0] == 401


def test_scopes(hermes_store: HermesStore) -> None:
    read = ApiClient(auth.new_token("reader", ["read"]))
    compact = ApiClient(auth.new_token("compactor", ["compact"]))
    assert read.call("GET", "/stores")[0] == 200
    assert read.call("POST", f"{session_path(hermes_store)}/plan")[0] == 200
    for method, path in [
        ("POST", f"{session_path(hermes_store)}/runs"),
        ("PATCH", session_path(hermes_store)),
        ("POST", "/runs/1/undo"),
    ]:
        status, answer = read.call(method, path)
        assert (status, code(answer)) == (403, "forbidden")
    assert compact.call("GET", "/stores")[0] == 403
    assert compact.call("POST", "/runs/1/undo")[0] == 404


def test_a_signed_in_browser_reads_and_no_more(hermes_store: HermesStore, signed_in: Client) -> None:
    assert signed_in.get("/api/v1/stores").status_code == 200
    assert signed_in.get(f"/api/v1{session_path(hermes_store)}").status_code == 200
    for path in (f"{session_path(hermes_store)}/runs", "/runs/1/undo", f"{session_path(hermes_store)}/plan"):
        assert signed_in.post(f"/api/v1{path}", "{}", content_type="application/json").status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/nothing/here", {}, (404, "not_found")),
        ("GET", "/", {}, (404, "not_found")),
        ("GET", "/runs/one", {}, (404, "not_found")),
        ("GET", "/stores/hermes/sessions/nobody", {}, (404, "not_found")),
        ("GET", "/stores/hermes/sessions/nobody/messages", {}, (404, "not_found")),
        ("GET", "/stores/demo/sessions", {}, (503, "store_unavailable")),
        ("DELETE", "/stores", {}, (405, "method_not_allowed")),
        ("GET", "/stores/hermes/sessions", {"limit": 0}, (422, "invalid")),
        ("GET", "/stores/hermes/sessions", {"limit": 501}, (422, "invalid")),
        ("GET", "/stores/hermes/sessions", {"order": "size"}, (422, "invalid")),
        ("GET", "/stores/hermes/sessions", {"cursor": "abc"}, (422, "bad_cursor")),
        ("GET", "/stores/hermes/sessions", {"cursor": "W10"}, (422, "bad_cursor")),
        ("GET", "/runs", {"cursor": "WyJydW5zIiwgIngiXQ"}, (422, "bad_cursor")),
        ("GET", "/runs", {"limit": "many"}, (422, "invalid")),
    ],
)
def test_errors(
    hermes_store: HermesStore,
    api_client: ApiClient,
    method: str,
    path: str,
    query: dict[str, Any],
    expected: tuple[int, str],
) -> None:
    status, answer = api_client.call(method, path, **query)
    assert (status, code(answer)) == expected


def test_a_body_that_is_no_json(hermes_store: HermesStore, api_client: ApiClient) -> None:
    client = Client(headers={"Authorization": f"Bearer {api_client.token}"})
    response = client.post(f"/api/v1{session_path(hermes_store)}/plan", "{", content_type="application/json")
    assert (response.status_code, code(response.json())) == (400, "bad_request")


def test_what_nobody_expected(
    hermes_store: HermesStore, api_client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(name: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("viewer.api.sessions.get_store", breaks)
    status, answer = api_client.call("GET", session_path(hermes_store))
    assert (status, code(answer)) == (500, "internal")
    assert "ZeroDivisionError" not in json.dumps(answer)


def test_a_file_that_is_no_database(hermes_store: HermesStore, api_client: ApiClient) -> None:
    hermes_store.path.write_bytes(b"no database at all" * 100)
    status, answer = api_client.call("GET", session_path(hermes_store))
    assert (status, code(answer)) == (503, "store_unavailable")
    listed = {store["name"]: store for store in api_client.get("/stores")["items"]}
    assert listed["hermes"]["error"]["code"] == "store_unavailable" and not listed["hermes"]["can_compact"]
    assert set(listed) == {store.name for store in all_stores()}


def test_the_documents_need_nothing_from_elsewhere(db: None) -> None:
    described = Client().get("/api/v1/openapi.json").json()
    assert {"/api/v1/runs/{run_id}/apply", "/api/v1/stores/{store}/sessions/{session_id}/context"} <= set(
        described["paths"]
    )
    page = Client().get("/api/v1/docs").content.decode()
    assert "http:" not in page and "https:" not in page and "<script>" not in page
    for path, calls in described["paths"].items():
        assert page.count(f"</b></code> <code>{path}</code>") == len(calls)
    for shape in described["components"]["schemas"]:
        assert page.count(f'id="{shape}"') == 1
