"""What is installed in the real OpenClaw: the note reaches its next request once, our engine makes its compactions, and
it works as ever where there is no Palimpsest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from compaction.handoff import BY_ENGINE, EVENT_START, RULES_OPEN, WARNING_START
from tests.agents.base import Json
from tests.agents.chat_views import text_of
from tests.clients import ApiClient
from tests.doors import TROUBLES, TestDoor, change_json
from tests.interop.chat_service import ChatService, calls, says, tool
from tests.interop.fetched import NotInstalled
from tests.interop.inside import RULE, by_us, judged, write_rules
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi
from viewer.enforcement.models import Event
from viewer.inside import doors
from viewer.models import ApiToken
from viewer.runs import undoing
from viewer.stores.registry import get_store

from .client import FULL, FULL_WINDOW, KEY, OpenClawClient, program
from .playing import key_of
from .work import KEPT, MUCH


@dataclass
class Furnished:
    """A client in a workspace with rules, and the door that can be installed in it."""

    client: OpenClawClient
    store_api: StoreApi
    install: Callable[..., TestDoor]

    def open(self, **options: bool) -> None:
        """Install the door."""
        self.door = self.install(**options)
        self.configure(note_ms=60_000)  # no test depends on the speed of its machine

    def configure(self, **values: Any) -> None:
        """Change what the plugin reads at its start."""
        path = self.door.connection.parent / "plugin" / "door.json"
        if path.exists():
            change_json(path, **values)

    @property
    def settings(self) -> Path:
        return self.client.state / "openclaw.json"

    @property
    def model(self) -> ChatService:
        return self.client.service

    def say(self, prompt: str, key: str = KEY) -> list[str]:
        """The texts of the first request of a turn, without the system prompt and the client's own at the end."""
        before = len(self.model.of("turn"))
        self.client.turn(prompt, key)
        asked = [each for each in self.model.of("turn")[before:] if prompt in str(each["messages"][-2:])]
        return [text_of(each) for each in asked[0]["messages"][:-1] if each["role"] not in ("system", "developer")]

    def talk(self, about: str, turns: int = 3, key: str = KEY) -> None:
        """Turns enough for a compaction."""
        for number in range(turns):
            if number == 1:
                self.model.replies += [calls(tool("exec", command="echo a"), tool("exec", command="echo b"))]
            self.model.replies += [says(f"{number}: {MUCH}")]
            self.client.turn(f"What grows in {about} {number}?", key)

    def compact(self) -> None:
        """Here, not by the client."""
        run = self.store_api.run(self.client.session_of(), apply=True, keep_last=KEPT)
        assert run["status"] == "applied", json.dumps(run)

    def judged(self) -> str:
        return judged(self.store_api.api_client, "work", self.client.session_of())


@pytest.fixture
def furnish(
    api_client: ApiClient,
    open_door: Callable[..., TestDoor],
    at_once: None,
    no_other_store: None,
    settings: Settings,
    tmp_path: Path,
) -> Iterator[Callable[..., Furnished]]:
    """A function that makes a client, which the site knows."""
    try:
        found = program()
    except NotInstalled as missing:
        pytest.skip(f"OpenClaw is not here: {missing}")
    with ChatService() as model:

        def furnished(**made: Any) -> Furnished:
            client = OpenClawClient(found, tmp_path / "openclaw", model, **made)
            write_rules(client.work, "SOUL.md")
            (client.state / "agents" / "main" / "agent").mkdir(parents=True)
            agent = RealAgent(f"openclaw://{client.state}")
            settings.STORES, settings.WORKSPACES = {"work": agent.url}, [client.work]
            openclaw, store = doors.choose("openclaw")
            return Furnished(client, StoreApi(api_client, "work", agent), partial(open_door, store, openclaw))

        yield furnished


Furnish = Callable[..., Furnished]


def noted(sent: Sequence[str]) -> int:
    """How many notes are in the texts of a request."""
    return sum(text.count(EVENT_START) for text in sent)


def answered(body: Json) -> bool:
    """Whether each call in a request has its result, and each result its call."""
    called = [call["id"] for each in body["messages"] for call in each.get("tool_calls") or ()]
    return sorted(called) == sorted(each["tool_call_id"] for each in body["messages"] if each["role"] == "tool")


