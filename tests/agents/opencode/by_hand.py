"""OpenCode by hand: rows as the client writes them, in tables that it made, and its rule in few words."""

from __future__ import annotations

import gzip
import json
import secrets
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.agents.base import Agent, Heard, Json, Line, Message

DATA = Path(__file__).resolve().parents[2] / "data" / "opencode"
CWD = "/home/user/work"
MODEL = {"providerID": "test", "modelID": "test-model"}
TOKENS = {"total": 110, "input": 100, "output": 10, "reasoning": 0, "cache": {"write": 0, "read": 0}}
CLEARED = "[Old tool result content cleared]"
WHILE = 5_000  # milliseconds


def recorded(name: str, path: Path) -> Path:
    """A database that the real client wrote."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.decompress((DATA / f"{name}.db.gz").read_bytes()))
    return path


class OpenCodeByHand(Agent):
    """A data directory with a database without sessions, or with those of a recording."""

    writes_messages = False
    keeps_start = False
    redoes = True
    shortens = False
    unique_titles = False
    renames = False
    branches = False
    keeps_taken_back = False  # the client deletes it, with the next prompt

    def __init__(self, path: Path, name: str = "") -> None:
        super().__init__(f"opencode://{path}")
        self.database = recorded(name or "plain", path / "opencode.db")
        self._last = 0
        self._held: sqlite3.Connection | None = None
        if not name:
            for table in ("part", "message", "session"):
                self.sql(f"DELETE FROM {table}")
        self.sql("PRAGMA journal_mode = WAL")

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connection() as con:
            return con.execute(query, values).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """One connection for all that is done inside."""
        if self._held is not None:
            yield self._held
            return
        with closing(sqlite3.connect(self.database, isolation_level=None, timeout=20)) as self._held:
            self._held.execute("PRAGMA foreign_keys = ON")
            self._held.execute("PRAGMA synchronous = OFF")
            try:
                yield self._held
            finally:
                self._held = None

    def rows(self) -> list[tuple[Any, ...]]:
        """Without prompts that have no words yet."""
        messages = "SELECT * FROM message WHERE id IN (SELECT message_id FROM part) ORDER BY id"
        return [*self.sql(messages), *self.sql("SELECT * FROM part ORDER BY id")]

    # -- writing

    def now(self) -> int:
        """A time in milliseconds, later than that of any message: no two calls return the same. It is a little in the
        past, as a test may write faster than a message in a millisecond, and a time that is yet to come says nothing.
        """
        ((newest,),) = self.sql("SELECT max(time_created) FROM message")
        self._last = max(self._last + 1, (newest or 0) + 1, time.time_ns() // 1_000_000 - WHILE)
        return self._last

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        at, ((project,),) = self.now(), self.sql("SELECT id FROM project")
        self.insert(
            "session", id=session_id, project_id=project, slug="a", directory=CWD, title=session_id, version="1.18.33",
            model=json.dumps({"id": "test-model", "providerID": "test"}), agent="build", time_created=at,
            time_updated=at,
        )  # fmt: skip
        with self._connection():
            for message in messages:
                self.say(session_id, message)

    def insert(self, table: str, **values: Any) -> None:
        marks = ", ".join("?" * len(values))
        self.sql(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", *values.values())

    def say(self, session_id: str, message: Message) -> None:
        content = {"type": "text", "text": message["content"]}
        if message["role"] == "user":
            self.message(session_id, {"role": "user", "agent": "build", "model": MODEL}, [content])
        elif message["role"] == "assistant":
            calls = message.get("tool_calls", ())
            self.reply(session_id, [content, *map(_call, calls)], "tool-calls" if calls else "stop")
        else:
            path = "$.callID"
            query = "SELECT id, data FROM part WHERE session_id = ? AND json_extract(data, ?) = ?"
            ((part, data),) = self.sql(query, session_id, path, message["tool_call_id"])
            state = json.loads(data)["state"] | {"status": "completed", "output": message["content"], "title": ""}
            at = self.now()
            state["time"] |= {"end": at}
            done = json.dumps(json.loads(data) | {"state": state})
            self.sql("UPDATE part SET data = ?, time_updated = ? WHERE id = ?", done, at, part)

    def reply(self, session_id: str, parts: Sequence[Json], finish: str = "stop", **more: Any) -> str:
        """An answer to the newest prompt."""
        prompts = [each["id"] for each, _ in self.messages(session_id) if each["role"] == "user"]
        data = {
            "role": "assistant", "parentID": prompts[-1] if prompts else "", "mode": "build", "agent": "build",
            "path": {"cwd": CWD, "root": CWD}, "cost": 0.5, "tokens": TOKENS, "modelID": "test-model",
            "providerID": "test", "finish": finish, "completes": True,
        }  # fmt: skip
        ends = {"type": "step-finish", "reason": finish, "tokens": TOKENS, "cost": 0.5}
        return self.message(session_id, data | more, [{"type": "step-start"}, *parts, ends])

    def message(self, session_id: str, data: Json, parts: Sequence[Json]) -> str:
        """A message with its parts; its id."""
        at = self.now()
        message_id, times = _id("msg", at), {"created": at}
        if data.pop("completes", False):
            times["completed"] = at
        row = {"session_id": session_id, "time_created": at, "time_updated": at}
        self.insert("message", id=message_id, **row, data=json.dumps(data | {"time": times}))
        for number, part in enumerate(parts):
            self.insert("part", id=_id("prt", at, number), message_id=message_id, **row, data=json.dumps(part))
        return message_id

    def compaction(self, session_id: str, summary: str, tail: str = "", **more: Any) -> tuple[str, str]:
        """A compaction by the client itself: the ids of its request and its summary."""
        part = {"type": "compaction", "auto": False} | ({"tail_start_id": tail} if tail else {})
        asked = self.message(session_id, {"role": "user", "agent": "build", "model": MODEL}, [part])
        said = {"type": "text", "text": summary}
        return asked, self.reply(session_id, [said], mode="compaction", summary=True, **more)

    def take_back(self, session_id: str) -> None:
        """What the prompt after /undo does: the newest request goes, with all that follows."""
        messages = [each for each, _ in self.messages(session_id)]
        at = max(at for at, each in enumerate(messages) if each["role"] == "user")
        for each in messages[at:]:
            self.sql("DELETE FROM message WHERE id = ?", each["id"])
        self.sql("UPDATE session SET time_updated = ? WHERE id = ?", self.now(), session_id)

    def revert(self, session_id: str, message_id: str) -> None:
        """/undo: it says from where on the next prompt deletes."""
        self.sql("UPDATE session SET revert = ? WHERE id = ?", json.dumps({"messageID": message_id}), session_id)

    # -- reading

    def messages(self, session_id: str) -> list[tuple[Line, list[Line]]]:
        """Messages with their parts, in the client's order."""
        query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
        return [
            (json.loads(data) | {"id": each}, [json.loads(part) for (part,) in self.sql(_PARTS, each)])
            for each, data in self.sql(query, session_id)
        ]

    def load(self, session_id: str) -> list[Heard]:
        return loaded(self.messages(session_id))

    # -- what nobody asks for

    @contextmanager
    def running(self) -> Iterator[None]:
        """A process has the database open, as a client has it all its life."""
        with self.database.open("r+b") as file, subprocess.Popen(["sleep", "60"], stdin=file) as process:
            yield
            process.kill()

    @contextmanager
    def compacting(self, session_id: str) -> Iterator[None]:
        """A client is in the middle of a turn."""
        asked = self.message(session_id, {"role": "user", "agent": "build", "model": MODEL}, [])
        with self.running():
            yield
        self.sql("DELETE FROM message WHERE id = ?", asked)

    def overwrite(self, session_id: str) -> None:
        ((part,),) = self.sql("SELECT min(id) FROM part WHERE session_id = ?", session_id)
        self.sql("UPDATE part SET data = json_set(data, '$.text', 'something else') WHERE id = ?", part)

    def break_rows(self, session_id: str) -> None:
        first, second = (each["id"] for each, _ in self.messages(session_id)[:2])
        self.sql("UPDATE message SET data = json_set(data, '$.role', 'narrator') WHERE id = ?", first)
        broken = "UPDATE part SET data = json_set(data, '$.state.input', '{broken') WHERE message_id = ?"
        self.sql(f"{broken} AND json_extract(data, '$.type') = 'tool'", second)


