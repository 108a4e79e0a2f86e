"""What is installed in the real pi: the note reaches its next request once, our engine makes its compactions, and pi
works as ever where there is no Palimpsest.
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
from integrations import door as door_program
from tests.agents.base import Json
from tests.clients import ApiClient
from tests.doors import TestDoor, slow_site
from tests.interop.chat_service import ChatService, calls, says, tool
from tests.interop.fetched import NotInstalled
from tests.interop.real_agent import RealAgent
from tests.store_api import StoreApi
from viewer.enforcement import auditing
from viewer.enforcement.models import Event
from viewer.history import index_cache
from viewer.inside import doors
from viewer.models import ApiToken
from viewer.runs import undoing
from viewer.stores.registry import get_store, open_store

from .client import NEWEST, OLDER, RESERVE, WINDOW, PiClient, program
from .rpc import Rpc
from .work import MUCH, Work, talk

FULL = WINDOW - RESERVE + 1  # tokens, at which the client compacts
RULES = "# Agents\n\n## Session Startup\nRead `SOUL.md`.\n\n## Red Lines\nNever water at noon.\n"

with_the_oldest_too = pytest.mark.parametrize("made", [OLDER, NEWEST], indirect=True, scope="module")


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[PiClient, Path]:
    """A client in a workspace with rules, and the file of its session."""
    try:
        found = program(getattr(request, "param", NEWEST))
    except NotInstalled as missing:
        pytest.skip(f"pi is not here: {missing}")
    with ChatService() as model:
        client = PiClient(found, tmp_path_factory.mktemp("pi"), model)
        (client.work / "AGENTS.md").write_text(RULES)
        (client.work / "SOUL.md").write_text("Be kind.")
        return client, talk(client)


@dataclass
class Furnished:
    """A session of pi, and the door that is installed in it."""

    work: Work
    install: Callable[[], TestDoor]

    def open(self) -> None:
        """Install the door."""
        self.door = self.install()
        self.configure(note_ms=60_000)  # no test depends on the speed of its machine

    @property
    def extension(self) -> Path:
        return self.work.client.home / "extensions" / "palimpsest"

    def configure(self, **values: Any) -> None:
        """Change what the extension reads at its start."""
        path = self.extension / "door.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    def say(self, prompt: str, process: Rpc | None = None) -> list[str]:
        """The texts of the first request of a turn, without the system prompt."""
        service = self.work.client.service
        before = len(service.of("turn"))
        if process is None:
            self.work.client.turn(self.work.file, prompt)
        else:
            process.turn(prompt)
        return texts(service.of("turn")[before]["messages"])

    def said(self) -> list[str]:
        """What the next request will begin with: what the site says that the model is sent."""
        return [block.said for block in self.work.read() if block.kind == "text"]

    def look(self) -> str:
        """The status of the newest audit, once a worker has looked at the session."""
        with open_store(get_store("work")) as reader:
            session = reader.session(self.work.session)
            return auditing.look(reader, session, index_cache.index_of(reader, session), arm=True)[0].status


Furnish = Callable[..., Furnished]


def contents(home: Path) -> dict[Path, bytes]:
    """The files in pi's home, but for its sessions."""
    files = (path for path in home.rglob("*") if path.is_file() and "sessions" not in path.parts)
    return {path: path.read_bytes() for path in files}


def noted(sent: Sequence[str]) -> list[str]:
    """The notes among the texts of a request."""
    return [text for text in sent if text.startswith(EVENT_START)]


def by_us(sent: Sequence[str]) -> list[int]:
    """Where summaries by our engine are among the texts of a request."""
    return [at for at, text in enumerate(sent) if BY_ENGINE in text]


def texts(messages: Sequence[Json]) -> list[str]:
    """The texts of a request, without the system prompt."""
    return [text_of(each) for each in messages if each["role"] not in ("system", "developer")]


def text_of(message: Json) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


