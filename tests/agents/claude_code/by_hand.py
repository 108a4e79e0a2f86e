"""Claude Code by hand: lines as the client writes them, and the rule by which it resumes in few words.
What the client itself makes of our lines is held in `tests/interop/claude_code`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import pytest

from tests.agents.base import Agent, Heard, Line, Message, objects
from viewer.stores.base import Store
from viewer.stores.reader import Reader
from viewer.stores.registry import open_store

TYPES = ("user", "assistant", "system", "attachment")


class ClaudeByHand(Agent):
    """A configuration directory with one project."""

    writes_messages = False
    unique_titles = False

    def __init__(self, path: Path) -> None:
        super().__init__(f"claude-code://{path}")
        self.root, self.project = path, path / "projects" / "-home-user-work"
        self.project.mkdir(parents=True)

    def id_of(self, name: str) -> str:
        return str(uuid5(NAMESPACE_OID, name))

    def _path(self, session_id: str) -> Path:
        own = self.project / f"{session_id}.jsonl"
        return own if own.exists() else self.project / f"{self.id_of(session_id)}.jsonl"

    # -- writing

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        title = {"type": "custom-title", "customTitle": session_id, "sessionId": self.id_of(session_id)}
        self._append(session_id, title)
        for message in messages:
            self.say(session_id, message)

    def say(self, session_id: str, message: Message) -> None:
        thread = resumed(self.lines(session_id))
        self.hang(session_id, thread[-1]["uuid"] if thread else None, record(message))

    def take_back(self, session_id: str) -> None:
        """A rewind: the next record, which is no message, hangs before the newest request."""
        thread = resumed(self.lines(session_id))
        asked = [at for at, each in enumerate(thread) if is_request(each)]
        before = thread[: asked[-1]]
        note = {"type": "system", "subtype": "informational", "content": "Rewound", "isMeta": False, "level": "info"}
        self.hang(session_id, before[-1]["uuid"] if before else None, note)

    def hang(self, session_id: str, parent: str | None, line: Line) -> None:
        """Append a record behind another one."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        around = {
            "uuid": str(uuid4()), "parentUuid": parent, "isSidechain": False, "timestamp": now,
            "cwd": "/home/user/work",
            "sessionId": self.id_of(session_id), "version": "2.1.330", "userType": "external", "entrypoint": "cli",
            "gitBranch": "main",
        }  # fmt: skip
        self._append(session_id, line | around)

    def _append(self, session_id: str, line: Line) -> None:
        with self._path(session_id).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    # -- reading

    def lines(self, session_id: str) -> list[Line]:
        return objects(self._path(session_id).read_bytes())

    def load(self, session_id: str) -> list[Heard]:
        said = [each for each in resumed(self.lines(session_id)) if each["type"] in ("user", "assistant")]
        return [heard(each["message"]) for each in said]

    def rows(self) -> list[tuple[Any, ...]]:
        return [(path.name, path.read_bytes()) for path in sorted(self.project.glob("*.jsonl"))]

    # -- what nobody asks for

    @contextmanager
    def compacting(self, session_id: str) -> Iterator[None]:
        """A client has the session open: this very process."""
        directory = self.root / "sessions"
        directory.mkdir(exist_ok=True)
        start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        told = {"pid": os.getpid(), "sessionId": self.id_of(session_id), "procStart": start, "status": "idle"}
        place = directory / f"{os.getpid()}.json"
        place.write_text(json.dumps(told))
        yield
        place.unlink()

    def break_rows(self, session_id: str) -> None:
        def broken(said: list[Line]) -> None:
            said[0]["message"]["role"] = "narrator"
            said[1]["message"]["content"][1:] = [{"type": "tool_use", "input": "{broken"}]

        self._rewrite(session_id, broken)

    def overwrite(self, session_id: str) -> None:
        self._rewrite(session_id, lambda said: said[0]["message"].update(content="something else"))

    def _rewrite(self, session_id: str, change: Any) -> None:
        lines = self.lines(session_id)
        change([each for each in lines if "message" in each])
        self._path(session_id).write_text("".join(json.dumps(each) + "\n" for each in lines))

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError("It has no SQL.")


