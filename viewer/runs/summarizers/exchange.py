"""One HTTP exchange in a thread of its own, so that whoever waits for it can look around meanwhile and end it.

A blocking read cannot be interrupted, so the thread that has the run never does one: it takes what arrives from a
queue, and to end the exchange it shuts the socket down under the reader.
"""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # SDKs and their HTTP library take a second to import: only who talks to a model pays
    import httpx2

CONNECT_SECONDS = 10.0
LEAVE_SECONDS = 1.0  # that the reader gets to notice that its socket is shut


@dataclass(frozen=True, slots=True)
class Piece:
    """What one event of an answer says. Token counts are the whole call's so far; None: not said."""

    text: str = ""
    thought: bool = False
    refused: bool = False
    finish: str = ""
    model: str = ""
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None


Ask = Callable[["httpx2.Client"], Iterator[Piece]]


def words(value: Any) -> str:
    """A text of the answer; "" for what is none."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    """A count of the answer; None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


class Ended(Exception):
    """The answer was read to its end."""


class Exchange:
    """A context manager; leaving it closes the connection, wherever the exchange is."""

    def __init__(self, ask: Ask, silence: float) -> None:
        """`ask` makes the request with the client it is given; `silence` is the longest wait for a byte, in seconds."""
        self._ask = ask
        self._silence = silence
        self._arrived: queue.SimpleQueue[Piece | Exception] = queue.SimpleQueue()
        self._sockets: list[Any] = []
        self._left = False
        self._thread = threading.Thread(target=self._read, name="call of a model", daemon=True)

    def __enter__(self) -> Exchange:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._left = True
        self._shut()
        self._thread.join(LEAVE_SECONDS)

    def _shut(self) -> None:
        for found in self._sockets:
            with suppress(OSError):  # closed already
                found.shutdown(socket.SHUT_RDWR)

    def next(self, seconds: float) -> Piece | None:
        """What arrives next, None when nothing does in that time. Raises Ended, or what ended the reading."""
        try:
            found = self._arrived.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            return None
        if isinstance(found, Exception):
            raise found
        return found

    def _read(self) -> None:
        try:
            with self._client() as client:
                for piece in self._ask(client):
                    self._arrived.put(piece)
            self._arrived.put(Ended())
        except Exception as problem:
            self._arrived.put(problem)

    def _client(self) -> httpx2.Client:
        import httpx2

        # Redirects are not followed: they would carry the session's text, and perhaps the key, to another place.
        return httpx2.Client(
            timeout=httpx2.Timeout(self._silence, connect=min(CONNECT_SECONDS, self._silence)),
            event_hooks={"request": [self._watch]},
            follow_redirects=False,
        )

    def _watch(self, request: httpx2.Request) -> None:
        request.extensions["trace"] = self._trace

    def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        """Note every connection; once the exchange was left, shut it at once and send nothing."""
        if name.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self._left:
                self._shut()
        if self._left and name.endswith((".connect_tcp.started", ".send_request_headers.started")):
            raise ConnectionAbortedError("nobody waits for this answer any more")
