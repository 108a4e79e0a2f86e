"""What is installed into the real client: it takes the note, asks for what its summary needs, and calls our tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_django import Settings

from compaction.handoff import EVENT_START, WARNING_START
from tests.agents.base import Json
from tests.agents.claude_code.by_hand import ClaudeByHand
from tests.clients import ApiClient
from tests.doors import TROUBLES, TestDoor
from tests.interop.fetched import NotInstalled
from tests.interop.inside import RULE, judged, statuses, write_rules
from tests.store_api import StoreApi
from viewer.inside import doors
from viewer.inside.agents import claude_code
from viewer.stores.registry import get_store

from .client import Client, program
from .scenes import new_session, shell
from .service import Service, calls, says, text_of

TURNS = 8
MUCH = "All that is known of this bed. " * 40  # so that a summary is worth while
STANDING = "Always answer in French."
SETTINGS = '{\n\t"permissions": {"allow": ["Bash(ls:*)"]},\n\t"cleanupPeriodDays": 90\n}'
PATIENCE = 60  # seconds for a hook: no test depends on the speed of its machine


@dataclass
class Inside:
    """The real client with a session in a workspace with rules, and the site that is installed into it."""

    client: Client
    session: str
    store_api: StoreApi
    door: TestDoor

    def compact(self) -> None:
        run = self.store_api.run(self.session, apply=True, keep_last=4)
        assert run["status"] == "applied", run

    def turn(self, prompt: str, *options: str) -> Json:
        """One turn in a process of its own; its first request."""
        before = len(self.client.service.of("turn"))
        self.client.turn(self.session, prompt, *options)
        return self.client.service.of("turn")[before]

    def read_it(self) -> None:
        """A turn in which the agent reads the file that the rules name."""
        self.client.service.replies += [
            calls(("Read", {"file_path": str(self.client.work / "STYLE.md")})),
            says("Read."),
        ]
        self.turn("Begin.")

    def judged(self) -> str:
        return judged(self.store_api.api_client, self.store_api.store, self.session)


def times(text: str, body: Json) -> int:
    """How often a text is in a request."""
    return sum(text_of(message["content"]).count(text) for message in body["messages"])


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, str]]:
    """A client with a session in a workspace whose AGENTS.md it does not read, because there is a CLAUDE.md."""
    with Service() as service:
        try:
            client = Client(program(), tmp_path_factory.mktemp("claude-code"), service)
        except NotInstalled as missing:
            pytest.skip(f"Claude Code is not here: {missing}")
        write_rules(client.work, "STYLE.md")
        (client.work / "CLAUDE.md").write_text("Be brief.\n")
        session = new_session()
        with client.open(session) as conversation:
            for number in range(TURNS):
                service.replies.append(says(f"{number}: {MUCH}"))
                conversation.turn(STANDING if number == 1 else f"What grows in bed {number}?")
        (client.config / "settings.json").write_text(SETTINGS)
        yield client, session


@pytest.fixture
def installed(
    original: tuple[Client, str],
    api_client: ApiClient,
    open_door: Callable[..., TestDoor],
    at_once: None,
    no_other_store: None,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Inside]:
    """A copy of it, with the door installed."""
    client, session = original
    monkeypatch.setattr(claude_code, "NOTE_SECONDS", PATIENCE)
    monkeypatch.setattr(claude_code, "BEFORE_SECONDS", PATIENCE)
    with Service() as service:
        copied = client.copy(tmp_path / "copy", service)
        settings_file = copied.config / "settings.json"
        settings_file.write_bytes((client.config / "settings.json").read_bytes())
        settings.STORES = {"work": f"claude-code:///{copied.config}"}
        settings.WORKSPACES = [copied.work]
        store_api = StoreApi(api_client, "work", ClaudeByHand(copied.config))
        yield Inside(copied, session, store_api, open_door(get_store("work"), claude_code.AGENT))


def test_the_note_is_in_the_next_request_once(installed: Inside) -> None:
    assert times(EVENT_START, installed.turn("Before.")) == 0
    installed.compact()
    body = installed.turn("After.")
    assert (times(EVENT_START, body), times(RULE, body)) == (1, 2), "in the note and in the summary"
    assert statuses() == [("note", "delivered")]
    assert times(EVENT_START, installed.turn("Later.")) == 1, "the client keeps it in its history"


def test_the_audit_is_passed_by_reading_what_the_note_names(installed: Inside) -> None:
    installed.compact()
    installed.read_it()
    assert installed.judged() == "passed"
    assert statuses() == [("note", "delivered")]


def test_the_warning_comes_while_the_client_runs(installed: Inside) -> None:
    installed.compact()
    with installed.client.open(installed.session) as conversation:
        conversation.turn("Go on without reading.")
        installed.judged()
        conversation.turn("And on.")
        body = installed.client.service.of("turn")[-1]
        assert (times(EVENT_START, body), times(WARNING_START, body)) == (1, 1)
        conversation.turn("And on again.")
    assert times(WARNING_START, installed.client.service.of("turn")[-1]) == 1
    assert statuses() == [("note", "delivered"), ("warning", "delivered")]


def test_its_own_summary_is_asked_to_keep_what_is_asked_of_it(installed: Inside) -> None:
    installed.client.service.replies.append(says("Which one?"))
    installed.turn("Which port does staging use?")
    installed.client.compact(installed.session, "keep the beds")
    (asked,) = installed.client.service.of("summary")
    prompt = text_of(asked["messages"][-1]["content"])
    assert "keep the beds" in prompt and STANDING in prompt
    assert "Keep these standing instructions" in prompt


def test_its_own_compaction_gets_a_note_as_well(installed: Inside) -> None:
    installed.client.compact(installed.session)
    body = installed.turn("After, before a worker looked.")
    assert times(EVENT_START, body) == 1
    installed.judged()
    assert times(EVENT_START, installed.turn("And on.")) == 1
    assert statuses()[0] == ("note", "delivered")


def test_a_turn_that_is_compacted_midway_goes_on_with_the_note(installed: Inside) -> None:
    installed.client.options["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = "100000"
    installed.client.service.replies += [calls(shell("echo a"), input_tokens=150_000), says("Done.")]
    installed.turn("A great deal.")
    assert len(installed.client.service.of("summary")) == 1
    assert times(EVENT_START, installed.client.service.of("turn")[-1]) == 1
    installed.judged()
    with installed.client.open(installed.session) as conversation:
        conversation.turn("And on.")
        conversation.turn("And on again.")
    assert times(EVENT_START, installed.client.service.of("turn")[-1]) == 1
    assert statuses()[0] == ("note", "delivered")


@pytest.mark.parametrize("trouble", TROUBLES)
def test_without_the_site_its_turns_are_as_ever(trouble: str, installed: Inside) -> None:
    installed.compact()
    with installed.door.in_trouble(trouble):
        body = installed.turn("After.")
        installed.client.compact(installed.session)
    assert times(EVENT_START, body) == 0 and times("hook additional context", body) == 0
    assert times("Keep these standing", installed.client.service.of("summary")[0]) == 0
    assert statuses()[0] == ("note", "pending")


def test_it_finds_what_was_summarised_away_without_asking(installed: Inside) -> None:
    installed.compact()
    installed.door.serve(f"work=claude-code://{installed.client.config}")
    tool = "mcp__plugin_palimpsest_palimpsest__search_history"
    installed.client.service.replies += [calls((tool, {"query": "What grows in bed 0?"})), says("Bed 0.")]
    installed.turn("What was it?")
    blocks = [block for each in installed.client.service.of("turn")[-1]["messages"] for block in each["content"]]
    answer = next(str(each["content"]) for each in blocks if isinstance(each, dict) and each["type"] == "tool_result")
    assert "[message " in answer and "All that is known of this bed." in answer and "guessed" not in answer


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def own(directory: Path) -> dict[str, bytes]:
    """The files that are not the client's state."""
    state = ("projects/", "backups/", "plugins/", "sessions/", ".claude.json", ".last-cleanup", "mcp-needs-auth-cache")
    return {name: content for name, content in files(directory).items() if not name.startswith(state)}


def test_removed_it_leaves_nothing(installed: Inside, original: tuple[Client, str]) -> None:
    config = installed.client.config
    assert set(own(config)) > set(own(original[0].config))
    installed.turn("With it.")
    assert doors.remove(get_store("work")) == []
    assert own(config) == own(original[0].config)
    assert not (config / "skills").exists() and not installed.door.connection.parent.exists()
    installed.compact()
    assert times(EVENT_START, installed.turn("Without it.")) == 0
