"""A program whose sessions are one JSON file: the example in docs/store-kinds.md, which can only be read."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.agents.base import Agent, Heard, Message
from viewer.stores import registry
from viewer.stores.kind import StoreKind

GUIDE = Path(__file__).parents[2] / "docs" / "store-kinds.md"


def add_json_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the site know the kind whose addresses begin with `json:///`."""
    monkeypatch.setattr(registry, "KINDS", [*registry.KINDS, example_kind("JsonFile")])


def example_kind(name: str) -> StoreKind:
    """A kind that the guide writes as an example."""
    texts: list[str] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)
    (text,) = (each for each in texts if f"class {name}(" in each)
    assert text.count("\n") < 120
    example: dict[str, Any] = {"__name__": "example"}
    exec(compile(text, "docs/store-kinds.md", "exec"), example)
    kind: StoreKind = example[name]()
    return kind


def write_sessions(path: Path, sessions: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Write the file anew with these sessions, whose titles are their ids."""
    stored = [{"id": name, "title": name, "messages": messages} for name, messages in sessions.items()]
    path.write_text(json.dumps({"sessions": stored}))


class JsonFile(Agent):
    """The program."""

    can_compact = False

    def __init__(self, path: Path) -> None:
        super().__init__(f"json:///{path}")
        self.path = path
        self._save({})

    def _sessions(self) -> dict[str, list[dict[str, Any]]]:
        return {each["id"]: each["messages"] for each in json.loads(self.path.read_text())["sessions"]}

    def _save(self, sessions: Mapping[str, Sequence[Message]]) -> None:
        stored = [{"id": name, "title": name, "model": "test-model", "messages": sessions[name]} for name in sessions]
        self.path.write_text(json.dumps({"sessions": stored}))

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        now = time.time()
        timed = [{"timestamp": now + number / 1e6, **message} for number, message in enumerate(messages)]
        self._save(self._sessions() | {session_id: timed})

    def say(self, session_id: str, message: Message) -> None:
        self._save(
            {
                name: [*said, {"timestamp": time.time(), **message}] if name == session_id else said
                for name, said in self._sessions().items()
            }
        )

    def _live(self, session_id: str) -> list[dict[str, Any]]:
        return [message for message in self._sessions()[session_id] if not message.get("taken_back")]

    def load(self, session_id: str) -> list[Heard]:
        return [(message["role"], message["content"]) for message in self._live(session_id)]

    def take_back(self, session_id: str) -> None:
        sessions = self._sessions()
        said = sessions[session_id]
        newest = max(at for at, each in enumerate(said) if each["role"] == "user" and not each.get("taken_back"))
        for message in said[newest:]:
            message["taken_back"] = True
        self._save(sessions)

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError("It has no SQL.")

    def rows(self) -> list[tuple[Any, ...]]:
        return [(self.path.read_text(),)]

    def break_rows(self, session_id: str) -> None:
        sessions = self._sessions()
        sessions[session_id][0]["role"], sessions[session_id][1]["tool_calls"] = "narrator", "{broken"
        self._save(sessions)
