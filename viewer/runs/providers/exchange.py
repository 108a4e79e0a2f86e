"""One HTTP exchange in its own thread, so that the caller can do other things while it waits, and can end it.

A blocking read cannot be interrupted, so the run's thread never does one: it takes what arrives from a queue, and ends
the exchange by shutting down the socket of the reader.
"""

from __future__ import annotations

import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

import httpx2

from .provider import StreamEvent

CONNECT_SECONDS = 10.0
LEAVE_SECONDS = 1.0  # that the reader gets to notice that its socket is shut
AT_ONCE = struct.pack("ii", 1, 0)  # closing resets: otherwise the service would notice much later that nobody reads
MOST_BYTES, MOST_EVENT_BYTES = 100_000_000, 1_000_000  # of an answer and of one event in it; SDKs read on for ever
LOOPBACK = ("all://localhost", "all://127.0.0.1", "all://[::1]")  # a proxy's would be another machine


OpenStream = Callable[[httpx2.Client], Iterator[StreamEvent]]


class Ended(Exception):
    """The answer was read to its end."""


class Endless(Exception):
    """An answer, or one event of it, is larger than any should be."""


class Exchange:
    """A context manager; leaving it closes the connection at any point of the exchange."""

    def __init__(self, open_stream: OpenStream, silence: float) -> None:
        """`open_stream` makes the request with the client it gets. `silence`: seconds, the longest wait for a byte."""
        self._open_stream = open_stream
        self._silence = silence
        self._arrived: queue.SimpleQueue[StreamEvent | Exception] = queue.SimpleQueue()
        self._sockets: list[Any] = []
        self._is_closed = False
        self._thread = threading.Thread(target=self._read, name="call of a model", daemon=True)

    def __enter__(self) -> Exchange:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closed = True
        self._shut_sockets()
        self._thread.join(LEAVE_SECONDS)

    def _shut_sockets(self) -> None:
        for each in self._sockets:
            with suppress(OSError):  # closed already
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                each.shutdown(socket.SHUT_RDWR)

    def next(self, seconds: float) -> StreamEvent | None:
        """What arrives next, None if nothing does in that time. Raises Ended, or the error that ended the reading."""
        try:
            arrived = self._arrived.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            return None
        if isinstance(arrived, Exception):
            raise arrived
        return arrived

    def _read(self) -> None:
        try:
            with self._client() as client:
                for event in self._open_stream(client):
                    self._arrived.put(event)
            self._arrived.put(Ended())
        except Exception as problem:
            self._arrived.put(problem)

    def _client(self) -> httpx2.Client:
        # Redirects are not followed: they would carry the session's text, and perhaps the key, to another place.
        return httpx2.Client(
            timeout=httpx2.Timeout(self._silence, connect=min(CONNECT_SECONDS, self._silence)),
            event_hooks={"request": [self._watch], "response": [self._guard]},
            follow_redirects=False,
            headers={"Accept-Encoding": "identity"},
            mounts=dict.fromkeys(LOOPBACK),
        )

    def _watch(self, request: httpx2.Request) -> None:
        request.extensions["trace"] = self._trace

    def _guard(self, response: httpx2.Response) -> None:
        assert isinstance(response.stream, httpx2.SyncByteStream)
        response.headers.pop("content-encoding", None)  # a few bytes may unpack to gigabytes, and none were asked for
        response.stream = _Guarded(response.stream, lambda: self._is_closed)

    def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        """Record every connection; one that is made after the exchange was closed is shut before anything is sent."""
        if name.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._sockets.append(info["return_value"].get_extra_info("socket"))
            if self._is_closed:
                self._shut_sockets()


class _Guarded(httpx2.SyncByteStream):
    """The bytes of an answer until the exchange is closed: a shut socket still returns what the service sends."""

    def __init__(self, stream: httpx2.SyncByteStream, is_closed: Callable[[], bool]) -> None:
        self._stream = stream
        self._is_closed = is_closed

    def __iter__(self) -> Iterator[bytes]:
        size = event = 0
        last = b""
        for data in self._stream:
            around = last + data
            last = around[-3:]
            end = max(around.rfind(blank) for blank in (b"\n\n", b"\r\n\r\n", b"\r\r"))
            event = event + len(data) if end < 0 else len(around) - end
            size += len(data)
            if self._is_closed():
                raise ConnectionAbortedError("nobody waits for this answer any more")
            if size > MOST_BYTES or event > MOST_EVENT_BYTES:
                raise Endless
            yield data

    def close(self) -> None:
        self._stream.close()
