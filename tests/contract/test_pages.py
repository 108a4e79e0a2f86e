"""Every kind of store on the pages: nothing about a kind is known there."""

from __future__ import annotations

from django.test import Client

from tests.agents.base import Agent
from tests.agents.talk import talk
from tests.html import read
from tests.store_api import StoreApi

from .conftest import shared

PLACES = ("", "/context", "/timeline", "/rows", "/find?q=request", "/export", "/rename")


@shared
def test_a_session_has_all_its_pages(agent: Agent, store_api: StoreApi, signed_in: Client) -> None:
    agent.write("s", talk(3))
    for place in PLACES:
        answer = signed_in.get(f"{store_api.at('s')}{place}")
        assert answer.status_code == 200, (place, read(answer).text)
    page = read(signed_in.get(store_api.at("s")))
    assert "request0" in page.text and "reply2" in page.text


@shared
def test_its_store_is_in_all_lists(agent: Agent, store_api: StoreApi, signed_in: Client) -> None:
    agent.write("s", talk(3))
    for address in ("/", "/search?q=reply1", "/stores", "/compactions", "/settings"):
        assert signed_in.get(address).status_code == 200
    assert read(signed_in.get("/")).all("a", href=store_api.at("s"))
    assert "reply1" in read(signed_in.get("/search?q=reply1")).text
    assert store_api.store in read(signed_in.get("/stores")).text


def test_what_a_kind_cannot_do_is_said_and_has_no_button(agent: Agent, store_api: StoreApi, signed_in: Client) -> None:
    agent.write("s", talk(12))
    page = read(signed_in.get(f"{store_api.at('s')}/plan"))
    reason = store_api.api_client.get(store_api.at("s"))["compact_reason"]
    assert reason.removesuffix(".") in page.text  # a command at its end is code
    assert bool(page.all("form", action=f"{store_api.at('s')}/compact")) is agent.can_compact
