"""Palimpsest inside the real Hermes: installed, called by it, and taken out again."""

from __future__ import annotations

import json
import sys
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
from tests.clients import ApiClient, signed_in_client
from tests.doors import TROUBLES, TestDoor, change_json
from tests.interop.inside import RULE, judged, statuses
from tests.workspace_session import AGENTS
from viewer.stores.base import Store

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("at_once")]

SESSION = "20261127_100000_eeeeee"
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
        return self.sent()

    def sent(self) -> list[dict[str, Any]]:
        """The messages of the newest request of the conversation."""
        messages: list[dict[str, Any]] = self._newest()["messages"]
        return messages

    def offered(self) -> str:
        """The tools in it, and those that 0.22 only lists there."""
        return json.dumps(self._newest()["tools"])

    def calls(self, tool: str, **arguments: Any) -> None:
        """The model's next answer is this call of a plugin's tool, which 0.22 has behind a tool of its own."""
        direct = (tool, arguments)
        bridged = ("tool_call", {"calls": [{"name": tool, "arguments": arguments}]})
        self.model.calls = [[bridged if "tool_call" in self.offered() else direct]]

    def _newest(self) -> dict[str, Any]:
        return next(each for each in reversed(self.model.requests) if each.get("tools"))  # the title is asked, too

    def summaries(self) -> int:
        """How many summaries were asked for."""
        asked = [str(each["messages"][-1]["content"]) for each in self.model.requests if not each.get("tools")]
        return sum("summar" in text.lower() and "Question 3" in text for text in asked)

    def files(self) -> dict[str, bytes]:
        """What we write to, and the directory of plugins."""
        paths = [self.home / "config.yaml", *sorted((self.home / "plugins").rglob("*"))]
        return {str(path): path.read_bytes() for path in paths if path.is_file() and "__pycache__" not in path.parts}

    def boundaries(self) -> list[dict[str, Any]]:
        """The compactions that the site lists."""
        return list(self.api_client.get(f"/stores/hermes/sessions/{self.tip()}/compactions")["items"])

    def judged(self) -> str:
        return judged(self.api_client, self.store.name, self.tip())

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


def install(inside: InsideHermes, open_door: OpenDoor, **options: bool) -> TestDoor:
    from viewer.inside.agents.hermes import AGENT

    door = open_door(inside.store, AGENT, **options)
    inside.start()
    inside.resume()
    return door


def count(messages: list[dict[str, Any]], text: str) -> int:
    return sum(str(message.get("content")).count(text) for message in messages)


def test_it_goes_again_without_a_trace(inside: InsideHermes, open_door: OpenDoor) -> None:
    from viewer.inside import doors

    before = inside.files()
    install(inside, open_door, engine=True)
    config = (inside.home / "config.yaml").read_text()
    assert config.startswith("# Of mine: Zoë\n") and "# The end\n" in config
    assert inside.asked("Are you there?")[-1]["content"] == "Are you there?"
    assert "search_history" in inside.offered() and "read_history" in inside.offered()
    assert inside.hermes.ask("engine")["name"] == "palimpsest"
    inside.stop()
    assert doors.remove(inside.store) == []
    assert inside.files() == before and not (inside.home / "plugins" / "palimpsest").exists()


def compact_here(inside: InsideHermes) -> None:
    """A compaction of the site."""
    status, run = inside.api_client.call("POST", f"/stores/hermes/sessions/{SESSION}/runs", {"apply": True})
    assert status == 202 and run["status"] == "applied", run


def test_the_note_is_in_the_next_request_once(inside: InsideHermes, open_door: OpenDoor) -> None:
    inside.resume()
    inside.talk()
    install(inside, open_door)
    compact_here(inside)
    inside.start()
    inside.resume()
    content = inside.asked("Go on.")[-1]["content"]
    assert content.startswith("Go on.") and EVENT_START in content and RULE in content
    events = inside.api_client.get(f"/stores/hermes/sessions/{SESSION}/events")["items"]
    assert [event["status"] for event in events] == ["delivered"]
    assert inside.judged() == "missing"
    sent = inside.asked("And further?")
    assert count(sent, EVENT_START) == 1, "Hermes keeps it with the message that it was sent with"
    assert WARNING_START in sent[-1]["content"], "nothing was read"
    inside.start()
    inside.resume()
    sent = inside.asked("Are you still there?")
    assert (count(sent, EVENT_START), count(sent, WARNING_START)) == (1, 1)


