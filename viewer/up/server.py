"""The web server as a child of `manage.py up`: `python -m viewer.up.server DESCRIPTOR`, of a socket that listens.

Waitress, because one thread of it reads all requests and writes all answers: a thread that answers is given a request
when it is whole, and is free again when its answer is in the buffer, so that no slow client holds one. What slow
clients do hold is connections and buffers. Those are bounded here: by time, and by closing the connection that has been
waited for longest when there are too many.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

from django.conf import settings
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher
from waitress.utilities import RequestEntityTooLarge

from viewer.up import forking, leash

THREADS = 8  # a page that waits for a locked store holds one for some seconds
QUICK_SECONDS = 0.25  # one that takes longer is large: others compute beside it
LOOK_SECONDS = 0.02  # between two looks at whether a request still computes
EXPORT_THREADS = 2  # of all servers, for exports alone, which wait their turn: they may take minutes, and much memory
WAITING = 2  # requests for a thread: with as many, new connections are left to the other servers of the socket
CONNECTIONS = 400  # with a temporary file each they stay below the usual 1,024 descriptors of a process
REQUEST_SECONDS = 60  # from the first byte of a request to its last: the largest body over 350 kbit/s
SILENCE_SECONDS = 60  # without a request, or without taking any of an answer
ANSWER_SECONDS = 30 * 60  # for taking all of one
ANSWER_BYTES = 1_000_000_000  # of one that wait for a slow client, in a temporary file; a thread waits beyond
UNFINISHED_BYTES = 64_000_000  # of all bodies that are not whole yet
HEAD_BYTES, BODY_BYTES = 65_536, 2_621_440  # the latter is Django's own limit (DATA_UPLOAD_MAX_MEMORY_SIZE)


class Parser(HTTPRequestParser):
    """A body that is too large is not read: the site gets the request without it, and refuses it by its length."""

    headers: dict[str, str]

    def received(self, data: bytes) -> int:
        used: int = super().received(data)
        if isinstance(self.error, RequestEntityTooLarge):
            self.error, self.body_rcv, self.expect_continue = None, None, False
            self.headers["CONNECTION"] = "close"
            self.headers.setdefault("CONTENT_LENGTH", str(self.adj.max_request_body_size))
        return used


class Channel(HTTPChannel):
    """One connection. `since` is when its newest request began or, where none is under way, ended."""

    parser_class = Parser

    def __init__(self, *given: Any, **named: Any) -> None:
        self.since = time.time()
        super().__init__(*given, **named)

    def received(self, data: bytes) -> bool:
        before = self.request
        done: bool = super().received(data)
        if self.request is not before:
            self.since = time.time()
        return done

    @property
    def unfinished(self) -> int:
        """Bytes of a body that is not whole yet."""
        return self.request.body_bytes_received if self.request is not None else 0

    def is_late(self, now: float) -> bool:
        """Whether its client is silent, or takes, for too long. A thread that makes an answer may take its time."""
        if self.requests and not self.total_outbufs_len:
            return False
        longest = ANSWER_SECONDS if self.request is None else REQUEST_SECONDS
        return now - self.last_activity > SILENCE_SECONDS or (self.is_under_way and now - self.since > longest)

    @property
    def is_under_way(self) -> bool:
        """Whether a request is being received or an answer sent."""
        return self.request is not None or self.total_outbufs_len > 0


class Server(TcpWSGIServer):
    """Closes connections that are late, and when there are too many, those that have been waited for longest."""

    channel_class = Channel
    active_channels: dict[int, Channel]  # type: ignore[assignment]  # its stubs have one channel here

    def __init__(self, parent: int, *given: Any, **named: Any) -> None:
        self.parent = parent  # a process without which this one is not to serve
        self.exporting = ThreadedTaskDispatcher()
        self.exporting.set_thread_count(max(1, EXPORT_THREADS // settings.WEB_PROCESSES))
        super().__init__(*given, **named)

    def add_task(self, task: Any) -> None:
        """Called by waitress with the channel of a request that is whole."""
        is_export = _is_export(getattr(task.requests[0], "path", ""))
        (self.exporting if is_export else self.task_dispatcher).add_task(task)

    def run(self) -> None:
        super().run()
        self.exporting.shutdown(timeout=0)

    def readable(self) -> bool:
        """Called by waitress to ask whether a connection may be taken."""
        return super().readable() and len(self.task_dispatcher.queue) < WAITING

    def handle_accept(self) -> None:
        if len(self.active_channels) >= CONNECTIONS:
            self._make_room()
        super().handle_accept()

    def maintenance(self, now: float) -> None:
        """Called by waitress every `cleanup_interval` seconds."""
        if os.getppid() != self.parent:
            raise SystemExit(0)
        for channel in self.active_channels.values():
            channel.will_close = channel.will_close or channel.is_late(now)
        self._make_room()

    def _make_room(self) -> None:
        """Connections that a thread is busy with are left alone."""
        open_ones = [each for each in self.active_channels.values() if not each.will_close]
        waiting = sorted((each for each in open_ones if not each.requests), key=lambda each: each.since)
        count, size = len(open_ones), sum(each.unfinished for each in waiting)
        for each in waiting:
            if count < CONNECTIONS and size <= UNFINISHED_BYTES:
                return
            each.will_close = True  # in the next round: here its number could go to a new connection at once
            count, size = count - 1, size - each.unfinished


class Turns:
    """WSGI middleware: one request computes at a time, for as long as it is quick; the others wait for their turn.

    Threads that compute side by side hand the interpreter to each other at every query: with eight of them each request
    took twice the processor time (`tests/bench/load.py`). One that waits, for a store or for our own database, has no
    turn: it takes no processor time.
    """

    def __init__(self, application: Callable[..., Any]) -> None:
        self._application = application
        self._under_way: set[ServedRequest] = set()
        self._lock = threading.Lock()
        self._waiting: deque[threading.Condition] = deque()  # in the order in which they came; a lock has none

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if _is_export(environ["PATH_INFO"]):
            return self._application(environ, start_response)
        mine = self._begun()
        try:
            return self._application(environ, start_response)
        finally:
            with self._lock:
                self._under_way.discard(mine)
                self._call_next()

    def _begun(self) -> ServedRequest:
        """This thread's request, once it is its turn."""
        called = threading.Condition(self._lock)
        with self._lock:
            self._waiting.append(called)
            while self._waiting[0] is not called or any(turn.computes() for turn in self._under_way):
                called.wait(LOOK_SECONDS if self._waiting[0] is called else None)
            self._waiting.popleft()
            mine = ServedRequest(threading.get_ident())
            self._under_way.add(mine)
            self._call_next()
            return mine

    def _call_next(self) -> None:
        if self._waiting:
            self._waiting[0].notify()


