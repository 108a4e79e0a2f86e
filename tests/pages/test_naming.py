"""Renaming in place."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from django.test import Client

from tests.factories.stores import EmptyStore
from tests.html import read

FRAGMENT = {"HX-Request": "true"}


def title_of(empty_store: EmptyStore, session_id: str) -> str | None:
    with closing(sqlite3.connect(empty_store.path)) as con:
        found: str | None = con.execute("SELECT title FROM sessions WHERE id = ?", [session_id]).fetchone()[0]
    return found


@pytest.fixture
def two(empty_store: EmptyStore) -> EmptyStore:
    empty_store.session("a", title="Alpha")
    empty_store.session("b", title="Beta")
    return empty_store


def test_on_the_list(signed_in: Client, two: EmptyStore) -> None:
    line = next(line for line in read(signed_in.get("/")).all("li", "session") if "Alpha" in line.text)
    link = next(link for link in line.all("a", "rename"))
    assert link.attributes["hx-target"] == "#" + line.one(cls="title").attributes["id"]
    form = read(signed_in.get(link.attributes["hx-get"], headers=FRAGMENT)).one("form")
    field = next(field for field in form.all("input") if field.attributes["name"] == "title")
    assert field.attributes["value"] == "Alpha" and "autofocus" in field.attributes
    mark = next(field.attributes["value"] for field in form.all("input") if field.attributes["name"] == "for")
    assert mark == line.attributes["id"]
    body = {"title": "  Gamma <b>\n ray ", "for": mark}
    answer = read(signed_in.post(form.attributes["hx-post"], body, headers=FRAGMENT))
    assert title_of(two, "a") == "Gamma <b> ray"
    renamed = answer.one("a")
    assert renamed.text == "Gamma <b> ray" and "autofocus" in renamed.attributes  # focus returns to the line
    assert answer.one("span", id="said").text == "Saved: Gamma <b> ray"
    assert "Gamma <b> ray" in read(signed_in.get("/")).one("ol", "lines").text


def test_without_javascript(signed_in: Client, two: EmptyStore) -> None:
    page = read(signed_in.get("/stores/own/sessions/a/rename"))
    form = page.one("form", "renaming")
    answer = signed_in.post(form.attributes["action"], {"title": "Gamma"})
    assert (answer.status_code, answer["Location"]) == (302, "/stores/own/sessions/a")
    assert title_of(two, "a") == "Gamma"


def test_a_title_that_is_taken_is_refused_and_what_was_typed_stays(signed_in: Client, two: EmptyStore) -> None:
    path = "/stores/own/sessions/a/rename"
    form = read(signed_in.post(path, {"title": "Beta", "for": "l1"}, headers=FRAGMENT), 409).one("form")
    assert "already named" in form.one("p", "bad").text
    field = next(field for field in form.all("input") if field.attributes["name"] == "title")
    assert (field.attributes["value"], field.attributes["aria-invalid"]) == ("Beta", "true")
    page = read(signed_in.post(path, {"title": "Beta"}), 409)
    assert "already named" in page.one("main").text and "Beta" in page.one("main").text
    assert title_of(two, "a") == "Alpha"


def test_cancelling_gives_the_name_back(signed_in: Client, two: EmptyStore) -> None:
    path = "/stores/own/sessions/a/rename"
    form = read(signed_in.get(f"{path}?for=l7", headers=FRAGMENT)).one("form")
    cancel = form.one("a").attributes
    assert cancel["href"] == "/stores/own/sessions/a"
    answer = read(signed_in.get(cancel["hx-get"], headers=FRAGMENT))
    assert answer.one("a").text == "Alpha" and not answer.all("span", id="said")


def test_at_the_top_of_its_own_pages(signed_in: Client, two: EmptyStore) -> None:
    path = "/stores/own/sessions/a/rename"
    answer = read(signed_in.post(path, {"title": "Gamma"}, headers=FRAGMENT))
    link = answer.one("a", "rename")
    assert link.attributes["hx-get"] == path and "autofocus" in link.attributes
    name = answer.one("span", id="session-name")
    assert (name.text, name.attributes["hx-swap-oob"]) == ("Gamma", "innerHTML")


def test_an_empty_title_leaves_the_first_words(signed_in: Client, two: EmptyStore) -> None:
    two.say("a", "user", "Who feeds the bees?")
    signed_in.post("/stores/own/sessions/a/rename", {"title": " "})
    assert title_of(two, "a") is None
    assert "Who feeds the bees?" in read(signed_in.get("/")).one("ol", "lines").text


@pytest.mark.parametrize("mark", ["l1<script>", "#x", "title", "l"])
def test_a_place_that_is_no_line_of_the_list_is_left_out(signed_in: Client, two: EmptyStore, mark: str) -> None:
    answer = signed_in.get("/stores/own/sessions/a/rename", {"for": mark}, headers=FRAGMENT)
    assert mark not in [field.attributes.get("value") for field in read(answer).all("input")]


def test_an_unknown_session_is_a_404(signed_in: Client, two: EmptyStore) -> None:
    assert signed_in.get("/stores/own/sessions/none/rename").status_code == 404
    assert signed_in.post("/stores/own/sessions/none/rename", {"title": "x"}).status_code == 404
