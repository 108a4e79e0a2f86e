"""pi by hand: lines as the client writes them, the rule by which it goes on, in few words, and files of any lines."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import pytest

from tests.agents.base import Agent, Heard, Line, Message, objects

CWD = "/home/user/work"
WHILE = 60_000_000_000  # nanoseconds after which no client is taken to be at a file
START = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
END = "\n</summary>"
STAMP = "2026-11-26T10:00:{:02}.000Z"
HEADER: Line = {"type": "session", "version": 3, "id": "s", "timestamp": STAMP.format(0), "cwd": CWD}
USAGE = {
    "input": 100, "output": 10, "cacheRead": 20, "cacheWrite": 5, "totalTokens": 135,
    "cost": {"input": 0.05, "output": 0.05, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.1},
}  # fmt: skip


class PiByHand(Agent):
    """A directory with the sessions of one working directory."""

    writes_messages = False
    keeps_start = False
    redoes = True
    shortens = False  # by one whose settings name no version that knows it
    unique_titles = False
    renames = False

    def __init__(self, path: Path) -> None:
        super().__init__(f"pi://{path}")
        self.root, self.directory = path, path / "sessions" / "--home-user-work--"
        self.directory.mkdir(parents=True)

    def id_of(self, name: str) -> str:
        return str(uuid5(NAMESPACE_OID, name))

    def path(self, session_id: str) -> Path:
        for branch in self.directory.glob(f"*_{session_id}.jsonl"):
            return branch
        return self.directory / f"2026-11-26T10-00-00-000Z_{self.id_of(session_id)}.jsonl"

    # -- writing

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        header = {"type": "session", "version": 3, "id": self.id_of(session_id), "timestamp": now(), "cwd": CWD}
        self.path(session_id).write_text(json.dumps(header) + "\n")
        self._age(session_id)
        self.append(session_id, "model_change", provider="test", modelId="test-model")
        self.append(session_id, "session_info", name=session_id)
        for message in messages:
            self.say(session_id, message)

    def say(self, session_id: str, message: Message) -> None:
        self.append(session_id, "message", message=said(message))

    def append(self, session_id: str, kind: str, /, **more: Any) -> Line:
        """A line behind the others, which hangs on the newest one where nothing else is said."""
        entries = [each for each in self.entries(session_id) if each["type"] != "session"]
        parent = entries[-1]["id"] if entries else None
        line = {"type": kind, "id": uuid4().hex[:8], "parentId": parent, "timestamp": now()} | more
        with self.path(session_id).open("a") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._age(session_id)
        return line

    def _age(self, session_id: str) -> None:
        """Have the file look as if it was written a while ago, and no client were at it."""
        written = time.time_ns() - WHILE
        os.utime(self.path(session_id), ns=(written, written))

    def take_back(self, session_id: str) -> None:
        """A way back in the tree: the next entry hangs on what stands before the newest request."""
        request = [each for each in self.active(session_id) if is_request(each)][-1]
        self.append(session_id, "label", parentId=request["parentId"], targetId=request["parentId"], label="here")

    # -- reading

    def entries(self, session_id: str) -> list[Line]:
        return objects(self.path(session_id).read_bytes())

    def active(self, session_id: str) -> list[Line]:
        """The entries from the root to the newest one."""
        return active(self.entries(session_id))

    def load(self, session_id: str) -> list[Heard]:
        return loaded(self.active(session_id))

    def rows(self) -> list[tuple[Any, ...]]:
        return [(path.name, path.read_bytes()) for path in sorted(self.directory.iterdir())]

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError("It has no SQL.")

    # -- what nobody asks for

    @contextmanager
    def compacting(self, session_id: str) -> Iterator[None]:
        """A client has just written to the file."""
        os.utime(self.path(session_id))
        yield
        self._age(session_id)

    def overwrite(self, session_id: str) -> None:
        lines = self.entries(session_id)
        first = next(each for each in lines if each["type"] == "message")
        first["message"]["content"][0]["text"] = "something else"
        self.path(session_id).write_text("".join(json.dumps(each) + "\n" for each in lines))
        self._age(session_id)

    def break_rows(self, session_id: str) -> None:
        lines = self.entries(session_id)
        broken([each for each in lines if each["type"] == "message"])
        self.path(session_id).write_text("".join(json.dumps(each) + "\n" for each in lines))


def now() -> str:
    """The time now; no two calls return the same."""
    time.sleep(0.001)
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def said(message: Message) -> Line:
    """A message of a chat as the client stores it."""
    stamp, text = int(time.time() * 1000), {"type": "text", "text": message["content"]}
    if message["role"] == "tool":
        call = {"toolCallId": message["tool_call_id"], "toolName": "terminal", "isError": False}
        return {"role": "toolResult", "content": [text], "timestamp": stamp} | call
    if message["role"] == "user":
        return {"role": "user", "content": [text], "timestamp": stamp}
    calls = [
        {"type": "toolCall", "id": each["id"], "name": each["function"]["name"],
         "arguments": json.loads(each["function"]["arguments"])}
        for each in message.get("tool_calls", [])
    ]  # fmt: skip
    return {
        "role": "assistant", "content": [text, *calls], "api": "openai-completions", "provider": "test",
        "model": "test-model", "usage": USAGE, "stopReason": "toolUse" if calls else "stop", "timestamp": stamp,
    }  # fmt: skip


def heard(message: Line) -> Heard:
    """Role and text of a stored message, as a chat has them."""
    role = "tool" if message["role"] == "toolResult" else message["role"]
    return role, "".join(part["text"] for part in message["content"] if part["type"] == "text")


def loaded(path: Sequence[Line]) -> list[Heard]:
    """What a client goes on from: all of a path, or the newest compaction's summary and what stays from an entry on."""
    at = next((at for at in range(len(path) - 1, -1, -1) if path[at]["type"] == "compaction"), None)
    if at is None:
        return [heard(each["message"]) for each in path if each["type"] == "message"]
    ids = [each["id"] for each in path[:at]]
    first = ids.index(path[at]["firstKeptEntryId"]) if path[at]["firstKeptEntryId"] in ids else at
    kept = [each for each in (*path[first:at], *path[at + 1 :]) if each["type"] == "message"]
    return [("user", wrapped(path[at]["summary"])), *(heard(each["message"]) for each in kept)]


