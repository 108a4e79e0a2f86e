"""A model for Claude Code to talk to: the Anthropic Messages API on this machine, which keeps what it was sent."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.agents.base import Json
from tests.interop.model_server import ModelServer

SUMMARY_TASK = "Your task is to create a detailed summary"  # in the last message of each request for a summary


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers: the blocks of one message, and how many tokens it says it was sent."""

    content: tuple[Json, ...]
    input_tokens: int = 100
    status: int = 200  # of HTTP; of an error, the content is its one object

    @property
    def stop_reason(self) -> str:
        return "tool_use" if any(block["type"] == "tool_use" for block in self.content) else "end_turn"


def says(text: str, *, thinking: str = "", input_tokens: int = 100) -> Reply:
    """A text, behind a thought where one is given."""
    return Reply((*_thoughts(thinking), {"type": "text", "text": text}), input_tokens)


def calls(*named: tuple[str, Json], text: str = "", thinking: str = "", input_tokens: int = 100) -> Reply:
    """Tools called in parallel, (name, input) each, behind a text where one is given."""
    said = [{"type": "text", "text": text}] if text else []
    called = [{"type": "tool_use", "id": new_id("toolu"), "name": name, "input": given} for name, given in named]
    return Reply((*_thoughts(thinking), *said, *called), input_tokens)


def refuses(status: int, kind: str, message: str) -> Reply:
    """An error of the API."""
    return Reply(({"type": kind, "message": message},), status=status)


def _thoughts(thinking: str) -> list[Json]:
    return [{"type": "thinking", "thinking": thinking, "signature": f"signed{uuid.uuid4().hex}"}] if thinking else []


def new_id(prefix: str) -> str:
    """An id that no other run makes: the client joins records by the ids of messages and calls."""
    return f"{prefix}_01{uuid.uuid4().hex[:22]}"


class Service(ModelServer[Reply]):
    """Answers turns of Claude Code; requests for a summary with `summary`."""

    kinds = ("turn", "helper", "summary", "side")

    def __init__(self) -> None:
        super().__init__(_Messages)

    def _kind(self, body: Json) -> str:
        users = [text_of(message["content"]) for message in body["messages"] if message["role"] == "user"]
        if users and SUMMARY_TASK in users[-1]:
            return "summary"
        if any(task in users[0] for task in self.helpers):
            return "helper"
        return "turn" if body.get("tools") else "side"

    def _reply(self, kind: str, body: Json) -> Reply:
        if kind == "turn":
            return self.replies.popleft() if self.replies else says(f"Noted, {len(self.requests)}.")
        if kind == "helper":
            task = text_of(body["messages"][0]["content"])
            return next(reply for start, reply in self.helpers.items() if start in task)
        if kind == "summary":
            return says(f"<analysis>Looked at it.</analysis>\n<summary>\n{self.summary}\n</summary>")
        return says("A title")


def text_of(content: Any) -> str:
    """All text of a message or a tool's result, one block a line."""
    if isinstance(content, str):
        return content
    inner = (block.get("text", "") or text_of(block.get("content", "")) for block in content)
    return "\n".join(filter(None, inner))


class _Messages(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.send_error(404)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.partition("?")[0] != "/v1/messages":
            self.send_error(404)
            return
        reply = self.server.take(body)
        if reply.status != 200:
            error = json.dumps({"type": "error", "error": reply.content[0]})
            self._send("application/json", error.encode(), reply.status)
            return
        message = _message(body, reply)
        if body.get("stream"):
            events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message)]
            self._send("text/event-stream", "".join(events).encode())
        else:
            self._send("application/json", json.dumps(message).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: pytest shows what failed, not every request."""

    def _send(self, kind: str, payload: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("request-id", new_id("req"))
        with suppress(ConnectionError):  # nobody waits any more: it was interrupted or killed
            self.end_headers()
            self.wfile.write(payload)


def _message(body: Json, reply: Reply) -> Json:
    usage = {"input_tokens": reply.input_tokens, "output_tokens": 10}
    usage |= dict.fromkeys(("cache_creation_input_tokens", "cache_read_input_tokens"), 0)
    return {
        "id": new_id("msg"), "type": "message", "role": "assistant", "model": body["model"],
        "content": list(reply.content), "stop_reason": reply.stop_reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _events(message: Json) -> Iterator[Json]:
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for at, block in enumerate(message["content"]):
        empty, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": at, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


def _streamed(block: Json) -> tuple[Json, list[Json]]:
    """How a block begins, and what is then added to it."""
    if block["type"] == "tool_use":
        return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    if block["type"] == "thinking":
        added = [{"type": f"{name}_delta", name: block[name]} for name in ("thinking", "signature")]
        return {"type": "thinking", "thinking": "", "signature": ""}, added
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
