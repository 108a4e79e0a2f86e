"""The MCP server at `/mcp`: with the official client, and what a browser or a wrong token gets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests.factories.recalled import KEY, QUESTION, fill
from tests.factories.stores import EmptyStore
from viewer.web import auth

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
Asked = list[tuple[str, dict[str, Any]]]


def texts_of(url: str, token: str, calls: Asked) -> tuple[list[str], list[str]]:
    """The names of the tools, and the answers to these calls."""

    async def talk() -> tuple[list[str], list[str]]:
        async with (
            create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http,
            streamable_http_client(url, http_client=http) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            names = [tool.name for tool in (await session.list_tools()).tools]
            answers = [await session.call_tool(name, arguments) for name, arguments in calls]
            return names, [answer.content[0].text for answer in answers]  # type: ignore[union-attr]

    return asyncio.run(talk())


@pytest.mark.slow
def test_the_official_client_asks_a_running_site(
    live_server: LiveServer, empty_store: EmptyStore, transactional_db: None
) -> None:
    ids = fill(empty_store)
    calls: Asked = [
        ("search_history", {"query": QUESTION, "session": "s"}),
        ("read_history", {"session": "s", "around": ids["key"]}),
        ("compact_session", {"session": "s"}),
        ("search_history", {"query": QUESTION, "session": "none"}),
    ]
    names, answers = texts_of(f"{live_server.url}/mcp", auth.new_token("reader", ["read"]), calls)
    assert "search_history" in names and "compact_session" not in names
    assert "port 5433" in answers[0] and "port is in the notes" not in answers[0]
    assert "[redacted: " in answers[1] and KEY not in answers[1]
    assert "scope compact" in answers[2]
    assert 'There is no session "none"' in answers[3]


# -- without it --------------------------------------------------------------------------------------------------------

Post = Callable[..., Any]


@pytest.fixture
def post(db: None) -> Post:
    token = auth.new_token("reader", ["read"])

    def posted(message: Any = INITIALIZE, client: Client | None = None, **headers: str) -> Any:
        given = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        body = message if isinstance(message, (str, bytes)) else json.dumps(message)
        sent = {name: value for name, value in given.items() if value}
        return (client or Client(enforce_csrf_checks=True)).generic(
            "POST", "/mcp", body, content_type="application/json", headers=sent
        )

    return posted


def test_one_post_is_one_answer_in_json(post: Post) -> None:
    response = post()
    assert (response.status_code, response["Content-Type"]) == (200, "application/json")
    answer = json.loads(response.content)
    assert answer["result"]["serverInfo"]["name"] == "palimpsest"
    assert "search_history" in answer["result"]["instructions"]


@pytest.mark.parametrize("authorization", ["", "Bearer no", "Bearer", "Basic eDp5", "Bearer \xff"])
def test_a_wrong_token_is_refused(post: Post, authorization: str) -> None:
    response = post(Authorization=authorization)
    assert (response.status_code, response["WWW-Authenticate"]) == (401, "Bearer")
    assert response.json()["error"]["code"] == "unauthorized"


def test_a_cookie_is_not_enough(post: Post, signed_in: Client) -> None:
    assert post(client=signed_in, Authorization="").status_code == 401
    assert signed_in.get("/mcp").status_code == 401


def test_a_token_without_reading_is_refused(post: Post) -> None:
    response = post(Authorization=f"Bearer {auth.new_token('writer', ['write'])}")
    assert (response.status_code, response.json()["error"]["code"]) == (403, "forbidden")


def test_pages_of_other_sites_are_refused(post: Post) -> None:
    assert post(Origin="https://evil.example").status_code == 403
    assert post(Origin="null").status_code == 403
    assert post(Origin="http://testserver").status_code == 200


def test_only_post(db: None) -> None:
    client = Client(headers={"Authorization": f"Bearer {auth.new_token('reader', ['read'])}"})
    for method in ("GET", "DELETE", "PUT"):
        response = client.generic(method, "/mcp")
        assert (response.status_code, response["Allow"]) == (405, "POST")


def test_a_large_body_is_refused(post: Post, settings: Settings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000
    response = post("x" * 2_000)
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "null", "\0", b"\xff\xfe", '{"jsonrpc": "2.0", "method": 7}', '"\\ud800"']
)
def test_broken_messages_are_refused(post: Post, body: Any) -> None:
    assert 400 <= post(body).status_code < 500


def test_below_a_path(post: Post, settings: Settings) -> None:
    """As `PALIMPSEST_BASE_PATH` sets it: the server takes the path off."""
    token = auth.new_token("below", ["read"])
    response = Client(headers={"Authorization": f"Bearer {token}", "Accept": "application/json"}).generic(
        "POST", "/mcp", json.dumps(INITIALIZE), content_type="application/json", SCRIPT_NAME="/palimpsest"
    )
    assert response.status_code == 200
