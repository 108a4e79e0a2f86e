"""Below a base path, what leads somewhere keeps to it. `tests/e2e/test_proxy.py` has pages as a browser sees them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import get_script_prefix, set_script_prefix
from pytest_django import Settings

from tests.factories.stores import EmptyStore
from tests.html import read
from viewer.catalog import sync_worker
from viewer.runs.models import Run


@pytest.fixture(autouse=True)
def below(settings: Settings) -> Iterator[None]:
    """As the server's own handler does it, which the test client's leaves out."""
    before = get_script_prefix()
    settings.FORCE_SCRIPT_NAME, settings.SESSION_COOKIE_PATH = "/below", "/below"
    set_script_prefix("/below/")
    yield
    set_script_prefix(before)


def test_the_archive_s_receipt_leads_back_to_the_list(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    body = {"session": ["own/a"], "archived": "yes", "back": "?store=own"}
    page = read(signed_in.post("/archive", body))
    assert page.one("a", "primary").attributes["href"] == "/below/?store=own"
    receipt = read(signed_in.post("/archive", body, headers={"HX-Request": "true"}))
    fields = {field.attributes["name"]: field.attributes["value"] for field in receipt.all("input")}
    assert fields["back"] == "?store=own"
    assert "/below/?store=own" in {link.attributes["href"] for link in receipt.all("a")}
    elsewhere = read(signed_in.post("/archive", body | {"back": "//elsewhere"}))
    assert elsewhere.one("a", "primary").attributes["href"] == "/below/"


@pytest.mark.parametrize(("back", "leads"), [("//elsewhere", "/below/"), ("/below/stores", "/below/stores")])
def test_the_redaction_switch_leads_back(signed_in: Client, back: str, leads: str) -> None:
    for redact in "10":  # the cookie is set, and deleted
        answer = signed_in.post("/redact", {"next": back, "redact": redact})
        assert answer.headers["Location"] == leads
        assert answer.cookies["palimpsest_mask"]["path"] == "/below"


def test_a_run_is_linked(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a")
    run = Run.objects.create(
        store="own", session_id="a", status="failed", strategy="summary", summarizer="extract", apply=True
    )
    links = {link.attributes.get("href") for link in read(signed_in.get("/compactions")).all("a")}
    assert f"/below/runs/{run.pk}" in links


def test_the_palette_knows_the_session_it_is_opened_on(signed_in: Client, empty_store: EmptyStore) -> None:
    href = empty_store.session("a", title="Sewing box")
    for headers in ({}, {"HX-Request": "true", "HX-Current-URL": f"http://testserver/below{href}"}):
        found = read(signed_in.get("/palette", {"at": f"/below{href}"}, headers=headers))
        assert f"/below{href}/context" in {each.attributes.get("href") for each in found.all("a")} | {
            each.attributes.get("data-href") for each in found.all(role="option")
        }


def test_insights_lead_to_the_sessions(signed_in: Client, empty_store: EmptyStore) -> None:
    empty_store.session("a", model="m1")
    empty_store.say("a", "user", "hello", timestamp=time.time())
    sync_worker.sync_all()
    links = {link.attributes.get("href") for link in read(signed_in.get("/insights?by=model&days=all")).all("a")}
    assert "/below/?model=m1&sub-agents=shown" in links


def test_a_saved_view_and_the_switches_lead_back(signed_in: Client, db: None) -> None:
    assert signed_in.post("/views", {"query": "source=cli", "name": "n"})["Location"] == "/below/?source=cli"
    for address in ("/demo", "/theme"):
        assert signed_in.post(address, {"next": "//elsewhere"})["Location"] == "/below/"


def test_a_stranger_is_led_to_the_sign_in_page_but_for_what_is_open(client: Client, db: None) -> None:
    assert client.get("/stores").headers["Location"] == "/below/sign-in/"
    assert client.get("/api/v1/health").status_code == 200
    assert client.get("/api/v1/nothing").headers["Content-Type"].startswith("application/json")
