"""Search over the API."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tests.clients import ApiClient, walk
from tests.factories.stores import HermesStore
from viewer.stores.hermes import candidates, schema

pytestmark = pytest.mark.django_db

HIT_FIELDS = {
    "id", "session", "address", "session_title", "source", "kind", "role", "timestamp", "state", "snippet",
}  # fmt: skip
PATH = "/stores/hermes/search"


def test_works(hermes_store: HermesStore, api_client: ApiClient) -> None:
    answer = api_client.get(PATH, q="reservation", limit=10)
    assert set(answer) == {"items", "next", "complete", "looked", "notes", "broken"}
    assert len(answer["items"]) == 10
    for hit in answer["items"]:
        assert set(hit) == HIT_FIELDS
        assert any(piece["marked"] and piece["text"].lower() == "reservation" for piece in hit["snippet"])
        assert hit["timestamp"].endswith("Z")
    everything = walk(api_client, PATH, q="reservation", limit=500)
    ids = [hit["id"] for hit in everything]
    assert ids == sorted(ids, reverse=True)
    assert ids[:10] == [hit["id"] for hit in answer["items"]]
    assert walk(api_client, PATH, q="reservation", limit=37) == everything
    assert {hit["state"] for hit in everything} == {"live", "under"}


def test_best_match_first(hermes_store: HermesStore, api_client: ApiClient) -> None:
    newest = {hit["id"] for hit in walk(api_client, PATH, q="certificate seat", limit=50)}
    assert {hit["id"] for hit in walk(api_client, PATH, q="certificate seat", limit=7, order="best")} == newest


def test_filters(hermes_store: HermesStore, api_client: ApiClient) -> None:
    everything = walk(api_client, PATH, q="done", limit=500)
    mine = walk(api_client, PATH, q="done", limit=500, session=hermes_store.session_id)
    assert mine == [hit for hit in everything if hit["session"] == hermes_store.session_id] != []
    roles = {hit["role"] for hit in everything}
    for role in roles:
        assert {hit["role"] for hit in walk(api_client, PATH, q="done", role=role)} == {role}
    middle = sorted(hit["timestamp"] for hit in everything)[len(everything) // 2]
    later = walk(api_client, PATH, q="done", limit=500, since=middle)
    earlier = walk(api_client, PATH, q="done", limit=500, until=middle)
    assert all(hit["timestamp"] >= middle for hit in later)
    assert all(hit["timestamp"] < middle for hit in earlier)
    assert len(later) + len(earlier) == len(everything)
    assert api_client.get(PATH, q="done", source="nobody")["items"] == []


def test_the_last_word_is_a_prefix_and_parts_of_words_are_found_where_no_word_is(
    hermes_store: HermesStore, api_client: ApiClient
) -> None:
    whole = {hit["id"] for hit in walk(api_client, PATH, q="reservation", limit=500)}
    begun = walk(api_client, PATH, q="reserv", limit=500)
    assert whole <= {hit["id"] for hit in begun}
    answer = api_client.get(PATH, q="eservati", limit=7)
    assert "inside_words" in [note["code"] for note in answer["notes"]]
    inside = walk(api_client, PATH, q="eservati", limit=7)
    assert len({hit["id"] for hit in inside}) == len(inside) > 7
    assert walk(api_client, PATH, q='"eservatio"', limit=500) == walk(api_client, PATH, q='"eservatio"', limit=9) != []


def test_a_page_that_ends_at_its_limits_says_so(
    hermes_store: HermesStore, api_client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "SCANNED", 100)
    answer = api_client.get(PATH, q="☃☃")
    assert (answer["items"], answer["complete"], answer["looked"]) == ([], False, 100)
    assert answer["next"]
    assert [note["code"] for note in answer["notes"]] == ["too_short"]


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({}, 422, "invalid"),
        ({"q": "x", "order": "oldest"}, 422, "invalid"),
        ({"q": "x", "limit": 0}, 422, "invalid"),
        ({"q": "x", "since": "yesterday"}, 422, "invalid"),
        ({"q": "x", "cursor": "nonsense"}, 422, "bad_cursor"),
        ({"q": "x", "session": "nobody"}, 404, "not_found"),
    ],
)
def test_refusals(
    hermes_store: HermesStore, api_client: ApiClient, query: dict[str, Any], status: int, code: str
) -> None:
    answered, answer = api_client.call("GET", PATH, **query)
    assert (answered, answer["error"]["code"]) == (status, code)


def test_cursors_of_other_lists_and_orders_are_refused(hermes_store: HermesStore, api_client: ApiClient) -> None:
    for other in (
        api_client.get("/stores/hermes/sessions", limit=1)["next"],
        api_client.get(PATH, q="done", limit=1, order="best")["next"],
    ):
        assert api_client.call("GET", PATH, q="done", cursor=other)[1]["error"]["code"] == "bad_cursor"


@pytest.mark.parametrize(
    "key",
    [[0.0, 2**70, "words"], [float("nan"), 1, "words"], [float("inf"), 1, "words"], [0.0, 1, "no stage"], [0.0, 1]],
)
def test_forged_cursors_are_refused(hermes_store: HermesStore, api_client: ApiClient, key: list[Any]) -> None:
    from viewer.web import cursors

    cursor = cursors.written("search by newest", *key)
    assert api_client.call("GET", PATH, q="done", cursor=cursor)[1]["error"]["code"] == "bad_cursor"


def test_an_unknown_store_and_one_that_is_gone(
    hermes_store: HermesStore, api_client: ApiClient, settings: Settings
) -> None:
    settings.STORES = {**settings.STORES, "gone": "sqlite:////nowhere/state.db"}
    for name, status, code in (("other", 404, "not_found"), ("gone", 503, "store_unavailable")):
        answered, answer = api_client.call("GET", f"/stores/{name}/search", q="x")
        assert (answered, answer["error"]["code"]) == (status, code)


def test_without_a_token_nothing_is_told(hermes_store: HermesStore) -> None:
    assert Client().get(f"/api/v1{PATH}", {"q": "done"}).status_code == 401


def test_hostile_words(api_client: ApiClient, tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "own.db"
    schema.create(path)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
        con.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'odd', ?, 1e300)", ["AND \x00 x"]
        )
    settings.STORES = {"own": f"sqlite:///{path}"}
    for q in ('"', "AND", "NEAR(", "\x00", "x" * 10_000, "*", "-", "{content}: x", "", "x"):
        api_client.get("/stores/own/search", q=q)
    (hit,) = api_client.get("/stores/own/search", q="and")["items"]
    assert (hit["role"], hit["timestamp"]) == ("odd", None)