def test_the_audit_is_passed_by_reading(inside: InsideHermes, open_door: OpenDoor) -> None:
    inside.resume()
    inside.talk()
    install(inside, open_door)
    compact_here(inside)
    inside.resume()
    inside.model.calls = [
        [("read_file", {"path": str(inside.workspace / name)}) for name in ("WORKFLOW.md", "STYLE.md")]
    ]
    inside.asked("Go on.")
    assert inside.judged() == "passed"
    assert count(inside.asked("And further?"), WARNING_START) == 0


def test_hermes_own_compaction_is_by_our_engine(inside: InsideHermes, open_door: OpenDoor) -> None:
    install(inside, open_door, engine=True)
    calls = [("terminal", {"command": "echo one"}), ("terminal", {"command": "echo two"})]
    inside.model.calls = [calls]
    inside.talk()
    inside.model.calls = [calls]
    inside.hermes.turn("Look once more.")
    before = len(inside.hermes.conversation(SESSION))
    compacted = inside.hermes.compact("the ticket T-4003")
    assert len(compacted) < before and sum(map(is_handoff, compacted)) == 1
    assert inside.summaries() == 0
    called = {call["id"] for each in compacted for call in each.get("tool_calls") or ()}
    assert called and called == {each["tool_call_id"] for each in compacted if each["role"] == "tool"}
    assert inside.tip() == SESSION
    sent = inside.asked("Go on.")
    first = next(str(each["content"]) for each in sent if is_handoff(each))
    assert first.count(RULES_OPEN) == 1 and RULE in first and "T-4003" in first
    for at in range(TURNS):
        inside.model.reply = f"Later answer {at}. {LONG}"
        inside.hermes.turn(f"Later question {at}")
    inside.hermes.compact()
    assert inside.summaries() == 0
    sent = inside.asked("And now?")
    summary = next(str(each["content"]) for each in sent if is_handoff(each))
    assert summary.count(RULES_OPEN) == 1 and RULE in summary, "the rules outlive the next compaction"
    newest = inside.boundaries()[-1]
    assert newest["by"] == "by Palimpsest, inside Hermes" and newest["undoable"]
    path = f"/stores/hermes/sessions/{SESSION}?around={newest['handoff_id']}"
    assert newest["by"] in signed_in_client().get(path).content.decode()


def test_it_compacts_by_itself_at_hermes_threshold(inside: InsideHermes, open_door: OpenDoor) -> None:
    with open(inside.home / "config.yaml", "a") as config:
        config.write("compression:\n  threshold: 0.9\n  protect_last_n: 12\n  target_ratio: 0.3\n")
    inside.start()
    inside.resume()
    own = inside.hermes.ask("engine")
    inside.talk()
    assert inside.api_client.get(f"/stores/hermes/sessions/{SESSION}")["context_window"] == own["context_length"]
    install(inside, open_door, engine=True)
    assert own["protect_last_n"] == 12 and inside.hermes.ask("engine") == {**own, "name": "palimpsest"}
    inside.model.prompt_tokens = own["threshold_tokens"] + 1_000
    inside.model.calls = [[("terminal", {"command": "echo one"})]]
    inside.asked("Go on.")
    inside.model.prompt_tokens = 100
    sent = inside.asked("And now?")
    assert inside.summaries() == 0
    assert sum(map(is_handoff, sent)) == 1 and len(sent) < 2 * TURNS
    assert {each["by"] for each in inside.boundaries()} == {"by Palimpsest, inside Hermes"}


def test_a_compaction_inside_can_be_undone(inside: InsideHermes, open_door: OpenDoor) -> None:
    from viewer.runs import service

    install(inside, open_door, engine=True)
    inside.talk()
    before = [(each["role"], each["content"]) for each in inside.hermes.conversation(SESSION)]
    inside.hermes.compact()
    [boundary] = inside.boundaries()
    service.undo(inside.store, SESSION, boundary["handoff_id"])
    assert [(each["role"], each["content"]) for each in inside.hermes.conversation(SESSION)] == before


