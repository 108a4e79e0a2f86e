"""What the file of a provider is made of: its description, how a model is reached, and the events of an answer; and
functions by which it reads an answer and repeats a request in a form that the service accepts.

Servers vary in how they speak an interface. What a service does not accept is remembered for the life of the process.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

import httpx2

import compaction

DEFAULT_PORTS = {"http": 80, "https": 443}
MOST_TOKENS = 1_000_000_000  # that a call can have used; a service that reports more made the number up
BODY = 100_000  # bytes of an answer that is not a stream, read for the error in it
SMALLEST_LIMIT = 256  # tokens; smaller numbers in a refusal are versions, not limits
MOST_LESSONS = 5  # for one model; after that, a service that asks for another form is not obeyed
_NUMBER = re.compile(r"(?<![\w.-])\d{3,}(?![\w-])")
_TOO_LONG = re.compile(
    r"context[ _-]?(?:length|size|window|limit)|exceed_context|(?:prompt|input|request) is too l(?:ong|arge)"
    r"|maximum (?:model|input) length|max_model_len|input token count .{0,60}exceeds|max_new_tokens` must be"
    r"|reduce the length of|request_too_large"
)


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of an answer. `thought` and `refused` say what kind of text it has; `finish` is why the answer ended,
    "" while it goes on. Token counts are those of the whole call until now, None where the event has none.
    """

    text: str = ""
    thought: bool = False
    refused: bool = False
    finish: str = ""
    model: str = ""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Provider:
    """An interface by which models are reached.

    `name` is that of its file, of its summariser in the API, and in its environment variables. `stream` sends a prompt
    with a limit of output tokens and yields the events of the answer. It raises NotStreamed, and what the SDK raises:
    an error of the service has its `response` (httpx2.Response) and `body` (JSON), one of the connection is caused by
    one of httpx2. `headers_variable` is the environment variable from which the SDK would take more headers to send,
    keys and all. `sdk_paths` are ends of a URL that the SDK adds itself. `error_status` has the HTTP status of error
    types and codes that come without one: inside a stream, or with 200. The hints are sentences on the settings page.
    """

    name: str
    label: str
    default_url: str
    stream: Stream
    headers_variable: str
    sdk_paths: tuple[str, ...]
    error_status: Mapping[str, int]
    url_hint: str
    key_hint: str = ""

    def variable(self, what: str) -> str:
        """The environment variable that sets the MODEL, URL, KEY or WINDOW."""
        return f"PALIMPSEST_{self.name.upper()}_{what}"

    @property
    def model_variable(self) -> str:
        return self.variable("MODEL")


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """How to reach one model. `window` is in tokens, None where it was not set. `api_key` is "" for a server without
    keys, and if `key_problem` says why the key cannot be used; `stored_key` is the key as our database has it.
    """

    provider: Provider
    model: str
    base_url: str
    api_key: str = field(repr=False)
    window: int | None
    source: Literal["environment", "settings", "form"]  # "form": not saved, the settings page is trying it
    key_problem: str = ""
    stored_key: str = field(default="", repr=False, compare=False)

    @property
    def host(self) -> str:
        """The host, with the port if it is not the default; pages show it as the place to which messages are sent."""
        scheme, host, port = server_of(self.base_url)
        return host if port == DEFAULT_PORTS.get(scheme) else f"{host}:{port}"


Stream = Callable[[httpx2.Client, ModelAccess, compaction.Prompt, int], Iterator[StreamEvent]]


