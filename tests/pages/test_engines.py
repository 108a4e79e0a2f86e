"""Another context engine at work: said above what the model sees, in the panel, and in the API."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.agents.openclaw.by_hand import OpenClawByHand
from tests.agents.talk import talk
from tests.clients import ApiClient
from tests.factories.stores import WEEK_29
from tests.html import read
from viewer.stores.base import Store
from viewer.stores.registry import agent_of
from viewer.web import auth

SAID = "The context engine {} decides what is sent; this page shows the transcript."


@pytest.fixture
def api_client(signed_in: Client) -> ApiClient:
    return ApiClient(auth.new_token("everything", auth.SCOPES))


def said_everywhere(client: Client, api_client: ApiClient, at: str) -> set[bool]:
    """Whether each page and each answer of the API that is about the context of a session has the sentence."""
    pages = (read(client.get(f"{at}{place}")).text for place in ("", "/plan", "/context"))
    answers = [api_client.get(at), api_client.get(f"{at}/context"), api_client.call("POST", f"{at}/plan")[1]]
    return {SAID.format("deep-memory") in page for page in pages} | {
        answer["sends_otherwise"] == SAID.format("deep-memory") for answer in answers
    }


def test_an_engine_of_openclaw(signed_in: Client, api_client: ApiClient, settings: Settings, tmp_path: Path) -> None:
    agent = OpenClawByHand(tmp_path / "home")
    agent.write("s", talk(8))
    settings.STORES = {"agent": agent.url}
    at = f"/stores/agent/sessions/{agent.id_of('s')}"
    assert said_everywhere(signed_in, api_client, at) == {False}
    (tmp_path / "home" / "openclaw.json").write_text("{plugins: {slots: {contextEngine: 'deep-memory'}}}")
    assert said_everywhere(signed_in, api_client, at) == {True}


def test_an_engine_of_hermes(
    signed_in: Client, api_client: ApiClient, settings: Settings, small_hermes_copy: Callable[[int], Path]
) -> None:
    path = small_hermes_copy(31)
    settings.STORES = {"hermes": f"sqlite:///{path}"}
    at = f"/stores/hermes/sessions/{WEEK_29}"
    assert said_everywhere(signed_in, api_client, at) == {False}
    path.with_name("config.yaml").write_text("context:\n  engine: deep-memory\n")
    assert said_everywhere(signed_in, api_client, at) == {True}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("{plugins: {slots: {contextEngine: 'legacy'}}}", ""),
        ("{plugins: {slots: {contextEngine: ''}}}", ""),
        ("{plugins: {slots: {contextEngine: ['a']}}}", ""),
        ("{plugins: []}", ""),
        ("[" * 9_000, ""),
        ("{plugins: {slots: {contextEngine: 'lossless\\n claw'}}}", SAID.format("lossless claw")),
        ("{plugins: {slots: {contextEngine: '" + "x" * 5_000 + "'}}}", SAID.format("x" * 80)),
        ("{agents: {defaults: {contextPruning: {mode: 'off'}}}}", ""),
        ("{agents: {defaults: {contextPruning: {mode: 'cache-ttl'}}}}", "OpenClaw is set to shorten"),
    ],
)
def test_what_the_settings_of_openclaw_say(tmp_path: Path, config: str, said: str) -> None:
    (tmp_path / "openclaw.json").write_text(config)
    found = agent_of(Store("s", f"openclaw://{tmp_path}", "configured")).sends_otherwise()
    assert found.startswith(said) and bool(found) == bool(said)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("context:\n  engine: compressor", ""),
        ("context: {}", ""),
        ("context: compressor", ""),
        ("context:\n  engine: [lcm]", ""),
        ("context:\n  engine: lcm", SAID.format("lcm")),
    ],
)
def test_what_the_settings_of_hermes_say(tmp_path: Path, config: str, said: str) -> None:
    (tmp_path / "state.db").write_bytes(b"")
    (tmp_path / "config.yaml").write_text(config)
    assert agent_of(Store("s", f"sqlite://{tmp_path}/state.db", "configured")).sends_otherwise() == said
