"""A service of models on this machine that answers as it is told: well, badly, slowly, not at all.

It speaks Chat Completions and Messages, whichever it is asked in. A behaviour is a function of the request's handler.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from compaction.sections import TITLES

NOTES = "\n\n".join(f"## {title}\n- What is to be said about it." for title in TITLES)
READ, WRITTEN = 12_000, 80  # tokens a good answer says it took
PATIENCE = 180.0  # seconds until a stuck behaviour gives up, and the test with it

Behaviour = Callable[["Request"], None]


class ModelService(ThreadingHTTPServer):
    """`behaviours` are used one a request, the last for all further ones; `requests` are the bodies it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.behaviours: list[Behaviour] = [answers()]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.left = threading.Event()  # the client closed the connection in the middle of an answer
        self._taking = threading.Lock()
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take(self, body: dict[str, Any], headers: dict[str, str]) -> Behaviour:
        with self._taking:
            self.requests.append(body)
            self.headers.append(headers)
            return self.behaviours[min(len(self.requests), len(self.behaviours)) - 1]

    def prompts(self) -> list[str]:
        """The user's text of each request."""
        return [body["messages"][-1]["content"] for body in self.requests]


class Request(BaseHTTPRequestHandler):
    server: ModelService

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.shape = "anthropic" if self.path.endswith("/messages") else "openai"
        behave = self.server.take(self.body, {name.casefold(): value for name, value in self.headers.items()})
        self.close_connection = True
        try:
            behave(self)
        except ConnectionError:
            self.server.left.set()

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: pytest shows what failed, not every request."""

    def send(self, status: int, kind: str, payload: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(payload)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(payload)

    def open_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.end_headers()
        self.wfile.flush()

    def event(self, data: dict[str, Any] | str) -> None:
        kind = data["type"] if isinstance(data, dict) and "type" in data else "content_block_delta"
        name = f"event: {kind}\n" if self.shape == "anthropic" else ""
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"{name}data: {text}\n\n".encode())
        self.wfile.flush()

    # --- the events of both interfaces

    def start(self) -> None:
        self.open_stream()
        if self.shape == "anthropic":
            cache = {"cache_creation_input_tokens": 2, "cache_read_input_tokens": 1}
            usage = {"input_tokens": READ - 3, "output_tokens": 1} | cache  # READ altogether
            self.event({"type": "message_start", "message": {"model": self.body["model"], "usage": usage}})
            self.event({"type": "ping"})

    def text(self, text: str, kind: str = "text") -> None:
        """A piece of the answer: "text", "thinking" or "refusal"."""
        if self.shape == "anthropic":
            self.event({"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", kind: text}})
        else:
            name = {"text": "content", "thinking": "reasoning_content", "refusal": "refusal"}[kind]
            self.event(self._chunk({name: text}, None))

    def end(self, why: str) -> None:
        """How the answer ended ("stop", "length", "refusal"), and what it took."""
        if self.shape == "anthropic":
            said = {"stop": "end_turn", "length": "max_tokens"}.get(why, why)
            self.event({"type": "message_delta", "delta": {"stop_reason": said}, "usage": {"output_tokens": WRITTEN}})
            self.event({"type": "message_stop"})
            return
        self.event(self._chunk({}, {"refusal": "content_filter"}.get(why, why)))
        if "stream_options" in self.body:
            usage = {"prompt_tokens": READ, "completion_tokens": WRITTEN, "total_tokens": READ + WRITTEN}
            self.event({"id": "1", "model": self.body["model"], "choices": [], "usage": usage})
        self.event("[DONE]")

    def _chunk(self, delta: dict[str, str], finish: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "1", "object": "chat.completion.chunk", "model": self.body["model"], "choices": [choice]}

    def wait_until_left(self) -> None:
        self.connection.settimeout(PATIENCE)
        try:
            left = self.connection.recv(1) == b""
        except TimeoutError:
            return
        except OSError:
            left = True
        if left:
            self.server.left.set()


# --- behaviours ------------------------------------------------------------------------------------------------------


def answers(text: str = NOTES, finish: str = "stop", kind: str = "text") -> Behaviour:
    """A whole answer, streamed in pieces."""

    def behave(request: Request) -> None:
        request.start()
        for piece in _pieces(text):
            request.text(piece, kind)
        request.end(finish)

    return behave


def _pieces(text: str, size: int = 40) -> Iterator[str]:
    return (text[at : at + size] for at in range(0, len(text), size))


def refuses(status: int, message: str = "No.", error: dict[str, Any] | None = None, **headers: str) -> Behaviour:
    """An error in the interface's own shape; `error` adds to it or replaces parts."""

    def behave(request: Request) -> None:
        inner = {"type": "some_error", "message": message, **(error or {})}
        body = {"error": inner} if request.shape == "openai" else {"type": "error", "error": inner}
        request.send(status, "application/json", json.dumps(body).encode(), **headers)

    return behave


def sends(payload: bytes, kind: str, status: int = 200) -> Behaviour:
    """These bytes, complete."""
    return lambda request: request.send(status, kind, payload)


def streams(*events: dict[str, Any] | str, text: str = "") -> Behaviour:
    """A stream of a text and these events, which then ends."""

    def behave(request: Request) -> None:
        request.start()
        if text:
            request.text(text)
        for event in events:
            request.event(event)

    return behave


def stalls(text: str = "", finish: str = "") -> Behaviour:
    """Begins a stream, may even say that it is complete (Chat Completions), and leaves it open in silence."""

    def behave(request: Request) -> None:
        request.start()
        if text:
            request.text(text)
        if finish:
            request.event(request._chunk({}, finish))
        request.wait_until_left()

    return behave


def trickles(every: float = 0.05) -> Behaviour:
    """Begins a stream and sends comments for ever, as services do while a model thinks."""

    def behave(request: Request) -> None:
        request.start()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            request.wfile.write(b": still working\n\n")
            request.wfile.flush()
            time.sleep(every)

    return behave


def floods(line: bytes) -> Behaviour:
    """Sends a line as fast as it can, for ever."""

    def behave(request: Request) -> None:
        request.start()
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            request.wfile.write(line * 10_000)

    return behave


def never_ends(request: Request) -> None:
    """Writes until nobody listens."""
    request.start()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        request.text("word " * 2_000)


def breaks_off(text: str = NOTES) -> Behaviour:
    """A chunked answer that ends in the middle of a chunk."""

    def behave(request: Request) -> None:
        request.protocol_version = "HTTP/1.1"
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        chunk = json.dumps({"id": "1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})
        if request.shape == "anthropic":
            delta = {"type": "text_delta", "text": text}
            chunk = json.dumps({"type": "content_block_delta", "index": 0, "delta": delta})
        data = f"event: content_block_delta\ndata: {chunk}\n\n".encode()
        request.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n400\r\nda")
        request.wfile.flush()

    return behave


def hangs_up(request: Request) -> None:
    """Closes the connection without a word."""


def never_answers(request: Request) -> None:
    """Takes the request and says nothing at all."""
    request.wait_until_left()


KEY = "test-4f1d2c9b8a7e6d5c4b3a29180716f5e4"  # of no shape that is redacted anywhere