@pytest.fixture
def furnish(
    made: tuple[PiClient, Path],
    live_server: object,
    api_client: ApiClient,
    open_door: Callable[..., TestDoor],
    at_once: None,
    settings: Settings,
    tmp_path: Path,
) -> Iterator[Furnish]:
    """A function that installs a door with options into a copy of the client, whose session the site knows."""
    settings.HERMES_HOME = settings.CLAUDE_HOME = settings.CODEX_HOME = tmp_path / "no-home"
    settings.OPENCLAW_HOME = settings.PI_HOME = tmp_path / "no-home"
    settings.DEMO_STORE = tmp_path / "no-demo.db"
    client, file = made
    settings.WORKSPACES, settings.RULE_SECTIONS = [client.work], ["Session Startup", "Red Lines"]
    with ChatService() as model:
        copied = client.copy(tmp_path / "copy", model)
        agent = RealAgent(f"pi://{copied.home}")
        settings.STORES = {"work": agent.url}
        work = Work(copied, copied.home / file.relative_to(client.home), StoreApi(api_client, "work", agent))

        def furnished(*, before: bool = False, **options: bool) -> Furnished:
            """With `before` nothing is installed yet."""
            found, store = doors.choose("pi")
            made = Furnished(work, partial(open_door, store, found, **{"recall": False, **options}))
            if not before:
                made.open()
            return made

        yield furnished


@with_the_oldest_too
def test_it_is_installed_and_removed_without_a_trace(furnish: Furnish) -> None:
    inside = furnish(recall=True, engine=True, before=True)
    home = inside.work.client.home
    inside.say("Hello.")
    before = contents(home)
    inside.open()
    assert inside.extension.joinpath("index.ts").is_file()
    inside.say("Go on.")
    inside.door.change(mcp=["/nowhere/python"])
    inside.say("And on.")
    doors.remove(get_store("work"))
    assert contents(home) == before and not (home / "extensions").exists()
    assert "And now?" in inside.say("And now?")[-1]


@with_the_oldest_too
def test_the_note_is_in_the_next_request_and_once_in_the_history(furnish: Furnish) -> None:
    inside = furnish()
    assert not noted(inside.say("Nothing happened yet."))
    inside.work.compact()
    assert Event.objects.get().status == "pending"
    sent = inside.say("Go on.")
    assert [each.startswith(EVENT_START) for each in sent[-2:]] == [False, True] and len(noted(sent)) == 1
    assert "Never water at noon." in sent[-1] and "- SOUL.md" in sent[-1]
    assert Event.objects.get().status == "delivered"
    assert len(noted(inside.say("And on."))) == 1, "pi keeps it in its history"
    with inside.work.client.rpc(inside.work.file) as process:
        assert len(noted(inside.say("In an open process.", process))) == 1
    assert noted([str(each["content"]) for each in inside.work.store_api.context(inside.work.session)])


def test_the_files_are_read_and_where_they_are_not_the_warning_arrives(furnish: Furnish) -> None:
    inside = furnish()
    for reads in (True, False):
        inside.work.compact()
        if reads:
            inside.work.client.service.replies += [calls(tool("read", path="SOUL.md"))]
        assert noted(inside.say("Go on."))
        assert inside.look() == ("passed" if reads else "missing")
        sent = inside.say("And on.")
        assert sum(each.startswith(WARNING_START) for each in sent) == (0 if reads else 1)
        assert len(noted(sent)) == 1
        for bed in range(3):
            inside.work.client.service.replies += [says(f"{bed}: {MUCH}")]
            inside.say(f"What else grows in bed {bed}?")


@with_the_oldest_too
def test_our_engine_makes_its_compactions(furnish: Furnish) -> None:
    """By its command and by itself, one on the other; each is a boundary here that can be undone."""
    inside = furnish(engine=True)
    service = inside.work.client.service
    full = inside.say("What is there?")
    with inside.work.client.rpc(inside.work.file) as process:
        process.call("compact", customInstructions="bed 1")
        sent = inside.say("Go on.", process)
        assert by_us(sent) == [0] and RULES_OPEN in sent[0] and len(noted(sent)) == 1 and len(sent) < len(full)
        assert "Focus: bed 1" in sent[0] and "What grows in bed 0?" in sent[0]
        service.replies += [
            calls(tool("bash", command="echo c"), tool("bash", command="echo d")),
            says(f"A great deal. {MUCH}", input_tokens=FULL),
        ]
        inside.say("Do more with bed 4.", process)
        process.settle()
        again = inside.say("And on.", process)
        assert by_us(again) == [0] and again[0] != sent[0] and again[0].count("Never water at noon.") == 1
        assert "What grows in bed 0?" in again[0] and "bed 4" in "".join(again)
    assert not service.of("summary")
    for body in service.of("turn"):
        answered = [each["tool_call_id"] for each in body["messages"] if each["role"] == "tool"]
        assert sorted(answered) == sorted(
            call["id"] for each in body["messages"] for call in each.get("tool_calls", ())
        )
    assert sorted(inside.work.client.files()) == [inside.work.file], "the session is the same"
    made = sorted(inside.work.store_api.compactions(inside.work.session), key=lambda each: str(each["at"]))
    assert [each["by"] for each in made] == ["by Palimpsest, inside pi"] * 2 and made[-1]["undoable"]
    for each in reversed(made):
        inside.work.age()
        undoing.undo(get_store("work"), inside.work.session, each["handoff_id"])
    sent = inside.say("All of it?")
    assert not by_us(sent) and sent[: len(full)] == full


