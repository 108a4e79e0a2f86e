"""Codex by hand: lines as the client writes them, and the rule by which it resumes in few words.
What the client itself sends of its files is held in `tests/interop/codex`.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import pytest

from tests.agents.base import Agent, Heard, Line, Message, objects
from viewer.stores.base import Store
from viewer.stores.reader import Reader
from viewer.stores.registry import open_store

INTERNAL = "internal_chat_message_metadata_passthrough"
CONTEXT = "<environment_context>\n  <cwd>/home/user/work</cwd>\n</environment_context>"
# A change as the client's tool takes it.
ENVELOPE = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** Add File: b.py\n+new\n*** End Patch"


class CodexByHand(Agent):
    """A home with the sessions of one day, and the client's database of names."""

    writes_messages = False
    unique_titles = False
    renames = False
    redoes = True

    def __init__(self, path: Path) -> None:
        super().__init__(f"codex://{path}")
        self.root, self.day = path, path / "sessions" / "2026" / "11" / "26"
        self.day.mkdir(parents=True)
        self.segments = 0
        self.sql("CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT, name TEXT)")

    def id_of(self, name: str) -> str:
        return str(uuid5(NAMESPACE_OID, name))

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.root / "state_5.sqlite", isolation_level=None)) as con:
            return con.execute(query, values).fetchall()

    def path(self, session_id: str) -> Path:
        """The file that a session goes on in."""
        rows = self.sql("SELECT rollout_path FROM threads WHERE id = ?", self._thread(session_id))
        found = (path for (path,) in rows)
        return Path(next(found, None) or next(self.root.rglob(f"rollout-*-{session_id}.jsonl")))

    def _thread(self, session_id: str) -> str:
        known = self.sql("SELECT id FROM threads WHERE id = ?", session_id)
        return session_id if known else self.id_of(session_id)

    # -- writing

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        thread = self.id_of(session_id)
        path = self.day / f"rollout-2026-11-26T10-00-00-{thread}.jsonl"
        self.sql("INSERT INTO threads VALUES (?, ?, ?)", thread, str(path), session_id)
        self.append(session_id, "session_meta", meta(thread))
        self.append(session_id, "turn_context", {"turn_id": "t1", "cwd": "/home/user/work", "model": "test-model"})
        self.append(session_id, "response_item", told("user", CONTEXT, "environments.environment_context"))
        for message in messages:
            self.say(session_id, message)

    def say(self, session_id: str, message: Message) -> None:
        for item in items(message):
            self.append(session_id, "response_item", item)
        if message["role"] == "assistant":
            self.append(session_id, "token_usage_record", {"thread_id": self._thread(session_id)})

    def append(self, session_id: str, kind: str, payload: Line, **more: Any) -> None:
        """A line behind the others of the current file."""
        path = self.path(session_id)
        ordinal = len(path.read_bytes().splitlines()) if path.exists() else 0
        line = {"timestamp": now(), "ordinal": ordinal, "type": kind, "payload": payload} | more
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def take_back(self, session_id: str) -> None:
        """A revert: a file that goes on from before the newest request."""
        path, asked, at = self.path(session_id), 0, 0
        for raw in path.read_bytes().splitlines(keepends=True):
            if any(is_request(each["payload"]) for each in objects(raw)):
                asked = at
            at += len(raw)
        self.segments += 1
        thread, segment = self._thread(session_id), str(uuid5(NAMESPACE_OID, f"segment {self.segments}"))
        base = {"thread_id": path.stem.rpartition("_")[2] if "_" in path.stem else thread, "end_byte_offset": asked}
        newer = self.day / f"rollout-2026-11-26T10-00-{self.segments:02}-{thread}_{segment}.jsonl"
        self.sql("UPDATE threads SET rollout_path = ? WHERE id = ?", str(newer), thread)
        self.append(session_id, "session_meta", meta(thread) | {"history_base": base})

    # -- reading

    def load(self, session_id: str) -> list[Heard]:
        found: list[Line] = []
        for line in self._lines(self.path(session_id), None):
            if line["type"] == "response_item":
                found.append(line["payload"])
            elif line["type"] == "compacted":
                found = list(line["payload"]["replacement_history"])
        return heard(found)

    def _lines(self, path: Path, end: int | None) -> list[Line]:
        own = objects(path.read_bytes()[:end])
        base = own[0]["payload"].get("history_base")
        if not base:
            return own
        (before,) = (each for each in self.day.iterdir() if each.stem.endswith(("-" + base["thread_id"],)) or
                     each.stem.endswith("_" + base["thread_id"]))  # fmt: skip
        return [*self._lines(before, base["end_byte_offset"]), *own]

    def rows(self) -> list[tuple[Any, ...]]:
        return [(path.name, path.read_bytes()) for path in sorted(self.day.iterdir())]

    # -- what nobody asks for

    @contextmanager
    def compacting(self, session_id: str) -> Iterator[None]:
        """A client has the session open: this very process."""
        directory = self.root / "thread-writer-locks"
        directory.mkdir(exist_ok=True)
        place = directory / f"{self._thread(session_id)}.lock"
        with place.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
            place.unlink()

    def break_rows(self, session_id: str) -> None:
        def broken(said: list[Line]) -> None:
            said[0]["role"] = "narrator"
            next(each for each in said if each["type"] == "function_call")["arguments"] = "{broken"

        self._rewrite(session_id, broken)

    def overwrite(self, session_id: str) -> None:
        self._rewrite(session_id, lambda said: said[0]["content"][0].update(text="something else"))

    def _rewrite(self, session_id: str, change: Any) -> None:
        path = self.path(session_id)
        lines = objects(path.read_bytes())
        said = [each["payload"] for each in lines if each["type"] == "response_item"]
        change([each for each in said if not is_context(each)])
        path.write_text("".join(json.dumps(each) + "\n" for each in lines))


