"""A model for Hermes to talk to: an OpenAI-compatible endpoint on this machine that keeps what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT = 60.0  # seconds a held reply or an awaited request may take before the test fails


class Model(ThreadingHTTPServer):
    """Answers every chat completion with `reply`; `requests` are the bodies it was sent, oldest first.

    While there are `calls`, it answers who offers tools with the first of these lists: (name, arguments) of each.
    `prompt_tokens` is how long it says that each request was.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Completions)
        self.reply = "Noted."
        self.prompt_tokens = 100
        self.calls: list[list[tuple[str, dict[str, Any]]]] = []
        self.requests: list[dict[str, Any]] = []
        self._asked = threading.Condition()
        self._may_reply = threading.Event()
        self._may_reply.set()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def take(self, body: dict[str, Any]) -> dict[str, Any]:
        """Keep a request and, unless replies are held back, say what to answer."""
        with self._asked:
            self.requests.append(body)
            self._asked.notify_all()
        if not self._may_reply.wait(WAIT):
            return {"role": "assistant", "content": "Held back for too long."}
        if not self.calls or not body.get("tools"):
            return {"role": "assistant", "content": self.reply}
        called = [_call(len(self.requests), at, *call) for at, call in enumerate(self.calls.pop(0))]
        return {"role": "assistant", "content": "", "tool_calls": called}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Inside, requests arrive but get no reply: a turn or a summary that is still running."""
        self._may_reply.clear()
        try:
            yield
        finally:
            self._may_reply.set()

    def wait_for(self, count: int) -> dict[str, Any]:
        """The newest request, once there are `count` of them."""
        with self._asked:
            assert self._asked.wait_for(lambda: len(self.requests) >= count, WAIT), "Hermes did not ask the model"
            return self.requests[-1]


class _Completions(BaseHTTPRequestHandler):
    server: Model

    def do_GET(self) -> None:
        self.send_error(404)  # Hermes probes for other kinds of servers

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        message = self.server.take(body)
        if body.get("stream"):
            events = _events(body["model"], message, self.server.prompt_tokens)
            self._send("text/event-stream", b"".join(events))
        else:
            choice = {"index": 0, "message": message, "finish_reason": _finish(message)}
            completion = _completion("chat.completion", body["model"], [choice], self.server.prompt_tokens)
            self._send("application/json", json.dumps(completion).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: pytest shows what failed, not every request."""

    def _send(self, kind: str, payload: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def _completion(kind: str, model: str, choices: list[dict[str, Any]], prompt_tokens: int) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": 5, "total_tokens": prompt_tokens + 5}
    return {"id": "completion", "object": kind, "created": 1, "model": model, "choices": choices, "usage": usage}


def _call(request: int, at: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"index": at, "id": f"call_{request}_{at}", "type": "function", "function": function}


def _finish(message: dict[str, Any]) -> str:
    return "tool_calls" if "tool_calls" in message else "stop"


def _events(model: str, message: dict[str, Any], prompt_tokens: int) -> Iterator[bytes]:
    said = {"index": 0, "delta": message, "finish_reason": None}
    done: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": _finish(message)}
    for choice in (said, done):
        yield (
            b"data: "
            + json.dumps(_completion("chat.completion.chunk", model, [choice], prompt_tokens)).encode()
            + b"\n\n"
        )
    yield b"data: [DONE]\n\n"
