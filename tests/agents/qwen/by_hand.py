"""Qwen Code by hand: records as the client writes them, and the rule by which it goes on, in few words."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

import pytest

from tests.agents.base import Agent, Heard, Line, Message, objects

CWD = "/home/user/work"
RECORDED = Path(__file__).parents[2] / "data" / "qwen"  # homes as the client wrote them, and `sent.json`
USED = {
    "promptTokenCount": 100, "candidatesTokenCount": 10, "thoughtsTokenCount": 5, "totalTokenCount": 110,
    "cachedContentTokenCount": 20,
}  # fmt: skip


class QwenByHand(Agent):
    """A home with the sessions of one directory."""

    can_compact = False

    def __init__(self, path: Path) -> None:
        super().__init__(f"qwen://{path}")
        self.chats = path / "projects" / "-home-user-work" / "chats"
        self.chats.mkdir(parents=True)

    def id_of(self, name: str) -> str:
        return str(uuid5(NAMESPACE_OID, name))

    def path(self, name: str) -> Path:
        return self.chats / f"{self.id_of(name)}.jsonl"

    # -- writing

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        self.path(session_id).write_bytes(b"")
        for message in messages:
            self.say(session_id, message)
        self.note(session_id, "custom_title", {"customTitle": session_id, "titleSource": "manual"})

    def record(self, session_id: str, kind: str, /, **more: Any) -> Line:
        """A record behind the others, which hangs on the newest one where nothing else is said."""
        lines = [each for each in self.lines(session_id) if isinstance(each, dict)]
        record = {
            "uuid": str(uuid4()), "parentUuid": lines[-1]["uuid"] if lines else None, "timestamp": now(),
            "sessionId": self.id_of(session_id), "type": kind, "cwd": CWD, "version": "0.24.4",
        } | more  # fmt: skip
        with self.path(session_id).open("a") as file:
            file.write(json.dumps(record) + "\n")
        return record

    def note(self, session_id: str, subtype: str, payload: Line, **more: Any) -> Line:
        """A record of the client about the session."""
        return self.record(session_id, "system", subtype=subtype, systemPayload=payload, **more)

    def say(self, session_id: str, message: Message) -> None:
        text = {"text": message["content"]}
        if message["role"] == "user":
            self.record(session_id, "user", message={"role": "user", "parts": [text]}, provenance="real_user")
        elif message["role"] == "assistant":
            calls = [
                {"functionCall": {"id": each["id"], "name": each["function"]["name"],
                                  "args": json.loads(each["function"]["arguments"])}}
                for each in message.get("tool_calls", [])
            ]  # fmt: skip
            said = {"role": "model", "parts": [text, *calls]}
            self.record(session_id, "assistant", message=said, model="test-model", usageMetadata=USED)
        else:
            call, output = message["tool_call_id"], {"output": message["content"]}
            part = {"functionResponse": {"id": call, "name": "terminal", "response": output}}
            noted = {"callId": call, "status": "success"}
            self.record(session_id, "tool_result", message={"role": "user", "parts": [part]}, toolCallResult=noted)

    def take_back(self, session_id: str) -> None:
        request = [each for each in self.thread(session_id) if each["type"] == "user"][-1]
        self.note(session_id, "rewind", {"truncatedCount": 1}, parentUuid=request["parentUuid"])

    # -- reading

    def lines(self, session_id: str) -> list[Line]:
        return objects(self.path(session_id).read_bytes())

    def thread(self, session_id: str) -> list[Line]:
        """The records from the first to the newest."""
        records = {each["uuid"]: each for each in self.lines(session_id)}
        at, thread = next(reversed(records), None), list[Line]()
        while at is not None:
            thread.append(records[at])
            at = records[at]["parentUuid"]
        return thread[::-1]

    def load(self, session_id: str) -> list[Heard]:
        heard: list[Heard] = []
        for record in self.thread(session_id):
            if record["type"] != "system":
                part = record["message"]["parts"][0]
                role = "tool" if record["type"] == "tool_result" else record["type"]
                result = part.get("functionResponse")
                heard.append((role, result["response"]["output"] if result else part["text"]))
        return heard

    def rows(self) -> list[tuple[Any, ...]]:
        return [(path.name, path.read_bytes()) for path in sorted(self.chats.iterdir())]

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError("It has no SQL.")

    def break_rows(self, session_id: str) -> None:
        lines = self.lines(session_id)
        lines[0]["type"] = "narrator"
        for part in lines[1]["message"]["parts"]:
            if "functionCall" in part:
                part["functionCall"]["args"] = "{broken"
        self.path(session_id).write_text("".join(json.dumps(each) + "\n" for each in lines))


def now() -> str:
    """The time now; no two calls return the same."""
    time.sleep(0.001)
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def qwen(tmp_path: Path) -> QwenByHand:
    return QwenByHand(tmp_path / "qwen")
