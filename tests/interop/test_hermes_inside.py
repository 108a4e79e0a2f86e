"""Palimpsest inside the real Hermes: installed, called by it, and taken out again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from pytest_django import Settings

from compaction.handoff import EVENT_START, RULES_OPEN, WARNING_START, is_handoff
from tests.agents.hermes.model import Model
from tests.agents.hermes.real import Hermes, configured
from tests.api.workspace_session import AGENTS
from tests.clients import ApiClient
from tests.inside.conftest import open_door  # noqa: F401  # a fixture
from tests.inside.doors import TestDoor
from viewer.stores.base import Store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]

SESSION = "20261127_100000_eeeeee"
RULE = "Never push to main."
TURNS = 14
LONG = "All that is known of this bed is written here, in many words. " * 30


@dataclass
class InsideHermes:
    """A Hermes whose home has a store that the site knows, a session in a workspace with rules, and a door."""

    python: Path
    home: Path
    model: Model
    workspace: Path
    api_client: ApiClient
    running: list[Hermes] = field(default_factory=list)

    @property
    def hermes(self) -> Hermes:
        return self.running[-1]

    @property
    def store(self) -> Store:
        from viewer.stores.registry import get_store

        return get_store("hermes")

    def start(self) -> Hermes:
        """A new process, in which the session is resumed if it is there."""
        self.stop()
        self.running.append(Hermes(self.python, self.home, self.model.url))
        self.hermes.open(self.home / "state.db")
        return self.hermes

    def stop(self) -> None:
        while self.running:
            self.running.pop().stop()

    def resume(self) -> None:
        self.hermes.resume(SESSION, "terminal", "file", "palimpsest")

    def talk(self) -> None:
        """A conversation that is long enough for a compaction."""
        for at in range(TURNS):
            self.model.reply = f"Answer {at}: see /srv/x-{at}.txt. {LONG}"
            self.hermes.turn(f"Question {at}: ticket T-{4000 + at}")
        self.model.reply = "Noted."

    def asked(self, text: str) -> list[dict[str, Any]]:
        """The messages of the last request of a turn."""
        self.hermes.turn(text)
        messages: list[dict[str, Any]] = self.model.requests[-1]["messages"]
        return messages

    def files(self) -> dict[str, bytes]:
        """What we write to, and the directory of plugins."""
        paths = [self.home / "config.yaml", *sorted((self.home / "plugins").rglob("*"))]
        return {str(path): path.read_bytes() for path in paths if path.is_file() and "__pycache__" not in path.parts}

    def boundaries(self) -> list[dict[str, Any]]:
        return list(self.api_client.get(f"/stores/hermes/sessions/{self.tip()}/compactions")["items"])

    def tip(self) -> str:
        """The session that goes on after a compaction."""
        return str(self.hermes.db("get_compression_tip", SESSION) or SESSION)


@pytest.fixture
def inside(
    schema: int, request: pytest.FixtureRequest, tmp_path: Path, settings: Settings, api_client: ApiClient
) -> Iterator[InsideHermes]:
    with Model() as model:
        home, workspace = tmp_path / "hermes", tmp_path / "ws"
        settings.STORES, settings.WORKSPACES = {"hermes": f"sqlite:///{home}/state.db"}, [tmp_path]
        workspace.mkdir()
        (workspace / "AGENTS.md").write_text(AGENTS)
        for name in ("WORKFLOW.md", "STYLE.md"):
            (workspace / name).write_text("Work in small steps.\n")
        home.mkdir()
        config = yaml.safe_dump(json.loads(configured(model.url)), sort_keys=False)
        (home / "config.yaml").write_text(f"# Of mine: Zoë\n\n{config}\n# The end\n")
        found = InsideHermes(request.getfixturevalue(f"hermes{schema}"), home, model, workspace, api_client)
        found.start().create_session(SESSION, "cli", model="test-model", cwd=str(workspace))
        yield found
        found.stop()
        model.shutdown()


OpenDoor = Callable[..., TestDoor]


def install(inside: InsideHermes, open_door: OpenDoor, **options: bool) -> TestDoor:  # noqa: F811
    from viewer.inside.agents.hermes import AGENT

    door = open_door(inside.store, AGENT, **options)
    inside.start()
    inside.resume()
    return door


def count(messages: list[dict[str, Any]], text: str) -> int:
    return sum(str(message.get("content")).count(text) for message in messages)


def test_it_goes_again_without_a_trace(inside: InsideHermes, open_door: OpenDoor) -> None:  # noqa: F811
    from viewer.inside import doors

    before = inside.files()
    install(inside, open_door, engine=True)
    config = (inside.home / "config.yaml").read_text()
    assert config.startswith("# Of mine: Zoë\n") and "# The end\n" in config
    assert inside.asked("Are you there?")[-1]["content"] == "Are you there?"
    offered = [tool["function"]["name"] for tool in inside.model.requests[-1]["tools"]]
    assert {"search_history", "read_history"} <= set(offered)
    assert inside.hermes.ask("engine")["name"] == "palimpsest"
    inside.stop()
    assert doors.remove(inside.store) == []
    assert inside.files() == before and not (inside.home / "plugins" / "palimpsest").exists()


def test_the_note_is_in_the_next_request_once(inside: InsideHermes, open_door: OpenDoor) -> None:  # noqa: F811
    inside.resume()
    inside.talk()
    install(inside, open_door)
    status, run = inside.api_client.call("POST", f"/stores/hermes/sessions/{SESSION}/runs", {"apply": True})
    assert status == 202 and run["status"] == "applied", run
    inside.start()
    inside.resume()
    sent = inside.asked("Go on.")
    assert sent[-1]["content"].startswith("Go on.") and EVENT_START in sent[-1]["content"] and RULE in sent[-1]["content"]
    events = inside.api_client.get(f"/stores/hermes/sessions/{SESSION}/events")["items"]
    assert [event["status"] for event in events] == ["delivered"]
    sent = inside.asked("And further?")
    print([str(m["content"])[:60] for m in sent])
    assert count(sent, EVENT_START) == 1