def record(message: Message) -> Line:
    """A message of a chat as a line."""
    if message["role"] == "tool":
        block = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
        return {"type": "user", "message": {"role": "user", "content": [block]}}
    if message["role"] == "user":
        return {"type": "user", "message": {"role": "user", "content": message["content"]}}
    calls = [
        {
            "type": "tool_use",
            "id": call["id"],
            "name": call["function"]["name"],
            "input": json.loads(call["function"]["arguments"]),
        }
        for call in message.get("tool_calls", [])
    ]
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {
        "type": "assistant",
        "message": {
            "id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "model": "test-model", "usage": usage,
            "content": [{"type": "text", "text": message["content"]}, *calls],
        },
    }  # fmt: skip


def heard(message: Line) -> Heard:
    """Role and content of a message as the chat has them."""
    content = message["content"]
    if isinstance(content, str):
        return message["role"], content
    if content[0]["type"] == "tool_result":
        return "tool", content[0]["content"]
    return message["role"], "".join(block["text"] for block in content if block["type"] == "text")


def is_request(line: Line) -> bool:
    return line["type"] == "user" and isinstance(line["message"]["content"], str) and not line.get("isCompactSummary")


def resumed(lines: Sequence[Line]) -> list[Line]:
    """The records that the client goes on from: of one session, whose calls are each one line with their text."""
    nodes: dict[str, Line] = {}
    for line in lines:
        if "uuid" in line and line["type"] in TYPES:
            place = nodes[line["uuid"]]["place"] if line["uuid"] in nodes else len(nodes)
            nodes[line["uuid"]] = {**line, "place": place}
    edge = max((each["place"] for each in nodes.values() if each.get("subtype") == "compact_boundary"), default=-1)
    boundary = next((each for each in nodes.values() if each["place"] == edge), None)
    kept = boundary["compactMetadata"]["preservedMessages"] if boundary else {"uuids": [], "anchorUuid": None}
    parents = {uuid: each["parentUuid"] for uuid, each in nodes.items()}
    if boundary:
        assert boundary["content"] == "Conversation compacted"  # the client shows it
        dropped = {uuid for uuid, each in nodes.items() if each["place"] < edge} - set(kept["uuids"])
        for uuid, each in nodes.items():
            if each["place"] > edge and parents[uuid] in {kept["anchorUuid"], *dropped}:
                parents[uuid] = kept["uuids"][-1]
        parents |= dict(zip(kept["uuids"], [kept["anchorUuid"], *kept["uuids"]], strict=False))
        nodes = {uuid: each for uuid, each in nodes.items() if uuid not in dropped}
    at = _end(lines, nodes, parents)
    thread = []
    while at in nodes:
        thread.append(nodes[at])
        at = parents[at]
    return thread[::-1]


def _end(lines: Sequence[Line], nodes: dict[str, Line], parents: dict[str, Any]) -> str | None:
    """The newest record without a child, or what the last `last-prompt` behind the newest boundary leads to."""
    order = sorted(nodes, key=lambda uuid: nodes[uuid]["place"])
    newest = {parents[uuid]: uuid for uuid in order}
    boundaries = [at for at, line in enumerate(lines) if nodes.get(line.get("uuid", ""), {}).get("compactMetadata")]
    behind = lines[boundaries[-1] :] if boundaries else lines
    named = [line["leafUuid"] for line in behind if line["type"] == "last-prompt" and line["leafUuid"] in nodes]
    at: str | None = named[-1] if named else next((uuid for uuid in reversed(order) if uuid not in newest), None)
    while at in newest:
        at = newest[at]
    return at


@pytest.fixture
def agent(tmp_path: Path) -> ClaudeByHand:
    return ClaudeByHand(tmp_path / "claude")


@pytest.fixture
def reader(agent: ClaudeByHand) -> Iterator[Reader]:
    with open_store(Store("claude", agent.url, "configured")) as found:
        yield found
