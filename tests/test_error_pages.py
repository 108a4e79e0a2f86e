"""What a request under a name that is none of this site's is told."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from tests.html import read
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
