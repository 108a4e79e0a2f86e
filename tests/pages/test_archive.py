"""Archiving many sessions at once, and taking them out again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.factories.stores import EmptyStore
from tests.html import read
from viewer.pages.sessions import bulk_actions

FRAGMENT = {"HX-Request": "true"}


def archived(empty_store: EmptyStore) -> set[str]:
    with closing(sqlite3.connect(empty_store.path)) as con:
        return {row[0] for row in con.execute("SELECT id FROM sessions WHERE archived")}


@pytest.fixture
def three(empty_store: EmptyStore) -> EmptyStore:
    for name in "abc":
        empty_store.session(name, title=f"Title {name}")
    return empty_store


def test_ticked_sessions_are_archived_and_taken_out_without_javascript(signed_in: Client, three: EmptyStore) -> None:
    page = read(signed_in.get("/?store=own"))
    form = page.one("form", id="bulk")
    boxes = [box for box in page.all("input") if box.attributes.get("type") == "checkbox"]
    keys = {box.attributes["value"] for box in boxes if box.attributes.get("form") == "bulk"}
    assert keys == {"own/a", "own/b", "own/c"}
    back = next(field.attributes["value"] for field in form.all("input") if field.attributes["name"] == "back")
    body = {"session": ["own/a", "own/c"], "archived": form.all("button")[0].attributes["value"], "back": back}
    done = read(signed_in.post(form.attributes["action"], body))
    assert "2 sessions archived." in done.one("main").text
    assert archived(three) == {"a", "c"}
    assert done.one("a", "primary").attributes["href"] == "/?store=own"
    shown = read(signed_in.get("/?store=own")).one("ol", "lines").text
    assert "Title b" in shown and "Title a" not in shown

    undo = next(form for form in done.one("main").all("form") if form.attributes["action"] == "/archive")
    fields = [(field.attributes["name"], field.attributes["value"]) for field in undo.all("input")]
    again = {"session": [value for name, value in fields if name == "session"]}
    button = undo.one("button").attributes
    assert "2 sessions taken out" in read(signed_in.post("/archive", {**again, button["name"]: button["value"]})).text
    assert archived(three) == set()


def test_in_place_the_lines_leave_and_a_receipt_stands(signed_in: Client, three: EmptyStore) -> None:
    lines = read(signed_in.get("/?store=own")).all("li", "session")
    mark = next(line.attributes["id"] for line in lines if "Title b" in line.text)
    answer = read(signed_in.post("/archive", {"session": ["own/b"], "archived": "yes"}, headers=FRAGMENT))
    assert not answer.all("html")
    (gone,) = answer.all("li")
    assert (gone.attributes["id"], gone.attributes["hx-swap-oob"]) == (mark, "delete")
    assert "1 session archived." in answer.one(cls="receipt").text


def test_what_cannot_be_archived_is_named_with_the_reason(
    signed_in: Client, three: EmptyStore, settings: Settings, tmp_path: Path
) -> None:
    settings.STORES = {**settings.STORES, "gone": "sqlite:////nowhere/state.db"}
    body = {"session": ["own/a", "own/none", "gone/x", "unknown/y", "z"], "archived": "yes", "back": "//elsewhere"}
    page = read(signed_in.post("/archive", body))
    assert archived(three) == {"a"}
    reasons = [each.text for each in page.all("div", "refusal")]
    assert len(reasons) == 4
    for name, reason in (("none", "no session"), ("x", "cannot be read"), ("y", "no store"), ("z", "no store")):
        assert any(name in each and reason in each for each in reasons), name
    assert page.one("a", "primary").attributes["href"] == "/"


def test_a_store_that_cannot_be_written_refuses_with_its_reason(signed_in: Client, three: EmptyStore) -> None:
    with closing(sqlite3.connect(three.path)) as con, con:
        con.execute("ALTER TABLE sessions DROP COLUMN archived")
    page = read(signed_in.post("/archive", {"session": ["own/a", "own/b"], "archived": "yes"}))
    assert "have no “archived”" in page.one("div", "refusal").text
    assert not page.all("form", action="/archive")


def test_nothing_ticked_and_too_many_are_said(
    signed_in: Client, three: EmptyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = read(signed_in.post("/archive", {"archived": "yes", "back": "?store=own"})).one("div", "notice")
    assert nothing.one("h1").text == "No session was ticked"
    assert nothing.one("a").attributes["href"] == "/?store=own"
    monkeypatch.setattr(bulk_actions, "MOST", 2)
    page = read(signed_in.post("/archive", {"session": ["own/a", "own/b", "own/c"]}), 409)
    assert "At most 2 sessions can be chosen at once" in page.one("main").text
    assert archived(three) == set()


def test_it_needs_a_post(signed_in: Client, three: EmptyStore) -> None:
    assert signed_in.get("/archive").status_code == 405
