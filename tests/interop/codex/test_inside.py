"""What is installed into the real Codex: its hook is trusted, takes the note, and its model calls our tools."""

from __future__ import annotations

import json
import os
import socket
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from compaction.handoff import EVENT_START
from tests.agents.base import Json
from tests.clients import ApiClient
from tests.interop.fetched import NotInstalled
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi

from .app_server import AppServer
from .client import GPT_5, Client
from .opened import Homes, homes
from .scenes import shell
from .service import Service, calls, function, says, text_of
from .work import KEPT

__all__ = ["homes"]

RULES = "## Session Startup\n\nRead `STYLE.md` first.\n\n## Red Lines\n\nNever push to main.\n"
PATIENCE = 60  # seconds for the hook: no test depends on the speed of its machine


@dataclass
class Inside:
    """The real client with a session in a workspace with rules, and the site that is installed into it."""

    client: Client
    session: str
    store_api: StoreApi
    connection: Path

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

    def statuses(self) -> list[tuple[str, str]]:
        from viewer.enforcement.models import Event

        return list(Event.objects.order_by("pk").values_list("kind", "status"))

    def judged(self) -> str:
        """The state of the newest audit, after a worker looked."""
        from viewer.enforcement import auditing
        from viewer.history import index_cache
        from viewer.stores.registry import get_store, open_store

        with open_store(get_store("work")) as reader:
            session = reader.session(self.session)
            return auditing.look(reader, session, index_cache.index_of(reader, session), arm=True)[0].status

    def change(self, **values: Any) -> None:
        """Change the connection."""
        self.connection.write_text(json.dumps(json.loads(self.connection.read_text()) | values))


def times(text: str, body: Json) -> int:
    """How often a text is in a request."""
    return sum(text_of(item).count(text) for item in body["input"])


@pytest.fixture
def installed(
    homes: Homes,
    api_client: ApiClient,
    transactional_db: None,
    at_once: None,
    live_server: LiveServer,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Inside]:
    """A copy of a session of the real client, with the door installed."""
    from viewer.inside import doors
    from viewer.inside.agents import agent_named, codex
    from viewer.inside.agents.agent import DoorOptions
    from viewer.stores.registry import get_store
    from viewer.workspaces.models import StoreRules

    try:
        client, session = homes("paginated")
    except NotInstalled as missing:
        pytest.skip(f"Codex is not here: {missing}")
    monkeypatch.setattr(codex, "NOTE_SECONDS", PATIENCE)
    monkeypatch.setenv("PATH", f"{client.program.parent}{os.pathsep}{os.environ['PATH']}")
    (client.work / "AGENTS.md").write_text(RULES)
    (client.work / "STYLE.md").write_text("Small steps.\n")
    with Service() as service:
        copied = client.copy(tmp_path / "copy", service)
        settings.STORES = {"work": f"codex:///{copied.home}"}
        settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = tmp_path / "no-home"
        settings.DEMO_STORE = tmp_path / "no-demo.db"
        settings.WORKSPACES = [copied.work]
        settings.SITE_ADDRESS, settings.DATA_DIR = live_server.url, tmp_path / "site"
        StoreRules.objects.create(store="work", sections=["Session Startup", "Red Lines"])
        doors.install(agent_named("codex"), get_store("work"), DoorOptions())
        inside = Inside(
            copied, session, StoreApi(api_client, "work", RealAgent(f"codex:///{copied.home}")),
            doors.connection_file(get_store("work")),
        )  # fmt: skip
        inside.change(note_seconds=PATIENCE)
        yield inside


def test_the_note_is_in_the_next_request_once(installed: Inside) -> None:
    assert times(EVENT_START, installed.turn("Before.")) == 0
    installed.compact()
    assert times(EVENT_START, installed.turn("After.")) == 1
    assert installed.statuses() == [("note", "delivered")]
    assert times(EVENT_START, installed.turn("Later.")) == 1, "the client keeps it in its history"


def test_the_audit_is_passed_by_reading_what_the_note_names(installed: Inside) -> None:
    installed.compact()
    installed.client.service.replies += [calls(shell("cat STYLE.md")), says("Read.")]
    installed.turn("Begin.")
    assert installed.judged() == "passed"
    assert installed.statuses() == [("note", "delivered")]


def test_its_own_compaction_gets_a_note_as_well(installed: Inside) -> None:
    with installed.resumed() as server:
        server.compact(installed.session)
        server.turn(installed.session, "After.")
    assert times(EVENT_START, installed.client.service.of("turn")[-1]) == 1
    assert installed.statuses() == [("note", "delivered")]


@contextmanager
def mute() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("trouble", ["stopped", "mute", "revoked", "no connection"])
def test_without_the_site_its_turns_are_as_ever(trouble: str, installed: Inside) -> None:
    installed.compact()
    with mute() as address:
        if trouble == "no connection":
            installed.connection.unlink()
        else:
            changed = {"stopped": {"site": "http://127.0.0.1:9"}, "mute": {"site": address}, "revoked": {"token": "no"}}
            installed.change(**changed[trouble], note_seconds=0.15)
        body = installed.turn("After.")
    assert times(EVENT_START, body) == 0 and "additional_context" not in json.dumps(body["input"])
    assert installed.statuses() == [("note", "pending")]


def test_it_asks_what_was_summarised_away_without_asking_you(installed: Inside) -> None:
    installed.compact()
    environment = json.loads(installed.connection.read_text())["environment"]
    installed.change(environment={**environment, "PALIMPSEST_STORES": f"work=codex://{installed.client.home}"})
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


def test_removed_it_leaves_nothing(installed: Inside) -> None:
    from viewer.inside import doors
    from viewer.stores.registry import get_store

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
    doors.install(*_again())
    doors.remove(get_store("work"))
    assert "palimpsest" not in settings.read_text() and not installed.connection.parent.exists()


def test_untouched_the_settings_get_their_bytes_back(installed: Inside) -> None:
    from viewer.inside import doors
    from viewer.stores.registry import get_store

    assert doors.remove(get_store("work")) == []
    assert (installed.client.home / "config.toml").read_text() == installed.client._settings()


def _again() -> Any:
    from viewer.inside.agents import agent_named
    from viewer.inside.agents.agent import DoorOptions
    from viewer.stores.registry import get_store

    return agent_named("codex"), get_store("work"), DoorOptions()
