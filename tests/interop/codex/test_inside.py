"""What is installed into the real Codex: its hook is trusted, takes the note, and its model calls our tools."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_django import Settings

from compaction.handoff import EVENT_START
from tests.agents.base import Json
from tests.clients import ApiClient
from tests.doors import TROUBLES, TestDoor
from tests.interop.fetched import NotInstalled
from tests.interop.inside import SECTIONS, judged, statuses, write_rules
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi
from viewer.inside import doors
from viewer.inside.agents import codex
from viewer.stores.registry import get_store
from viewer.workspaces.models import StoreRules

from .app_server import AppServer
from .client import GPT_5, Client
from .opened import Homes, homes
from .scenes import shell
from .service import Service, calls, function, says, text_of
from .work import KEPT

__all__ = ["homes"]

PATIENCE = 60  # seconds for the hook: no test depends on the speed of its machine


@dataclass
class Inside:
    """The real client with a session in a workspace with rules, and the site that is installed into it."""

    client: Client
    session: str
    store_api: StoreApi
    door: TestDoor

    def compact(self) -> None:
        run = self.store_api.run(self.session, apply=True, keep_last=KEPT)
        assert run["status"] == "applied", run

    @contextmanager
    def resumed(self) -> Iterator[AppServer]:
        """A process of the client that has the session loaded."""
        with self.client.app_server() as server:
            server.resume(self.session)
            yield server
            server.unload(self.session)

    def turn(self, prompt: str) -> Json:
        """One turn in a process of its own; its first request."""
        before = len(self.client.service.of("turn"))
        with self.resumed() as server:
            server.turn(self.session, prompt)
        return self.client.service.of("turn")[before]


def times(text: str, body: Json) -> int:
    """How often a text is in a request."""
    return sum(text_of(item).count(text) for item in body["input"])


@pytest.fixture
def installed(
    homes: Homes,
    api_client: ApiClient,
    open_door: Callable[..., TestDoor],
    at_once: None,
    no_other_store: None,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Inside]:
    """A copy of a session of the real client, with the door installed."""
    try:
        client, session = homes("paginated")
    except NotInstalled as missing:
        pytest.skip(f"Codex is not here: {missing}")
    monkeypatch.setattr(codex, "NOTE_SECONDS", PATIENCE)
    monkeypatch.setenv("PATH", f"{client.program.parent}{os.pathsep}{os.environ['PATH']}")
    write_rules(client.work, "STYLE.md")
    with Service() as service:
        copied = client.copy(tmp_path / "copy", service)
        agent = RealAgent(f"codex:///{copied.home}")
        settings.STORES = {"work": agent.url}
        settings.WORKSPACES = [copied.work]
        StoreRules.objects.create(store="work", sections=SECTIONS)
        store_api = StoreApi(api_client, "work", agent)
        yield Inside(copied, session, store_api, open_door(get_store("work"), codex.AGENT))


def test_the_note_is_in_the_next_request_once(installed: Inside) -> None:
    assert times(EVENT_START, installed.turn("Before.")) == 0
    installed.compact()
    assert times(EVENT_START, installed.turn("After.")) == 1
    assert statuses() == [("note", "delivered")]
    assert times(EVENT_START, installed.turn("Later.")) == 1, "the client keeps it in its history"


def test_the_audit_is_passed_by_reading_what_the_note_names(installed: Inside) -> None:
    installed.compact()
    installed.client.service.replies += [calls(shell("cat STYLE.md")), says("Read.")]
    installed.turn("Begin.")
    assert judged(installed.store_api.api_client, "work", installed.session) == "passed"
    assert statuses() == [("note", "delivered")]


def test_its_own_compaction_gets_a_note_as_well(installed: Inside) -> None:
    with installed.resumed() as server:
        server.compact(installed.session)
        server.turn(installed.session, "After.")
    assert times(EVENT_START, installed.client.service.of("turn")[-1]) == 1
    assert statuses() == [("note", "delivered")]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_without_the_site_its_turns_are_as_ever(trouble: str, installed: Inside) -> None:
    installed.compact()
    with installed.door.in_trouble(trouble):
        body = installed.turn("After.")
    assert times(EVENT_START, body) == 0 and "additional_context" not in json.dumps(body["input"])
    assert statuses() == [("note", "pending")]


def test_it_asks_what_was_summarised_away_without_asking_you(installed: Inside) -> None:
    installed.compact()
    installed.door.serve(f"work=codex://{installed.client.home}")
    asked = {"query": "What was asked first?", "session": installed.session}
    service = installed.client.service
    with installed.client.app_server() as server:
        thread = server.start(model=GPT_5)
        for _ in range(9):  # it goes on without a server that is not there yet
            server.turn(thread, "Are you there?")
            if "palimpsest" in json.dumps(service.of("turn")[-1]):
                break
            time.sleep(5)
        service.replies += [calls(function("search_history", asked, "mcp__palimpsest")), says("That.")]
        server.turn(thread, "What was it?")
    answers = [item for item in service.of("turn")[-1]["input"] if item["type"].endswith("_output")]
    answer = json.dumps(answers[-1])
    assert "messages that are no longer in context" in answer and "guessed" not in answer


def test_removed_it_leaves_nothing(installed: Inside, open_door: Callable[..., TestDoor]) -> None:
    settings = installed.client.home / "config.toml"
    assert "palimpsest" in settings.read_text()
    installed.turn("With it.")
    with installed.client.app_server() as server:  # as it does when a directory is trusted
        value = {"keyPath": "projects./work.trust_level", "value": "trusted", "mergeStrategy": "replace"}
        server.call("config/value/write", **value)
    doors.remove(get_store("work"))
    ours = installed.client._settings()
    assert tomllib.loads(settings.read_text()) == tomllib.loads(ours) | {
        "projects": {"/work": {"trust_level": "trusted"}}
    }
    open_door(get_store("work"), codex.AGENT)
    doors.remove(get_store("work"))
    assert "palimpsest" not in settings.read_text() and not installed.door.connection.parent.exists()


def test_untouched_the_settings_get_their_bytes_back(installed: Inside) -> None:
    assert doors.remove(get_store("work")) == []
    assert (installed.client.home / "config.toml").read_text() == installed.client._settings()