def wrapped(summary: str) -> str:
    """A summary in the words in which pi and OpenClaw send it."""
    return f"{START}{summary}{END}"


def is_request(entry: Line) -> bool:
    return bool(entry["type"] == "message" and entry["message"]["role"] == "user")


def active(entries: Sequence[Line]) -> list[Line]:
    """The entries from the root to the leaf, which is the newest one, or what a `leaf` entry at the end points to."""
    nodes = {each["id"]: each for each in entries if each["type"] != "session"}
    newest = next((each for each in reversed(entries) if each["type"] != "session"), None)
    at = None if newest is None else newest["targetId"] if newest["type"] == "leaf" else newest["id"]
    path: list[Line] = []
    while at is not None:
        path.append(nodes[at])
        at = nodes[at]["parentId"]
    return path[::-1]


def broken(said: Sequence[Line]) -> None:
    """Make of the first two messages what no known version writes."""
    said[0]["message"]["role"] = "narrator"
    for part in said[1]["message"]["content"]:
        if part["type"] == "toolCall":
            part["arguments"] = "{broken"


@pytest.fixture
def agent(tmp_path: Path) -> PiByHand:
    made = PiByHand(tmp_path / "pi")
    made.write("s", [])
    return made


@pytest.fixture
def session_id(agent: PiByHand) -> str:
    return agent.id_of("s")


def ask(agent: PiByHand, text: str, **more: Any) -> str:
    """A request; the id of its entry."""
    return str(agent.append("s", "message", message=said({"role": "user", "content": text}), **more)["id"])


def entry(name: str, parent: str | None, kind: str = "message", /, **more: Any) -> Line:
    """An entry; a message says its own name, in turns as a person and as a model."""
    number = int("".join(filter(str.isdigit, name)) or 0)
    if kind == "message" and "message" not in more:
        more["message"] = said({"role": "assistant" if number % 2 == 0 else "user", "content": name})
    return {"type": kind, "id": name, "parentId": parent, "timestamp": STAMP.format(number % 60), **more}


def row(*names: str) -> list[Line]:
    """Entries that hang on one another."""
    return [entry(name, parent) for name, parent in zip(names, (None, *names), strict=False)]


def put(agent: PiByHand, lines: Sequence[Line | bytes], session_id: str = "s") -> None:
    """Write a file of these lines, nobody being at it."""
    data = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in lines]
    agent.path(session_id).write_bytes(b"".join(each + b"\n" for each in data))
    agent._age(session_id)
