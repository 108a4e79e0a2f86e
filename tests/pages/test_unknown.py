"""What does not exist: each address that names a store, a session, a message or a run which is not there."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, reverse

from tests.factories.stores import EmptyStore
from tests.html import read
from viewer.pages.urls import urlpatterns

THERE: dict[str, Any] = {"store": "own", "session_id": "s", "row_id": 1, "handoff_id": 1}
NUMBERS = ("row_id", "handoff_id", "run_id", "token_id")
NUMBER = 987
NO_PAGES = ("colours", "revoke")  # a part of a page, asked for below; and a token that is gone is revoked all the same


def naming(*names: str) -> list[Any]:
    """The addresses with one of these names in them."""
    found = [each for each in urlpatterns if set(names) & each.pattern.converters.keys() and each.name not in NO_PAGES]
    return [pytest.param(each, id=str(each.name)) for each in found]


def asked(client: Client, pattern: URLPattern, **gone: Any) -> HttpResponse:
    """The answer to a look, or to a form where there is nothing to look at."""
    values = {name: gone.get(name, THERE.get(name)) for name in pattern.pattern.converters}
    address = reverse(f"pages:{pattern.name}", kwargs=values)
    answer = client.get(address)
    return client.post(address) if answer.status_code == 405 else answer  # type: ignore[return-value]


@pytest.fixture
def client(signed_in: Client, empty_store: EmptyStore) -> Client:
    """The owner, with a session `s` of a few messages."""
    empty_store.session("s")
    empty_store.chat("s", 4)
    return signed_in


@pytest.mark.parametrize("pattern", naming("store"))
def test_a_store_that_is_not_there_is_a_404(client: Client, pattern: URLPattern) -> None:
    assert "no store named" in read(asked(client, pattern, store="other"), 404).one("main").text


@pytest.mark.parametrize("pattern", naming("session_id"))
def test_a_session_that_is_not_there_is_a_404(client: Client, pattern: URLPattern) -> None:
    assert "has no session" in read(asked(client, pattern, session_id="none"), 404).one("main").text


@pytest.mark.parametrize("pattern", naming(*NUMBERS))
def test_a_number_that_is_of_nothing_is_a_404(client: Client, pattern: URLPattern) -> None:
    """A message, a handoff, a run or a token."""
    answer = asked(client, pattern, **dict.fromkeys(NUMBERS, NUMBER))
    assert read(answer, 404).one("main").one("h1")


@pytest.mark.parametrize("pattern", naming("handoff_id"))
def test_a_message_that_is_no_boundary_is_a_404(client: Client, pattern: URLPattern) -> None:
    assert "no compaction with the id" in read(asked(client, pattern), 404).one("main").text


@pytest.mark.parametrize("query", ["as=html", "as=before"])
def test_no_file_is_made_of_a_message_that_is_no_boundary(client: Client, query: str) -> None:
    address = reverse("pages:before_after", kwargs={"store": "own", "session_id": "s", "handoff_id": 1})
    assert "no compaction with the id" in read(client.get(f"{address}?{query}"), 404).one("main").text


@pytest.mark.parametrize("gone", [{"store": "other"}, {"session_id": "none"}, {"row_id": NUMBER}])
def test_colours_of_what_is_not_there_are_a_404(client: Client, gone: dict[str, Any]) -> None:
    values = {"store": "own", "session_id": "s", "row_id": 1}
    colours = [reverse("pages:colours", kwargs=each) for each in (values, values | gone)]
    assert [client.get(each, headers={"HX-Request": "true"}).status_code for each in colours] == [200, 404]


@pytest.mark.parametrize("address", ["/?store=other", "/search?q=x&store=other"])
def test_a_list_of_a_store_that_is_not_there_is_a_404(client: Client, address: str) -> None:
    assert "no store named" in read(client.get(address), 404).one("main").text


def test_an_address_that_does_not_exist(client: Client) -> None:
    page = read(client.get("/nothing/here"), 404)
    assert page.one("h1").text == "There is no page here"
    assert page.one("link", rel="stylesheet")
