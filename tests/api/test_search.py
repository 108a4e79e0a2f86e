"""Search over the API."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from tests.clients import Tool, walk
from tests.factories.stores import Desk
from viewer.stores.hermes import candidates, schema

pytestmark = pytest.mark.django_db

HIT_FIELDS = {
    "id", "session", "address", "session_title", "source", "kind", "role", "timestamp", "state", "snippet",
}  # fmt: skip
PATH = "/stores/hermes/search"


def test_works(desk: Desk, tool: Tool) -> None:
    answer = tool.get(PATH, q="reservation", limit=10)
    assert set(answer) == {"items", "next", "complete", "looked", "notes", "broken"}
    assert len(answer["items"]) == 10
    for hit in answer["items"]:
        assert set(hit) == HIT_FIELDS
        assert any(piece["marked"] and piece["text"].lower() == "reservation" for piece in hit["snippet"])
        assert hit["timestamp"].endswith("Z")
    everything = walk(tool, PATH, q="reservation", limit=500)
    ids = [hit["id"] for hit in everything]
    assert ids == sorted(ids, reverse=True)
    assert ids[:10] == [hit["id"] for hit in answer["items"]]
    assert walk(tool, PATH, q="reservation", limit=37) == everything
    assert {hit["state"] for hit in everything} == {"live", "under"}


def test_best_match_first(desk: Desk, tool: Tool) -> None:
    newest = {hit["id"] for hit in walk(tool, PATH, q="certificate seat", limit=50)}
    assert {hit["id"] for hit in walk(tool, PATH, q="certificate seat", limit=7, order="best")} == newest


def test_filters(desk: Desk, tool: Tool) -> None:
    everything = walk(tool, PATH, q="done", limit=500)
    mine = walk(tool, PATH, q="done", limit=500, session=desk.session_id)
    assert mine == [hit for hit in everything if hit["session"] == desk.session_id] != []
    roles = {hit["role"] for hit in everything}
    for role in roles:
        assert {hit["role"] for hit in walk(tool, PATH, q="done", role=role)} == {role}
    middle = sorted(hit["timestamp"] for hit in everything)[len(everything) // 2]
    later = walk(tool, PATH, q="done", limit=500, since=middle)
    earlier = walk(tool, PATH, q="done", limit=500, until=middle)
    assert all(hit["timestamp"] >= middle for hit in later)
    assert all(hit["timestamp"] < middle for hit in earlier)
    assert len(later) + len(earlier) == len(everything)
    assert tool.get(PATH, q="done", source="nobody")["items"] == []


def test_the_last_word_is_a_prefix_and_parts_of_words_are_found_where_no_word_is(desk: Desk, tool: Tool) -> None:
    whole = {hit["id"] for hit in walk(tool, PATH, q="reservation", limit=500)}
    begun = walk(tool, PATH, q="reserv", limit=500)
    assert whole <= {hit["id"] for hit in begun}
    answer = tool.get(PATH, q="eservati", limit=7)
    assert "inside_words" in [note["code"] for note in answer["notes"]]
    inside = walk(tool, PATH, q="eservati", limit=7)
    assert len({hit["id"] for hit in inside}) == len(inside) > 7
    assert walk(tool, PATH, q='"eservatio"', limit=500) == walk(tool, PATH, q='"eservatio"', limit=9) != []


def test_a_page_that_ends_at_its_limits_says_so(desk: Desk, tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "SCANNED", 100)
    answer = tool.get(PATH, q="☃☃")
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
def test_refusals(desk: Desk, tool: Tool, query: dict[str, Any], status: int, code: str) -> None:
    answered, answer = tool.call("GET", PATH, **query)
    assert (answered, answer["error"]["code"]) == (status, code)


def test_cursors_of_other_lists_and_orders_are_refused(desk: Desk, tool: Tool) -> None:
    for other in (
        tool.get("/stores/hermes/sessions", limit=1)["next"],
        tool.get(PATH, q="done", limit=1, order="best")["next"],
    ):
        assert tool.call("GET", PATH, q="done", cursor=other)[1]["error"]["code"] == "bad_cursor"


@pytest.mark.parametrize(
    "key",
    [[0.0, 2**70, "words"], [float("nan"), 1, "words"], [float("inf"), 1, "words"], [0.0, 1, "no stage"], [0.0, 1]],
)
def test_forged_cursors_are_refused(desk: Desk, tool: Tool, key: list[Any]) -> None:
    from viewer.api import cursors

    cursor = cursors.written("search by newest", *key)
    assert tool.call("GET", PATH, q="done", cursor=cursor)[1]["error"]["code"] == "bad_cursor"


def test_an_unknown_store_and_one_that_is_gone(desk: Desk, tool: Tool, settings: Settings) -> None:
    settings.STORES = {**settings.STORES, "gone": "sqlite:////nowhere/state.db"}
    for name, status, code in (("other", 404, "not_found"), ("gone", 503, "store_unavailable")):
        answered, answer = tool.call("GET", f"/stores/{name}/search", q="x")
        assert (answered, answer["error"]["code"]) == (status, code)


def test_without_a_token_nothing_is_told(desk: Desk) -> None:
    assert Client().get(f"/api/v1{PATH}", {"q": "done"}).status_code == 401


def test_hostile_words(tool: Tool, tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "own.db"
    schema.create(path)
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)")
        con.execute(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES ('s', 'odd', ?, 1e300)", ["AND \x00 x"]
        )
    settings.STORES = {"own": f"sqlite:///{path}"}
    for q in ('"', "AND", "NEAR(", "\x00", "x" * 10_000, "*", "-", "{content}: x", "", "x"):
        tool.get("/stores/own/search", q=q)
    (hit,) = tool.get("/stores/own/search", q="and")["items"]
    assert (hit["role"], hit["timestamp"]) == ("odd", None)
