"""The demo store in lists: there while it is the only one, then hidden by a switch that the browser remembers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.factories.stores import EmptyStore
from tests.html import Element, read
from viewer.catalog import sync_worker
from viewer.pages.preferences import FIRST
from viewer.stores.hermes import schema

LISBON = "Lisbon in October, five people and a dog"


@pytest.fixture
def empty_store(db: None, short_demo: Callable[[str], str], tmp_path: Path, settings: Settings) -> EmptyStore:
    """A store with one session beside the demo store."""
    schema.create(tmp_path / "own.db")
    settings.STORES = {"own": f"sqlite:///{tmp_path / 'own.db'}"}
    made = EmptyStore(tmp_path / "own.db")
    made.session("a", title="Mine")
    made.chat("a", 4)
    sync_worker.sync_all()
    return made


def stores_of(page: Element) -> set[str]:
    links = [line.one(cls="title").one("a") for line in page.all("li", "session")]
    return {link.attributes["href"].split("/")[2] for link in links}


def flip(client: Client, page: Element) -> Element:
    """The page behind the switch of this page."""
    (form,) = [form for form in page.all("form") if form.attributes.get("action") == "/demo"]
    fields = {field.attributes["name"]: field.attributes["value"] for field in form.all("input")}
    button = form.one("button")
    answer = client.post("/demo", fields | {button.attributes["name"]: button.attributes["value"]})
    assert answer.status_code == 302
    return read(client.get(answer["Location"]))


def test_alone_it_is_listed_and_has_no_switch(signed_in: Client, short_demo: Callable[[str], str]) -> None:
    page = read(signed_in.get("/"))
    assert stores_of(page) == {"demo"}
    assert not [form for form in page.all("form") if form.attributes.get("action") == "/demo"]


@pytest.mark.usefixtures("empty_store")
def test_beside_a_real_store_it_is_hidden_until_it_is_shown(signed_in: Client) -> None:
    page = read(signed_in.get("/"))
    assert stores_of(page) == {"own"} and not page.all("figure", "story")
    assert not page.one("details", "filters").all("form", action="/demo"), "it is no filter"
    page = flip(signed_in, page)
    assert stores_of(page) == stores_of(read(signed_in.get("/"))) == {"own", "demo"}
    assert stores_of(flip(signed_in, page)) == stores_of(read(signed_in.get("/"))) == {"own"}


@pytest.mark.usefixtures("empty_store")
def test_hidden_it_is_not_searched_either_but_opens_by_its_name(signed_in: Client, demo: Callable[[str], str]) -> None:
    assert not read(signed_in.get("/search?q=beagle")).all("li", "hit")
    assert read(signed_in.get("/search?q=beagle&store=demo")).all("li", "hit")
    assert stores_of(read(signed_in.get("/?store=demo"))) == {"demo"}
    assert signed_in.get(demo(LISBON)).status_code == 200


@pytest.mark.usefixtures("empty_store")
def test_the_demo_never_counts_in_sums(signed_in: Client) -> None:
    signed_in.cookies["palimpsest_demo"] = "1"
    page = read(signed_in.get("/compactions"))
    assert {row.all("td")[2].text for row in page.all("table")[-1].all("tr")[1:]} == {"demo"}
    assert not page.all("figure", "chart") and not page.all("ul", "figures")


def test_the_demo_alone_has_numbers_of_its_compactions(signed_in: Client, demo: Callable[[str], str]) -> None:
    page = read(signed_in.get("/compactions"))
    assert demo(LISBON) and page.one("ul", "figures").all("b")


@pytest.mark.slow
@pytest.mark.usefixtures("empty_store", "at_once")
def test_runs_of_the_hidden_demo_are_listed_by_their_sessions_names(
    signed_in: Client, demo: Callable[[str], str]
) -> None:
    signed_in.post(f"{demo(FIRST)}/compact", {"apply": "1"})
    page = read(signed_in.get("/compactions"))
    assert page.all("table")[0].one("bdi").text == FIRST
    assert LISBON not in page.one("main").text


def test_nobody_is_led_away(signed_in: Client, demo: Callable[[str], str]) -> None:
    for back in ("https://evil.example/", "//evil.example", "\\\\evil.example", ""):
        assert signed_in.post("/demo", {"demo": "1", "next": back})["Location"] == "/"


def test_beside_a_store_without_sessions_it_is_there_until_that_has_one(
    signed_in: Client, short_demo: Callable[[str], str], tmp_path: Path, settings: Settings
) -> None:
    """As for somebody whose agent is installed and was never used."""
    schema.create(tmp_path / "own.db")
    settings.STORES = {"own": f"sqlite:///{tmp_path / 'own.db'}"}
    page = read(signed_in.get("/"))
    assert stores_of(page) == {"demo"} and page.one("figure", "story")
    own = EmptyStore(tmp_path / "own.db")
    own.session("a", title="Mine")
    own.chat("a", 4)
    assert stores_of(read(signed_in.get("/"))) == {"own"}
