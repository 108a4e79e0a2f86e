"""A model for pi and OpenClaw to talk to: OpenAI's chat completions on this machine, which keeps what it was sent."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.agents.base import Json
from tests.agents.chat_views import text_of
from tests.interop.model_server import ModelServer

MODEL = "model-1"
# What both clients tell the model when they want a summary, in the system message.
SUMMARY_TASK = "You are a context summarization assistant"
COMPLETIONS = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What the model answers: one message, and how many tokens it says it was sent."""

    text: str = ""
    calls: tuple[Json, ...] = ()
    reasoning: str = ""
    input_tokens: int = 100
    status: int = 200  # of HTTP; of an error, `text` is its message

    def message(self) -> Json:
        """The message in the shape of the API."""
        said: Json = {"role": "assistant", "content": self.text or None}
        if self.reasoning:
            said["reasoning_content"] = self.reasoning
        if self.calls:
            said["tool_calls"] = [{**call, "index": at} for at, call in enumerate(self.calls)]
        return said


def says(text: str, *, reasoning: str = "", input_tokens: int = 100) -> ChatReply:
    """A text, behind its reasoning where one is given."""
    return ChatReply(text, reasoning=reasoning, input_tokens=input_tokens)


def calls(*called: Json, text: str = "", reasoning: str = "", input_tokens: int = 100) -> ChatReply:
    """Tools called in parallel, behind a text where one is given."""
    return ChatReply(text, called, reasoning, input_tokens)


def tool(name: str, **arguments: Any) -> Json:
    """A call of a tool."""
    called = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{uuid.uuid4().hex[:20]}", "type": "function", "function": called}


def refuses(status: int, message: str) -> ChatReply:
    """An error of the API."""
    return ChatReply(message, status=status)


class ChatService(ModelServer[ChatReply]):
    """Answers turns of pi and OpenClaw; requests for a summary with `summary`."""

    kinds = ("turn", "summary")
    root = "/v1"

    def __init__(self) -> None:
        super().__init__(_Completions)

    def _kind(self, body: Json) -> str:
        told = "\n".join(text_of(each) for each in body["messages"] if each["role"] in ("system", "developer"))
        return "summary" if SUMMARY_TASK in told else "turn"

    def _reply(self, kind: str, body: Json) -> ChatReply:
        if kind == "summary":
            return says(self.summary)
        return self.replies.popleft() if self.replies else says(f"Noted, {len(self.requests)}.")


class _Completions(BaseHTTPRequestHandler):
    server: ChatService
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self._send("application/json", json.dumps({"object": "list", "data": [{"id": MODEL}]}).encode())
        else:
            self._send("application/json", b"{}", 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != COMPLETIONS:
            self._send("application/json", b"{}", 404)
            return
        reply = self.server.take(body)
        if reply.status != 200:
            error = {"message": reply.text, "type": "invalid_request_error", "code": None}
            self._send("application/json", json.dumps({"error": error}).encode(), reply.status)
        elif body.get("stream"):
            events = (f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(body, reply))
            self._send("text/event-stream", f"{''.join(events)}data: [DONE]\n\n".encode())
        else:
            choice = {"index": 0, "message": reply.message(), "finish_reason": _reason(reply)}
            whole = _named(body) | {"object": "chat.completion", "choices": [choice], "usage": _usage(reply)}
            self._send("application/json", json.dumps(whole).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: pytest shows what failed, not every request."""

    def _send(self, kind: str, payload: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        with suppress(ConnectionError):  # nobody waits any more: it was interrupted or killed
            self.end_headers()
            self.wfile.write(payload)


def _chunks(body: Json, reply: ChatReply) -> Iterator[Json]:
    named = _named(body) | {"object": "chat.completion.chunk"}
    yield named | {"choices": [{"index": 0, "delta": reply.message(), "finish_reason": None}]}
    yield named | {"choices": [{"index": 0, "delta": {}, "finish_reason": _reason(reply)}]}
    yield named | {"choices": [], "usage": _usage(reply)}


def _named(body: Json) -> Json:
    return {"id": f"chatcmpl-{uuid.uuid4().hex[:16]}", "created": 1_790_000_000, "model": body["model"]}


def _reason(reply: ChatReply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _usage(reply: ChatReply) -> Json:
    return {
        "prompt_tokens": reply.input_tokens, "completion_tokens": 10, "total_tokens": reply.input_tokens + 10,
    }  # fmt: skip