def test_few_messages_are_left_alone(inside: InsideHermes, open_door: OpenDoor) -> None:
    install(inside, open_door, engine=True)
    inside.hermes.turn("One question.")
    held = inside.hermes.conversation(SESSION)
    assert [each["content"] for each in inside.hermes.compact()] == [each["content"] for each in held]


@pytest.mark.parametrize("broken", ["connection", "python"])
def test_hermes_compacts_itself_where_we_fail(broken: str, inside: InsideHermes, open_door: OpenDoor) -> None:
    door = install(inside, open_door, engine=True)
    if broken == "connection":
        door.connection.unlink()
    else:
        change_json(inside.home / "plugins" / "palimpsest" / "door.json", door=["/not/here/python"])
        inside.start()
        inside.resume()
    inside.talk()
    inside.model.reply = f"## Goal\nWhat Hermes' own model sums up. {LONG}"
    compacted = inside.hermes.compact()
    assert sum(map(is_handoff, compacted)) == 1 and inside.summaries() == 1
    assert count(compacted, "What Hermes' own model sums up.") == 1
    assert [each["by"] for each in inside.boundaries()] == ["by Hermes"]


def test_rules_with_notes_alone(inside: InsideHermes, open_door: OpenDoor) -> None:
    """Hermes' own summary does not have the rules, and the note after it brings them back."""
    install(inside, open_door)
    inside.talk()
    inside.model.reply = f"## Goal\nWhat Hermes' own model sums up. {LONG}"
    compacted = inside.hermes.compact()
    assert count(compacted, RULE) == 0
    inside.model.reply = "Noted."
    sent = inside.asked("Go on.")
    assert count(sent, RULE) == 1 and EVENT_START in sent[-1]["content"]
    assert count(inside.asked("And further?"), EVENT_START) == 1


STAND_IN = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
    if asked["method"] == "tools/call":
        content = [{"type": "text", "text": "Found: " + json.dumps(asked["params"])}]
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": content}}), flush=True)
"""


def test_recall_is_called_and_answered(inside: InsideHermes, open_door: OpenDoor, tmp_path: Path) -> None:
    door = install(inside, open_door)
    (tmp_path / "mcp.py").write_text(STAND_IN)
    door.change(mcp=[sys.executable, str(tmp_path / "mcp.py")])
    inside.hermes.turn("Are you there?")
    inside.calls("search_history", query="Which ticket?")
    inside.hermes.turn("What was it?")
    answer = str(inside.sent()[-1]["content"])
    assert "Found: " in answer and "Which ticket?" in answer and SESSION in answer
    door.connection.unlink()
    inside.calls("read_history", around=3)
    inside.hermes.turn("And before?")
    assert "Found: " in str(inside.sent()[-1]["content"]), "the server that was started"
    inside.start()
    inside.resume()
    inside.hermes.turn("Are you there?")
    inside.calls("read_history", around=3)
    inside.hermes.turn("And before?")
    assert "Palimpsest does not answer." in str(inside.sent()[-1]["content"])


def test_recall_finds_what_was_summarised_away(inside: InsideHermes, open_door: OpenDoor) -> None:
    inside.resume()
    inside.talk()
    door = install(inside, open_door)
    door.serve(f"hermes=sqlite:///{inside.home}/state.db")
    compact_here(inside)
    inside.start()
    inside.resume()
    inside.hermes.turn("Are you there?")
    inside.calls("search_history", query="Which ticket was question 3 about?")
    inside.hermes.turn("What was it?")
    assert "T-4003" in str(inside.sent()[-1]["content"])


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_turn_is_unharmed(trouble: str, inside: InsideHermes, open_door: OpenDoor) -> None:
    inside.resume()
    inside.talk()
    door = install(inside, open_door)
    compact_here(inside)
    inside.start()
    inside.resume()
    with door.in_trouble(trouble):
        assert inside.asked("Go on.")[-1]["content"] == "Go on."
    assert {status for _, status in statuses()} == {"pending"}
