"""A model for Codex to talk to: OpenAI's Responses API on this machine, which keeps what it was sent."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from tests.agents.base import Json
from tests.interop.model_server import ModelServer

SUMMARY_TASK = "You are performing a CONTEXT CHECKPOINT COMPACTION"  # begins the last message of a local compaction
RESPONSES = "/v1/responses"
COMPACT = f"{RESPONSES}/compact"  # asked for by 0.125, instead of a turn whose last item is this:
TRIGGER = "compaction_trigger"


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers: the items of one response, and how many tokens it says it was sent."""

    items: tuple[Json, ...]
    input_tokens: int = 100
    status: int = 200  # of HTTP; of an error, there is one item, its object


def says(text: str, *, reasoning: str = "", input_tokens: int = 100) -> Reply:
    """A text, behind its reasoning where one is given."""
    return Reply((*_reasoning(reasoning), message(text)), input_tokens)


def calls(*called: Json, text: str = "", reasoning: str = "", input_tokens: int = 100) -> Reply:
    """Tools called in parallel, behind a text where one is given."""
    return Reply((*_reasoning(reasoning), *([message(text)] if text else []), *called), input_tokens)


def function(name: str, arguments: Json, namespace: str = "") -> Json:
    """A call of a tool that takes JSON."""
    call = {"type": "function_call", "id": new_id("fc"), "call_id": new_id("call"), "name": name}
    return call | {"arguments": json.dumps(arguments)} | ({"namespace": namespace} if namespace else {})


def custom(name: str, given: str) -> Json:
    """A call of a tool that takes a text."""
    call = {"type": "custom_tool_call", "id": new_id("ctc"), "call_id": new_id("call"), "name": name}
    return call | {"input": given, "status": "completed"}


def message(text: str) -> Json:
    said = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": new_id("msg"), "role": "assistant", "content": [said]}


def refuses(status: int, kind: str, told: str) -> Reply:
    """An error of the API."""
    return Reply(({"type": kind, "message": told},), status=status)


def _reasoning(text: str) -> list[Json]:
    if not text:
        return []
    summary = [{"type": "summary_text", "text": text}]
    return [{"type": "reasoning", "id": new_id("rs"), "encrypted_content": _encrypted(), "summary": summary}]


def _encrypted() -> str:
    return f"encrypted{uuid.uuid4().hex}"


def new_id(prefix: str) -> str:
    """An id that no other run makes."""
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


class Service(ModelServer[Reply]):
    """Answers turns of Codex; requests for a summary with `summary`."""

    kinds = ("turn", "helper", "summary", "encrypted summary")
    root = "/v1"

    def __init__(self) -> None:
        super().__init__(_Responses)

    def _kind(self, body: Json) -> str:
        last = body["input"][-1]
        if last["type"] == TRIGGER:
            return "encrypted summary"
        if text_of(last).startswith(SUMMARY_TASK):
            return "summary"
        return "helper" if self._helper(body) else "turn"

    def _helper(self, body: Json) -> Reply | None:
        """The answer to a sub-agent, which is told its task in a message of its own."""
        said = "\n".join(text_of(item) for item in body["input"] if item["type"] == "agent_message")
        return next((reply for task, reply in self.helpers.items() if task in said), None)

    def _reply(self, kind: str, body: Json) -> Reply:
        if kind == "helper":
            return self._helper(body) or says("Done.")
        if kind == "summary":
            return says(self.summary)
        if kind == "encrypted summary":
            return Reply(({"type": "compaction", "id": new_id("cmp"), "encrypted_content": _encrypted()},))
        return self.replies.popleft() if self.replies else says(f"Noted, {len(self.requests)}.")


def text_of(item: Json) -> str:
    """All text of a message."""
    content = item.get("content") or []
    return content if isinstance(content, str) else "\n".join(part.get("text") or "" for part in content)


class _Responses(BaseHTTPRequestHandler):
    server: Service
    protocol_version = "HTTP/1.1"  # of another one, the client would try its WebSocket five times more

    def do_GET(self) -> None:
        if self.headers["upgrade"]:  # it tries a WebSocket first, and takes this for "not here"
            self._send("application/json", b"{}", 426)
        elif self.path.startswith("/v1/models"):
            self._send("application/json", b'{"object":"list","data":[],"models":[]}')
        else:
            self.send_error(404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        path = self.path.partition("?")[0]
        if path not in (RESPONSES, COMPACT):
            self.send_error(404)
            return
        if path == COMPACT:
            body["input"] += [{"type": TRIGGER}]
        reply = self.server.take(body)
        if reply.status != 200:
            self._send("application/json", json.dumps({"error": reply.items[0]}).encode(), reply.status)
            return
        if path == COMPACT:
            kept = [item for item in body["input"] if item.get("role") == "user"]
            compacted = {"id": new_id("resp"), "object": "response.compaction", "output": [*kept, *reply.items]}
            self._send("application/json", json.dumps(compacted).encode())
            return
        events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(reply)]
        self._send("text/event-stream", "".join(events).encode())

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: pytest shows what failed, not every request."""

    def _send(self, kind: str, payload: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("Connection", "close")
        with suppress(ConnectionError):  # nobody waits any more: it was interrupted or killed
            self.end_headers()
            self.wfile.write(payload)


def _events(reply: Reply) -> Iterator[Json]:
    response: Json = {"id": new_id("resp"), "object": "response", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": response}
    for at, item in enumerate(reply.items):
        yield {"type": "response.output_item.added", "output_index": at, "item": item}
        if item["type"] == "message":
            place = {"output_index": at, "content_index": 0, "item_id": item["id"]}
            yield {"type": "response.output_text.delta", **place, "delta": text_of(item)}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    usage = {
        "input_tokens": reply.input_tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": reply.input_tokens + 10,
    }  # fmt: skip
    ended = {"status": "completed", "output": list(reply.items), "usage": usage}
    yield {"type": "response.completed", "response": response | ended}