_PARTS = "SELECT data FROM part WHERE message_id = ? ORDER BY id"


def _id(prefix: str, at: int, number: int = 0) -> str:
    return f"{prefix}_{(at * 4096 + number + 1) % 2**48:012x}{secrets.token_hex(7)}"


def _call(call: Json) -> Json:
    state = {"status": "running", "input": json.loads(call["function"]["arguments"]), "time": {"start": 1}}
    return {"type": "tool", "tool": call["function"]["name"], "callID": call["id"], "state": state}


def loaded(messages: Sequence[tuple[Line, list[Line]]]) -> list[Heard]:
    """What the client goes on from, without its question before a summary."""
    return [heard for message, parts in filtered(messages) for heard in _heard(message, parts)]


def _heard(message: Line, parts: Sequence[Line]) -> Iterator[Heard]:
    texts = [part["text"] for part in parts if part["type"] == "text"]
    if texts:
        yield message["role"], "".join(texts)
    for part in parts:
        if part["type"] == "tool" and part["state"]["status"] == "completed":
            is_cleared = part["state"]["time"].get("compacted")
            yield "tool", CLEARED if is_cleared else part["state"]["output"]


def filtered(messages: Sequence[tuple[Line, list[Line]]]) -> list[tuple[Line, list[Line]]]:
    """The messages in context: from the end back to the newest compaction, or to the first message that it kept."""
    summaries = {
        each["parentID"]: at for at, (each, _) in enumerate(messages) if each.get("summary") is True and each["finish"]
    }
    asked = [at for at, (each, _) in enumerate(messages) if each["id"] in summaries]
    if not asked:
        return list(messages)
    at, end = asked[-1], summaries[messages[asked[-1]][0]["id"]]
    tail = next(part.get("tail_start_id") for part in messages[at][1] if part["type"] == "compaction")
    start = next((n for n, (each, _) in enumerate(messages) if each["id"] == tail), at)
    if tail and start == at:
        return list(messages)  # all of them
    return [*messages[at : end + 1], *messages[start:at], *messages[end + 1 :]]
