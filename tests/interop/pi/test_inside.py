"""What is installed in the real pi: the note reaches its next request once, our engine makes its compactions, and pi
works as ever where there is no Palimpsest.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from compaction.handoff import EVENT_START, RULES_OPEN, WARNING_START
from tests.agents.base import Json
from tests.agents.chat_views import text_of
from tests.doors import TROUBLES, TestDoor, change_json
from tests.interop.chat_service import calls, says, tool
from tests.interop.inside import RULE, SECTIONS, by_us, judged, write_rules
from viewer.enforcement.models import Event
from viewer.inside import doors
from viewer.models import ApiToken
from viewer.runs import undoing
from viewer.stores.registry import get_store

from .client import FULL
from .opened import made, with_the_oldest_too, work
from .rpc import Rpc
from .work import MUCH, Work

__all__ = ["made", "work"]


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
        change_json(self.extension / "door.json", **values)

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

    def judged(self) -> str:
        return judged(self.work.store_api.api_client, "work", self.work.session)


Furnish = Callable[..., Furnished]


def contents(home: Path) -> dict[Path, bytes]:
    """The files in pi's home, but for its sessions."""
    files = (path for path in home.rglob("*") if path.is_file() and "sessions" not in path.parts)
    return {path: path.read_bytes() for path in files}


def noted(sent: Sequence[str]) -> list[str]:
    """The notes among the texts of a request."""
    return [text for text in sent if text.startswith(EVENT_START)]


def texts(messages: Sequence[Json]) -> list[str]:
    """The texts of a request, without the system prompt."""
    return [text_of(each) for each in messages if each["role"] not in ("system", "developer")]


@pytest.fixture
def furnish(work: Work, open_door: Callable[..., TestDoor], settings: Settings) -> Furnish:
    """A function that installs a door with options into a client at work in a workspace with rules."""
    write_rules(work.client.work, "STYLE.md")
    settings.WORKSPACES, settings.RULE_SECTIONS = [work.client.work], SECTIONS

    def furnished(*, before: bool = False, **options: bool) -> Furnished:
        """With `before` nothing is installed yet."""
        found, store = doors.choose("pi")
        inside = Furnished(work, partial(open_door, store, found, **{"recall": False, **options}))
        if not before:
            inside.open()
        return inside

    return furnished


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
    assert RULE in sent[-1] and "- STYLE.md" in sent[-1]
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
            inside.work.client.service.replies += [calls(tool("read", path="STYLE.md"))]
        assert noted(inside.say("Go on."))
        assert inside.judged() == ("passed" if reads else "missing")
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
        assert by_us(again) == [0] and again[0] != sent[0] and again[0].count(RULE) == 1
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
    assert by_us(sent) == [0] and sent[0].count(RULE) == 1 and "bed 5" in "".join(sent)
    assert not inside.work.client.service.of("summary")


def test_it_asks_what_was_summarised_away(furnish: Furnish) -> None:
    """Of its own session, which pi names."""
    inside = furnish(recall=True)
    service = inside.work.client.service
    inside.door.serve(f"work=pi://{inside.work.client.home}")
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
    slept = tmp_path / "slept"
    for trouble in TROUBLES:
        sent = inside.said()
        with inside.door.in_trouble(trouble):
            assert inside.say("Go on.") == [*sent, "Go on."], trouble
    sent = inside.said()
    sleeping = f"import pathlib, time; time.sleep(20); pathlib.Path({str(slept)!r}).touch()"
    inside.configure(note_ms=200, door=[sys.executable, "-c", sleeping])
    assert inside.say("And on.") == [*sent, "And on."] and not slept.exists()
    assert Event.objects.get().status == "pending"
    doors.remove(get_store("work"))
    inside.open()
    ApiToken.objects.filter(door__isnull=False).delete()
    assert not noted(inside.say("Who is there?"))
    assert Event.objects.get().status == "pending"
