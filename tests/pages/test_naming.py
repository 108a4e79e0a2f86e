"""Renaming in a dialog, and on a page of its own."""

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
    assert link.attributes["hx-target"] == "#editing"
    dialog = read(signed_in.get("/")).one("dialog", id="editing")
    form = read(signed_in.get(link.attributes["hx-get"], headers=FRAGMENT)).one("form")
    assert form.one("h2", id=dialog.attributes["aria-labelledby"]).text == "Edit session"
    field = next(field for field in form.all("input") if field.attributes["name"] == "title")
    assert field.attributes["value"] == "Alpha" and "autofocus" in field.attributes
    mark = next(field.attributes["value"] for field in form.all("input") if field.attributes["name"] == "for")
    assert mark == line.attributes["id"]
    body = {"title": "  Gamma <b>\n ray ", "for": mark}
    answer = read(signed_in.post(form.attributes["hx-post"], body, headers=FRAGMENT))
    assert title_of(two, "a") == "Gamma <b> ray"
    shown = answer.one("div", id=line.one(cls="title").attributes["id"])
    assert (shown.one("a").text, shown.attributes["hx-swap-oob"]) == ("Gamma <b> ray", "innerHTML")
    assert not answer.all("form")  # so the dialog closes
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


@pytest.mark.parametrize("title", ["Alpha", ""])
def test_each_field_has_a_label_and_the_title_is_its_value(
    signed_in: Client, empty_store: EmptyStore, title: str
) -> None:
    empty_store.session("a", title=title or None)
    empty_store.say("a", "user", "Who feeds the bees?")
    form = read(signed_in.get("/stores/own/sessions/a/rename", headers=FRAGMENT)).one("form")
    labels = {label.attributes["for"]: label.text for label in form.all("label") if "for" in label.attributes}
    fields = {field.attributes["id"]: field.attributes for field in form.all("input") if "id" in field.attributes}
    assert labels == {"edit-title": "Title", "edit-tags": "Tags, with commas between", "edit-note": "Note"}
    assert list(fields) == list(labels) and not any("placeholder" in field for field in fields.values())
    assert fields["edit-title"]["value"] == (title or "Who feeds the bees?")
    assert form.one("a").attributes["href"] == "/stores/own/sessions/a"  # Cancel, without scripts
    signed_in.post("/stores/own/sessions/a/rename", {"title": fields["edit-title"]["value"]})
    assert title_of(empty_store, "a") == (title or None)  # its first words are no title that somebody gave


def test_at_the_top_of_its_own_pages(signed_in: Client, two: EmptyStore) -> None:
    path = "/stores/own/sessions/a/rename"
    answer = read(signed_in.post(path, {"title": "Gamma"}, headers=FRAGMENT))
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
