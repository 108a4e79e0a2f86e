"""What the model services of all clients have in common: they run on this machine and keep what they were sent."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Generic, TypeVar

from tests.agents.base import Json

R = TypeVar("R")  # a reply of the model, as its interface has it

WAIT = 60.0  # seconds an awaited request or a held reply may take


@dataclass(frozen=True, slots=True)
class Request:
    """A request that came. `kind` is one of the server's: a "turn" of a session, one of a "helper" (sub-agent), and
    others.
    """

    kind: str
    body: Json


class ModelServer(ThreadingHTTPServer, Generic[R]):
    """Answers turns with `replies`, then with a text of its own each; helpers by the start of their task."""

    daemon_threads = True
    kinds: ClassVar[tuple[str, ...]]
    root: ClassVar[str] = ""  # of the addresses that it answers

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.replies: deque[R] = deque()
        self.helpers: dict[str, R] = {}
        self.summary = "The summary so far."
        self.requests: list[Request] = []
        self._asked = threading.Condition()
        self._may_reply = {kind: threading.Event() for kind in self.kinds}
        self._let_reply(*self.kinds)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._let_reply(*self.kinds)
        self.shutdown()
        self.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}{self.root}"

    @abstractmethod
    def _kind(self, body: Json) -> str: ...

    @abstractmethod
    def _reply(self, kind: str, body: Json) -> R: ...

    def of(self, kind: str) -> list[Json]:
        """The bodies of the requests of one kind, oldest first."""
        with self._asked:
            return [request.body for request in self.requests if request.kind == kind]

    def take(self, body: Json) -> R:
        """Keep a request and, unless replies are held back, say what to answer."""
        kind = self._kind(body)
        with self._asked:
            self.requests.append(Request(kind, body))
            reply = self._reply(kind, body)
            self._asked.notify_all()
        self._may_reply[kind].wait(WAIT)
        return reply

    def wait_for(self, kind: str, count: int, within: float = WAIT) -> None:
        """Return once there were so many requests of a kind, for so many seconds at most."""
        deadline = time.monotonic() + within
        with self._asked:
            while sum(request.kind == kind for request in self.requests) < count:
                if not self._asked.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"no {kind} request {count} within {within} s")

    @contextmanager
    def held(self, kind: str = "turn") -> Iterator[None]:
        """Inside, requests of a kind arrive but get no reply: the model is still at it."""
        self._may_reply[kind].clear()
        try:
            yield
        finally:
            self._let_reply(kind)

    def _let_reply(self, *kinds: str) -> None:
        for kind in kinds:
            self._may_reply[kind].set()
