"""Gemini CLI by hand: lines as the client writes them, and the rule by which it goes on, in few words."""

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
CONTEXT = "d04923d38bb0f6017037e74183378ef4"
ACKNOWLEDGED = "Got it. Thanks for the additional context!"
RECORDED = Path(__file__).parents[2] / "data" / "gemini"  # homes as the client wrote them, and `sent.json`
TOKENS = {"input": 100, "output": 10, "cached": 20, "thoughts": 5, "tool": 0, "total": 115}


class GeminiByHand(Agent):
    """A home with the sessions of one project."""

    can_compact = False

    def __init__(self, path: Path) -> None:
        super().__init__(f"gemini://{path}")
        self.project = path / "tmp" / "work"
        (self.project / "chats").mkdir(parents=True)
        (self.project / ".project_root").write_text(CWD)

    def id_of(self, name: str) -> str:
        return str(uuid5(NAMESPACE_OID, name))

    def path(self, name: str) -> Path:
        return self.project / "chats" / f"session-2026-11-26T10-00-{self.id_of(name)[:8]}.jsonl"

    # -- writing

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        head = {"sessionId": self.id_of(session_id), "projectHash": "0", "startTime": now(), "lastUpdated": now()}
        self.path(session_id).write_text(json.dumps(head | {"kind": "main"}) + "\n")
        context = {"id": CONTEXT, "timestamp": now(), "type": "user", "content": [{"text": "<session_context>here"}]}
        self.put(session_id, {"$set": {"messages": [context]}})
        self.put(session_id, {"$set": {"summary": session_id}})
        for message in messages:
            self.say(session_id, message)

    def put(self, session_id: str, *lines: Line) -> None:
        with self.path(session_id).open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in lines)

    def record(self, session_id: str, kind: str, content: Any, **more: Any) -> Line:
        """A message behind the others."""
        record = {"id": str(uuid4()), "timestamp": now(), "type": kind, "content": content} | more
        self.put(session_id, record, {"$set": {"lastUpdated": record["timestamp"]}})
        return record

    def say(self, session_id: str, message: Message) -> None:
        if message["role"] == "user":
            self.record(session_id, "user", [{"text": message["content"]}])
        elif message["role"] == "assistant":
            calls = [
                {"id": each["id"], "name": each["function"]["name"], "result": None, "status": "executing",
                 "args": json.loads(each["function"]["arguments"]), "timestamp": now()}
                for each in message.get("tool_calls", [])
            ]  # fmt: skip
            said = self.record(session_id, "gemini", message["content"], thoughts=[], tokens=TOKENS, model="test-model")
            if calls:
                self.put(session_id, said | {"toolCalls": calls})
        else:
            self._answer(session_id, message)

    def _answer(self, session_id: str, message: Message) -> None:
        """The result of a call: the message that called comes again with it, and it is sent as a message."""
        for said in reversed(self.lines(session_id)):
            call = next((each for each in said.get("toolCalls", ()) if each["id"] == message["tool_call_id"]), None)
            if call is not None:
                output = {"id": call["id"], "name": call["name"], "response": {"output": message["content"]}}
                call |= {"result": [{"functionResponse": output}], "status": "success"}
                self.put(session_id, said)
                self.record(session_id, "user", call["result"])
                return

    def take_back(self, session_id: str) -> None:
        request = [each for each in self.context(session_id) if "text" in parts(each)[0] and each["type"] == "user"][-1]
        self.put(session_id, {"$rewindTo": request["id"]})

    # -- reading

    def lines(self, session_id: str) -> list[Line]:
        return objects(self.path(session_id).read_bytes())

    def context(self, session_id: str) -> list[Line]:
        """The messages that the client has in mind."""
        known: dict[str, Line] = {}
        for line in self.lines(session_id):
            if "$rewindTo" in line:
                ids = list(known)
                known = {each: known[each] for each in ids[: ids.index(line["$rewindTo"])]}
            elif "id" in line:
                known[line["id"]] = line
            elif "messages" in line.get("$set", {}):
                known = {each["id"]: each for each in line["$set"]["messages"]}
        return list(known.values())

    def load(self, session_id: str) -> list[Heard]:
        heard: list[Heard] = []
        for message in self.context(session_id):
            if message["id"] != CONTEXT:
                role = "assistant" if message["type"] == "gemini" else "user"
                for part in parts(message):
                    result = part.get("functionResponse")
                    heard.append(("tool", result["response"]["output"]) if result else (role, part["text"]))
        return heard

    def rows(self) -> list[tuple[Any, ...]]:
        return [(path.name, path.read_bytes()) for path in sorted((self.project / "chats").iterdir())]

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError("It has no SQL.")

    def break_rows(self, session_id: str) -> None:
        lines = self.lines(session_id)
        first, second = list(dict.fromkeys(each["id"] for each in lines if "id" in each))[:2]
        for line in lines:
            if line.get("id") == first:
                line["type"] = "narrator"
            if line.get("id") == second and "toolCalls" in line:
                line["toolCalls"] = "{broken"
        self.path(session_id).write_text("".join(json.dumps(each) + "\n" for each in lines))


def parts(message: Line) -> list[Line]:
    content = message["content"]
    return [{"text": content}] if isinstance(content, str) else content


def now() -> str:
    """The time now; no two calls return the same."""
    time.sleep(0.001)
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.fixture
def gemini(tmp_path: Path) -> GeminiByHand:
    return GeminiByHand(tmp_path / "gemini")