def server_of(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return parts.scheme, host, parts.port or DEFAULT_PORTS.get(parts.scheme)


def sdk_options(client: httpx2.Client, connection: ModelAccess) -> dict[str, Any]:
    """Arguments that the SDKs of OpenAI and Anthropic have in common: this client, and no retries by the SDK. It also
    has no headers of the environment to send.
    """
    os.environ.pop(connection.provider.headers_variable, None)
    return {
        "api_key": connection.api_key or "none",
        "base_url": connection.base_url,
        "http_client": client,
        "timeout": client.timeout,
        "max_retries": 0,
    }


# --- reading an answer -----------------------------------------------------------------------------------------------


def as_text(value: Any) -> str:
    """A text of an answer; "" for any other type."""
    return value if isinstance(value, str) else ""


def as_count(value: Any) -> int | None:
    """A number of tokens in an answer; None for what cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


class NotStreamed(Exception):
    """The answer is not a stream of events. `body` is its JSON, None when it is something else."""

    def __init__(self, content_type: str, body: Any) -> None:
        super().__init__(content_type)
        self.content_type = content_type
        self.body = body


def require_events(response: httpx2.Response) -> None:
    """Raise NotStreamed for a page or a document in place of events."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if content_type not in ("text/html", "application/xhtml+xml", "application/json", "application/problem+json"):
        return
    content = b""
    for data in response.iter_bytes():
        content += data
        if len(content) > BODY:
            break
    try:
        body = json.loads(content)
    except ValueError:
        body = None
    raise NotStreamed(content_type, body)


def error_in(body: Any, whole: bool = False) -> dict[str, Any]:
    """The part of a body that describes an error; `whole`: the body has nothing else."""
    if not isinstance(body, dict):
        return {}
    inner = body.get("error")
    if isinstance(inner, dict):
        return inner
    if isinstance(inner, str) and inner:
        return {"message": inner}
    return body if whole else {}


def is_too_long(text: str) -> bool:
    """Whether a refusal is about the length of the request, in the words of OpenAI, vLLM, llama.cpp, Anthropic, ..."""
    return bool(_TOO_LONG.search(text.casefold()))


# --- asking again in another form ------------------------------------------------------------------------------------


@dataclass
class ModelQuirks:
    """What a service does not accept in a request for one model: `most` is the highest output limit in tokens, None
    while every limit was accepted. A provider whose requests have more forms has a subclass.
    """

    most: int | None = None
    lessons: int = 0

    def limit(self, tokens: int) -> int:
        return tokens if self.most is None else min(tokens, self.most)

    def learn(self, refusal: str, sent: int) -> bool:
        """Learn from the text of a refusal; returns whether another request may work. `sent` is the limit it had."""
        text = refusal.casefold()
        if self.lessons == MOST_LESSONS or is_too_long(text) or not self._adapt(text, sent):
            return False
        self.lessons += 1
        return True

    def _adapt(self, text: str, sent: int) -> bool:
        """Change the form of the request as the refusal requires; returns whether it changed."""
        if not re.search(r"max_(?:completion_)?tokens", text):
            return False
        smaller = [int(n) for n in _NUMBER.findall(text.replace(",", "")) if SMALLEST_LIMIT <= int(n) < sent]
        if smaller:
            self.most = max(smaller)
        return bool(smaller)


Quirks = TypeVar("Quirks", bound=ModelQuirks)
Response = TypeVar("Response")

LEARNED: dict[tuple[str, str, str], ModelQuirks] = {}


def ask_adapting(
    connection: ModelAccess,
    limit: int,
    quirks_type: type[Quirks],
    refusals: tuple[type[Exception], ...],
    ask: Callable[[Quirks], Response],
) -> Response:
    """What `ask` returns. It is called again while the service refuses, with one of `refusals`, a form that can be
    changed. `limit` is the wanted number of output tokens. Raises what `ask` raises.
    """
    key = (connection.provider.name, connection.base_url, connection.model)
    quirks = LEARNED.setdefault(key, quirks_type())
    assert isinstance(quirks, quirks_type)
    while True:
        try:
            return ask(quirks)
        except refusals as problem:
            if not quirks.learn(_refusal(problem), quirks.limit(limit)):
                raise


def _refusal(problem: Exception) -> str:
    """The codes and the message with which a service refused a request."""
    error = error_in(getattr(problem, "body", None), whole=True)
    return " ".join(str(error.get(name) or "") for name in ("code", "type", "param", "message", "detail")).strip()
