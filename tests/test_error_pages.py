"""The pages for requests that no page answers: an unknown host, a form that is not accepted or too large, a fault."""

from __future__ import annotations

import logging

import pytest
from django.conf import settings
from django.test import Client

from tests.factories.stores import EmptyStore
from tests.html import Element, read
from viewer.settings.logs import OwnName


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("agents.example", "agents.example"),
        ("agents.example:8000", "agents.example"),
        ("[2001:db8::1]", "[2001:db8::1]"),
    ],
)
def test_an_unknown_host_is_told_the_setting_by_its_name(client: Client, host: str, name: str) -> None:
    page = read(client.get("/", headers={"Host": host}), 400)
    assert page.one("h1").text and page.one("main", "sheet")
    assert page.one("link", rel="stylesheet").attributes["href"] == "/static/palimpsest.css"
    assert [code.text for code in page.one("main").all("code")] == [host, f"PALIMPSEST_ALLOWED_HOSTS={name}"]
    answer = client.get("/api/v1/stores", headers={"Host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
    assert "PALIMPSEST_ALLOWED_HOSTS" in answer.json()["error"]["message"]


def test_a_hostile_host_is_text(client: Client) -> None:
    page = read(client.get("/", headers={"Host": "<script>alert(1)</script>" + "x" * 5_000}), 400)
    assert not page.all("script")
    assert len(page.text) < 2_000


def test_the_log_names_the_setting_that_is_read() -> None:
    raised = (ValueError, ValueError("ALLOWED_HOSTS"), None)
    record = logging.LogRecord("d", 40, "f", 1, "You may need to add %r to ALLOWED_HOSTS.", ("x",), raised)
    assert OwnName().filter(record)
    assert record.exc_info is None
    assert record.getMessage() == "You may need to add 'x' to PALIMPSEST_ALLOWED_HOSTS."


def first_button(page: Element) -> tuple[str, str]:
    button = page.one("p", "actions").all("a")[0]
    assert "primary" in button.classes
    return button.text, button.attributes["href"]


@pytest.mark.parametrize(
    ("address", "first"),
    [
        ("/archive", ("All sessions", "/")),
        ("/settings/tokens", ("Settings", "/settings")),
        ("/sign-out/", ("Settings", "/settings")),
        ("/stores/own/index", ("Stores", "/stores")),
        ("/stores/own/sessions/s/compact", ("Open the session", "/stores/own/sessions/s")),
    ],
)
def test_the_address_of_a_form_leads_to_its_page(
    signed_in: Client, empty_store: EmptyStore, address: str, first: tuple[str, str]
) -> None:
    empty_store.session("s")
    answer = signed_in.get(address)
    assert first_button(read(answer, 405)) == first
    assert answer.headers["Allow"] == "POST"


@pytest.mark.parametrize(("address", "status"), [("/nowhere", 404), ("/runs/77", 404), ("/archive", 405)])
def test_an_address_without_a_page_has_one_first_button_and_all_pages_next_to_it(
    signed_in: Client, empty_store: EmptyStore, address: str, status: int
) -> None:
    main = read(signed_in.get(address), status).one("main")
    assert len([link for link in main.all("a", "btn") if "primary" in link.classes]) == 1
    pages = [link.attributes["href"] for link in main.one("nav").all("a")]
    assert len(pages) == 6 and {signed_in.get(page).status_code for page in pages} == {200}


@pytest.mark.parametrize("address", ["/stores/own", "/stores/own/sessions"])
def test_a_shortened_address_of_a_session_is_the_list_of_its_store(
    signed_in: Client, empty_store: EmptyStore, address: str
) -> None:
    assert signed_in.get(address).headers["Location"] == "/?store=own"


@pytest.mark.django_db
def test_a_form_without_its_token_is_opened_again(signed_in: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    page = read(strict.post("/settings/tokens", headers={"Referer": "http://testserver/settings#tokens"}), 403)
    assert first_button(page) == ("Open the page again", "http://testserver/settings#tokens")
    page = read(strict.post("/settings/tokens", headers={"Referer": "https://other.example/"}), 403)
    assert first_button(page) == ("Open the page again", "/settings")
    page = read(strict.post("/settings/tokens", headers={"Origin": "https://agents.example"}), 403)
    assert [code.text for code in page.one("main").all("code")][:2] == [
        "https://agents.example",
        "PALIMPSEST_ALLOWED_HOSTS",
    ]
    page = read(strict.post("/settings/tokens", headers={"Origin": "http://[", "Referer": "http://["}), 403)
    assert page.one("main").all("code")[0].text == "http://[", "what is no address at all is shown, too"


def test_a_stranger_s_form_shows_nothing_of_the_site(db: None) -> None:
    page = read(Client(enforce_csrf_checks=True).post("/sign-in/x"), 403)
    assert first_button(page) == ("Open the page again", "/sign-in/x")
    assert not page.all("nav", **{"aria-label": "Site"})


def test_a_form_that_is_too_large_is_refused_as_that(signed_in: Client) -> None:
    text = "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    page = read(signed_in.post("/settings/tokens", f"name={text}", "application/x-www-form-urlencoded"), 413)
    assert page.one("h1").text == "This is too much at once"
    assert first_button(page) == ("All sessions", "/")


def test_a_fault_of_ours_is_a_page_of_the_site(signed_in: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("viewer.pages.stores.views.all_stores", fails)
    signed_in.raise_request_exception = False
    page = read(signed_in.get("/stores"), 500)
    assert page.one("link", rel="stylesheet")
    assert first_button(page) == ("All sessions", "/")
    assert "a fault" not in page.text
