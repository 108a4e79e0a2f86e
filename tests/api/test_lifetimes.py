"""Sessions created and deleted by another program."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.clients import ApiClient, session_path
from tests.factories.stores import HermesStore
from viewer.catalog.models import SessionIndex
from viewer.demo import ensure_demo
from viewer.history.models import PackedHistory
from viewer.runs.models import OPEN_STATUSES, Run
from viewer.web import auth

pytestmark = pytest.mark.django_db

SAID = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hello!"}]


@pytest.fixture
def demo(tmp_path: Path, settings: Settings) -> Path:
    """The demo store, the only one that is this site's own."""
    settings.STORES = {}
    settings.DEMO_STORE = tmp_path / "demo.db"
    ensure_demo(settings.DEMO_STORE)
    return tmp_path / "demo.db"


def run_of(session_id: str, status: str) -> Run:
    return Run.objects.create(
        store="demo", session_id=session_id, status=status, strategy="prune", summarizer="none", apply=True
    )


@pytest.mark.parametrize("version", [16, 21, 31])
def test_a_session_is_created_listed_and_gone_on_with(
    open_hermes_store: Callable[..., HermesStore], api_client: ApiClient, version: int
) -> None:
    open_hermes_store(version, *(["Airline desk, week 30"] if version == 16 else []))
    body = {"title": "From outside", "source": "script", "model": "gpt-4o", "cwd": "/tmp", "messages": SAID}
    status, made = api_client.call("POST", "/stores/hermes/sessions", body)
    assert (status, made["title"], made["source"], made["messages_live"]) == (201, "From outside", "script", 2)
    path = f"/stores/hermes/sessions/{made['id']}"
    assert api_client.get(path)["id"] == made["id"]
    assert [item["content"] for item in api_client.get(f"{path}/messages")["items"]] == ["hello", "Hello!"]
    assert made["id"] in [item["id"] for item in api_client.get("/stores/hermes/sessions", q="outside")["items"]]
    assert api_client.call("POST", f"{path}/messages", {"messages": SAID[:1]})[0] == 201
    assert api_client.get(path)["messages_live"] == 3


def test_an_empty_session_needs_nothing(hermes_store: HermesStore, api_client: ApiClient) -> None:
    status, made = api_client.call("POST", "/stores/hermes/sessions")
    assert (status, made["messages_live"], made["source"], made["title"]) == (201, 0, "api", "")


def test_it_refuses_in_plain_words(
    hermes_store: HermesStore, api_client: ApiClient, settings: Settings, tmp_path: Path
) -> None:
    before = hermes_store.rows("SELECT COUNT(*) FROM sessions")
    taken = api_client.call("POST", "/stores/hermes/sessions", {"title": "Airline desk, week 29"})
    assert taken[0] == 409 and taken[1]["error"]["code"] == "title_taken"
    for body in (
        {"titel": "x"},
        {"title": "x" * 101},
        {"source": ""},
        {"messages": [{"role": "oracle", "content": "x"}]},
        {"messages": SAID * 251},
    ):
        status, answer = api_client.call("POST", "/stores/hermes/sessions", body)
        assert (status, answer["error"]["code"]) == (422, "invalid")
    assert api_client.call("POST", "/stores/nowhere/sessions")[0] == 404
    reader = ApiClient(auth.new_token("reader", ["read", "compact"]))
    assert reader.call("POST", "/stores/hermes/sessions")[0] == 403
    assert reader.call("DELETE", session_path(hermes_store))[0] == 403
    hermes_store.rows("CREATE TRIGGER messages_fts_cjk_insert AFTER INSERT ON messages BEGIN SELECT 1; END")
    status, answer = api_client.call("POST", "/stores/hermes/sessions")
    assert (status, answer["error"]["code"]) == (409, "store_read_only")
    assert hermes_store.rows("SELECT COUNT(*) FROM sessions") == before


def test_an_agents_session_is_not_ours_to_delete(hermes_store: HermesStore, api_client: ApiClient) -> None:
    before = hermes_store.live()
    status, answer = api_client.call("DELETE", session_path(hermes_store))
    assert (status, answer["error"]["code"]) == (409, "not_ours")
    assert hermes_store.live() == before


@pytest.mark.slow
def test_a_session_of_ours_goes_with_all_that_is_known_of_it(demo: Path, api_client: ApiClient) -> None:
    made: dict[str, Any] = api_client.call("POST", "/stores/demo/sessions", {"title": "To go", "messages": SAID})[1]
    path = f"/stores/demo/sessions/{made['id']}"
    api_client.get(f"{path}/messages")
    api_client.get("/stores/demo/sessions")
    run_of(made["id"], "applied")
    kept = run_of("another", "applied")
    assert SessionIndex.objects.filter(session_id=made["id"]).exists()
    open_run = run_of(made["id"], "queued")
    for running in sorted(OPEN_STATUSES):
        Run.objects.filter(pk=open_run.pk).update(status=running)
        status, answer = api_client.call("DELETE", path)
        assert (status, answer["error"]["code"]) == (409, "session_busy")
        assert str(open_run.pk) in answer["error"]["message"] and api_client.get(path)
    Run.objects.filter(pk=open_run.pk).update(status="cancelled")
    assert api_client.call("DELETE", path) == (200, {"ids": [made["id"]]})
    assert api_client.call("GET", path)[0] == 404 and api_client.call("DELETE", path)[0] == 404
    assert list(Run.objects.values_list("pk", flat=True)) == [kept.pk]
    assert not SessionIndex.objects.filter(session_id=made["id"]).exists()
    assert not PackedHistory.objects.filter(session_id=made["id"]).exists()
    assert made["id"] not in [item["id"] for item in api_client.get("/stores/demo/sessions", limit=500)["items"]]
    with closing(sqlite3.connect(demo)) as con:
        assert con.execute("SELECT COUNT(*) FROM messages WHERE session_id = ?", [made["id"]]).fetchone() == (0,)