def test_three_messages_are_enough_for_a_summary(furnish: Furnish) -> None:
    inside = furnish(engine=True)
    with inside.work.client.rpc() as process:
        inside.work.client.service.replies += [says("In bed 7 grow leeks."), says(f"Watered. {MUCH}")]
        process.turn("What grows in bed 7?")
        process.turn("Water it.")
        process.call("compact")
        sent = inside.say("And on.", process)
    assert (
        by_us(sent) == [0]
        and "leeks" in sent[0]
        and "from 3 messages" in sent[0]
        and not inside.work.client.service.of("summary")
    )


@pytest.mark.parametrize("broken", ["no connection", "no Python", "no answer"])
def test_pi_compacts_by_itself_where_our_engine_cannot(furnish: Furnish, broken: str) -> None:
    inside = furnish(engine=True)
    if broken == "no connection":
        inside.door.connection.unlink()
    elif broken == "no Python":
        inside.configure(door=["/nowhere/python"])
    else:
        inside.configure(door=[sys.executable, "-c", "print('{}')"])
    with inside.work.client.rpc(inside.work.file) as process:
        process.call("compact")
        sent = inside.say("Go on.", process)
    assert inside.work.client.service.of("summary")
    assert "The summary so far." in sent[0] and not by_us(sent)


def test_without_the_site_our_engine_carries_the_rules_on(furnish: Furnish) -> None:
    inside = furnish(engine=True)
    with inside.work.client.rpc(inside.work.file) as process:
        process.call("compact")
        inside.door.change(site="http://127.0.0.1:9")
        inside.work.client.service.replies += [says(f"{MUCH}")]
        inside.say("What grows in bed 5?", process)
        process.call("compact")
        sent = inside.say("And on.", process)
    assert by_us(sent) == [0] and sent[0].count("Never water at noon.") == 1 and "bed 5" in "".join(sent)
    assert not inside.work.client.service.of("summary")


def test_it_asks_what_was_summarised_away(furnish: Furnish) -> None:
    """Of its own session, which pi names."""
    inside = furnish(recall=True)
    home, service = inside.work.client.home, inside.work.client.service
    environment = json.loads(inside.door.connection.read_text())["environment"]
    inside.door.change(environment={**environment, "PALIMPSEST_STORES": f"work=pi://{home}"})
    inside.work.compact()
    inside.work.client.start("Another session, which is newer.")
    with inside.work.client.rpc(inside.work.file) as process:
        for _ in range(9):  # pi waits ten seconds for the server, and goes on without it
            inside.say("Are you there?", process)
            if "mcp__palimpsest__search_history" in str(service.of("turn")[-1]["tools"]):
                break
        service.replies += [calls(tool("mcp__palimpsest__search_history", query="What grows in bed 0?"))]
        inside.say("What was it?", process)
    second = service.of("turn")[-1]
    answer = texts(second["messages"])[-1]
    assert "guessed" not in answer and "person" in answer and "What grows in bed 0?" in answer.partition("\n\n")[2]


@with_the_oldest_too
def test_a_turn_waits_for_no_site(furnish: Furnish, tmp_path: Path) -> None:
    inside = furnish()
    inside.work.compact()
    inside.door.change(note_seconds=door_program.NOTE_SECONDS)
    connection, slept = inside.door.connection.read_text(), tmp_path / "slept"
    sent = inside.said()
    with slow_site() as slow:
        for changed in ({"site": "http://127.0.0.1:9"}, {"site": slow}, {"token": "palimpsest_wrong"}):
            inside.door.change(**changed)
            assert inside.say("Go on.") == [*sent, "Go on."]
            sent = inside.said()
            inside.door.connection.write_text(connection)
    sleeping = f"import pathlib, time; time.sleep(20); pathlib.Path({str(slept)!r}).touch()"
    inside.configure(note_ms=200, door=[sys.executable, "-c", sleeping])
    assert inside.say("And on.") == [*sent, "And on."] and not slept.exists()
    assert Event.objects.get().status == "pending"
    doors.remove(get_store("work"))
    inside.open()
    ApiToken.objects.filter(door__isnull=False).delete()
    assert not noted(inside.say("Who is there?"))
    assert Event.objects.get().status == "pending"