def meta(thread: str) -> Line:
    """The first line of a file."""
    return {
        "id": thread, "session_id": thread, "timestamp": now(), "cwd": "/home/user/work", "originator": "codex_exec",
        "cli_version": "0.169.0", "source": "cli", "model_provider": "test", "history_mode": "paginated",
        "git": {"branch": "main"}, "context_window": {"window_id": str(uuid5(NAMESPACE_OID, thread))},
    }  # fmt: skip


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def told(role: str, text: Any, kind: str) -> Line:
    """A message as an item; `kind` is the client's word for its content."""
    part = "output_text" if role == "assistant" else "input_text"
    return {
        "type": "message", "id": f"msg_{uuid4().hex}", "role": role, "content": [{"type": part, "text": text}],
        INTERNAL: {"content_item_kinds": [kind]},
    }  # fmt: skip


def items(message: Message) -> list[Line]:
    """A message of a chat as items."""
    if message["role"] == "tool":
        output = {"call_id": message["tool_call_id"], "output": message["content"]}
        return [{"type": "function_call_output", "id": f"fco_{uuid4().hex}"} | output]
    if message["role"] == "user":
        return [told("user", message["content"], "user.text")]
    calls = [
        {"type": "function_call", "id": f"fc_{uuid4().hex}", "call_id": call["id"], **call["function"]}
        for call in message.get("tool_calls", [])
    ]
    return [told("assistant", message["content"], "unknown"), *calls]


def is_context(item: Line) -> bool:
    kinds: list[str] = item.get(INTERNAL, {}).get("content_item_kinds", []) if item["type"] == "message" else []
    return kinds == ["environments.environment_context"]


def is_request(item: Line) -> bool:
    return item.get("role") == "user" and not is_context(item)


def heard(found: Sequence[Line]) -> list[Heard]:
    """Role and content of what was said, as the chat has them: calls belong to the reply before them."""
    said: list[Heard] = []
    for item in found:
        if item["type"] == "message" and not is_context(item):
            said.append((item["role"], "".join(part["text"] for part in item["content"])))
        elif item["type"] == "function_call_output":
            said.append(("tool", item["output"]))
    return said


@pytest.fixture
def agent(tmp_path: Path) -> CodexByHand:
    return CodexByHand(tmp_path / "codex")


@pytest.fixture
def reader(agent: CodexByHand) -> Iterator[Reader]:
    with open_store(Store("codex", agent.url, "configured")) as found:
        yield found


@pytest.fixture
def session_id(agent: CodexByHand) -> str:
    """The id of the session that the agent calls "s"."""
    return agent.id_of("s")


def fresh(agent: CodexByHand) -> Reader:
    """A reader as another request has it."""
    with open_store(Store("codex", agent.url, "configured")) as found:
        return found