def test_the_note_is_in_exactly_the_next_request_also_after_a_restart(furnish: Furnish) -> None:
    inside = furnish()
    inside.open()
    with inside.client.gateway():
        inside.talk("bed")
        assert not noted(inside.say("Nothing happened yet."))
        inside.compact()
        inside.model.replies += [calls(tool("read", path="SOUL.md"))]
        sent = inside.say("Go on.")
        assert noted(sent) == 1 and noted(sent[-1:]) == 1 and "Go on." in sent[-1] and "- SOUL.md" in sent[-1]
        assert Event.objects.get().status == "delivered" and inside.judged() == "passed"
        assert not noted(inside.say("And on.")), "OpenClaw does not store it"
        inside.talk("field")
        inside.compact()
    with inside.client.gateway():
        assert noted(inside.say("And now?")) == 1
        assert inside.judged() == "missing"
        sent = inside.say("And then?")
        assert not noted(sent) and WARNING_START in sent[-1]
        assert WARNING_START not in "".join(inside.say("And so on."))


def test_our_engine_makes_its_compactions(furnish: Furnish) -> None:
    """By its command and by itself, one on the other; each is a boundary here that can be undone."""
    inside = furnish(window=FULL_WINDOW)
    inside.open(engine=True)
    with inside.client.gateway():
        inside.talk("bed")
        full = inside.say("What is there?")
        inside.client.compact()
        sent = inside.say("Go on.")
        assert by_us(sent) == [0] and sent[0].count(RULE) == sent[0].count(RULES_OPEN) == 1
        assert noted(sent) == 1 and sent[0].index(RULES_OPEN) < sent[0].index("What grows in bed 0?")
        session = inside.client.session_of()
        inside.model.replies += [says(f"A great deal. {MUCH}", input_tokens=FULL)]
        inside.say("What grows in field 7?")
        again = inside.say("And on.")
        assert by_us(again) == [0] and again[0] != sent[0] and again[0].count(RULE) == 1
        assert "What grows in bed 0?" in again[0] and "field 7" in "".join(again)
        assert inside.client.session_of() == session and not inside.model.of("summary")
        made = sorted(inside.store_api.compactions(session), key=lambda each: str(each["at"]))
        assert [each["by"] for each in made] == ["by Palimpsest, inside OpenClaw"] * 2 and made[-1]["undoable"]
        for each in reversed(made):
            undoing.undo(get_store("work"), session, each["handoff_id"])
        inside.model.replies += [says("All of it.")]
        whole = inside.say("All of it?")
        assert not by_us(whole) and whole[: len(full) - 1] == full[:-1]

        few = key_of("few")
        inside.model.replies += [says("In bed 7 grow leeks."), says(f"Watered. {MUCH}")]
        inside.client.turn("What grows in bed 7?", few)
        inside.client.turn("Water it.", few)
        inside.client.compact(few)
        sent = inside.say("Go on.", few)
        assert by_us(sent) == [0] and "leeks" in sent[0] and not inside.model.of("summary")
        assert all(map(answered, inside.model.of("turn")))

        inside.door.connection.unlink()
        inside.talk("wood", 2, few)
        inside.client.compact(few)
        sent = inside.say("And now?", few)
        assert inside.model.of("summary"), "OpenClaw has its own model make it"
        newest = inside.store_api.compactions(inside.client.session_of(few))[-1]
        assert newest["summary"] in sent[0] and not newest["summary"].startswith(BY_ENGINE)


def test_it_asks_what_was_summarised_away_waits_for_no_site_and_is_removed(furnish: Furnish, tmp_path: Path) -> None:
    inside = furnish()
    before, slept = inside.settings.read_bytes(), tmp_path / "slept"
    inside.open()
    inside.door.serve(f"work=openclaw://{inside.client.state}")
    with inside.client.gateway():
        inside.talk("bed")
        inside.compact()
        asked = {"id": "palimpsest__search_history", "args": {"query": "What grows in bed 0?"}}
        inside.model.replies += [calls(tool("tool_call", **asked))]
        inside.say("What was it?")
        answer = text_of(inside.model.of("turn")[-1]["messages"][-2])
        assert "no longer in context" in answer and "0: All that is known" in answer

        inside.talk("field")
        inside.compact()
        for trouble in TROUBLES:
            with inside.door.in_trouble(trouble):
                sent = inside.say("Go on.")
            assert not noted(sent) and sent[-1].endswith("Go on."), trouble
        ApiToken.objects.filter(door__isnull=False).delete()
        assert not noted(inside.say("Who is there?"))
        assert Event.objects.latest("pk").status == "pending"
    sleeping = f"import pathlib, time; time.sleep(20); pathlib.Path({str(slept)!r}).touch()"
    inside.configure(note_ms=200, door=[sys.executable, "-c", sleeping])
    with inside.client.gateway():
        sent = inside.say("And on.")
        assert not noted(sent) and sent[-1].endswith("And on.") and not slept.exists()
    doors.remove(get_store("work"))
    assert inside.settings.read_bytes() == before and not inside.door.connection.parent.exists()
    with inside.client.gateway():
        assert inside.say("And now?")
