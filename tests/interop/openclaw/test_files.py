"""OpenClaw 2026.7, whose sessions are files: it sends what we read, and goes on from what we write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from tests.agents.base import Block
from tests.agents.openclaw import views
from tests.clients import ApiClient
from tests.interop.chat_service import ChatService, calls, says
from tests.interop.chat_service import tool as called
from tests.interop.fetched import NotInstalled
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi
from viewer.stores.base import Store
from viewer.stores.registry import open_store

from .client import OF_FILES, OpenClawClient, program
from .playing import key_of
from .work import FILLED, KEPT, MUCH, ours

KEY = key_of("files")


@dataclass(frozen=True)
class Talk:
    """One session of a client whose gateway runs."""

    client: OpenClawClient
    store_api: StoreApi
    key: str = KEY

    @property
    def index(self) -> Path:
        return self.client.state / "agents" / "main" / "sessions" / "sessions.json"

    def noted(self, name: str) -> Any:
        """A field of the client's entry of the session, None before there is one."""
        found = json.loads(self.index.read_text()) if self.index.exists() else {}
        return found.get(self.key, {}).get(name)

    def read(self) -> list[Block]:
        with open_store(Store("work", self.store_api.agent.url, "configured")) as reader:
            return views.read(reader.live(self.noted("sessionId")))

    def say(self, prompt: str) -> list[Block]:
        """What the client sent of the session, which is what we read before."""
        before = self.read() if self.noted("sessionId") else []
        asked = len(self.client.service.requests)
        self.client.turn(prompt, self.key)
        request = self.client.service.requests[asked]
        assert request.kind == "turn" and views.sent(views.of_session(request.body)) == before
        return before

    def branch(self, before: int | None) -> Talk:
        """A branch of the session, of now or of the moment before the compaction with this handoff."""
        path = f"{self.store_api.at(self.noted('sessionId'))}/branches"
        status, made = self.store_api.api_client.call("POST", path, {"before": before})
        assert status == 201, made
        found = json.loads(self.index.read_text())
        (key,) = (key for key, entry in found.items() if entry["sessionId"] == made["id"])
        return replace(self, key=key)

    def run(self, run: int, what: str) -> None:
        status, answer = self.store_api.api_client.call("POST", f"/runs/{run}/{what}")
        assert status == 200, answer


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenClawClient]:
    """A client whose gateway runs."""
    try:
        found = program(OF_FILES)
    except NotInstalled as missing:
        pytest.skip(f"OpenClaw is not here: {missing}")
    with ChatService() as service:
        made = OpenClawClient(found, tmp_path_factory.mktemp("openclaw-files"), service)
        with made.gateway():
            yield made


@pytest.fixture
def talk(api_client: ApiClient, old: OpenClawClient, transactional_db: None, at_once: None, settings: Settings) -> Talk:
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = old.place / "no-home"
    settings.OPENCLAW_HOME = settings.PI_HOME = old.place / "no-home"
    settings.DEMO_STORE = old.place / "no-demo.db"
    agent = RealAgent(f"openclaw://{old.state}")
    settings.STORES = {"work": agent.url}
    return Talk(old, StoreApi(api_client, "work", agent))


def test_it_goes_on_and_has_all_of_it_again(talk: Talk) -> None:
    replies = talk.client.service.replies
    for number in range(4):
        if number == 1:
            replies += [calls(called("exec", command="seq 1 900"), called("exec", command="echo b"))]
        replies += [says(f"{number}: {MUCH}", input_tokens=FILLED)]
        talk.say(f"What grows in bed {number}?")
    before, tokens = talk.read(), talk.noted("totalTokens")
    run = talk.store_api.run(talk.noted("sessionId"), apply=True, keep_last=KEPT)
    assert run["status"] == "applied", run
    assert talk.noted("totalTokens") < tokens and talk.noted("compactionCount") == 1
    short = talk.say("Go on.")
    assert ours(short) == [0] and short[1:] == before[-len(short[1:]) :]
    said = talk.read()[len(short) :]
    for what in ("undo", "redo", "undo"):
        talk.run(run["id"], what)
    assert talk.say("All of it again.") == [*before, *said]
    refused = talk.store_api.api_client.call("POST", f"/runs/{run['id']}/redo")[1]
    assert "written anew" in refused["error"]["message"], "this client writes its file anew now and then"
    again = talk.store_api.run(talk.noted("sessionId"), apply=True, keep_last=KEPT)
    assert again["status"] == "applied" and ours(talk.say("And now?")) == [0]
    handoff = talk.store_api.compactions(talk.noted("sessionId"))[-1]["handoff_id"]
    whole, brief = talk.branch(handoff), talk.branch(None)
    now = talk.read()
    assert whole.say("Rather all of it.")[: len(before)] == before and brief.say("In short.") == now == talk.read()
    talk.client.compact(KEY)
    assert not ours(talk.say("And then?")[1:])