class ServedRequest:
    """One request under way in a thread."""

    def __init__(self, thread: int) -> None:
        clock_of = getattr(time, "pthread_getcpuclockid", None)  # Linux has it
        self._clock = clock_of(thread) if clock_of else time.CLOCK_MONOTONIC
        self._begun, self._used = time.monotonic(), time.clock_gettime(self._clock)

    def computes(self) -> bool:
        """Whether it is quick so far, and does not wait: it has had a fourth of the time since it began, at least."""
        lasted = time.monotonic() - self._begun
        used = time.clock_gettime(self._clock) - self._used
        return lasted < LOOK_SECONDS or (lasted < QUICK_SECONDS and used > lasted / 4)


def _is_export(path: str) -> bool:
    return path.endswith("/export")


def server(application: Any, listening: socket.socket, parent: int) -> Server:
    """The server of a WSGI application; `run` serves until SystemExit, or until its parent process is another."""
    limits = Adjustments(
        threads=THREADS,
        connection_limit=2 * CONNECTIONS,  # only reached by requests that are whole: they wait for a thread
        cleanup_interval=1,
        outbuf_high_watermark=ANSWER_BYTES,
        max_request_header_size=HEAD_BYTES,
        max_request_body_size=BODY_BYTES + 1,
        asyncore_use_poll=True,
        clear_untrusted_proxy_headers=False,  # `viewer.tls` reads one of them, and only of the proxies that are named
        ident=None,
    )
    address = (listening.family, listening.type, listening.proto, listening.getsockname())
    return Server(parent, application, _sock=listening, bind_socket=False, sockinfo=address, adj=limits)


def main(descriptor: int) -> None:
    """Serve until asked to end through the leash; answers under way have five seconds then."""
    leash.hold()
    signal.signal(signal.SIGTERM, _end)
    from viewer import own_database
    from viewer.wsgi import application  # it sets Django up, which takes the longest here

    count = settings.WEB_PROCESSES
    parent = forking.fork(count) if count > 1 else os.getppid()
    own_database.keep_open()
    own_database.stay_connected()
    with socket.socket(fileno=descriptor) as listening:
        server(Turns(application), listening, parent).run()


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
