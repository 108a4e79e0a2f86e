"""The server and the worker: started together, watched, ended together."""

import http.client
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType

from django.conf import settings

TICK_SECONDS = 0.2
ANSWER_SECONDS = 60.0  # from the server's start to its first answer
SAME_SIGNAL_SECONDS = 1.0  # a service manager signals make and its child, and make passes its own on: still one
PATIENCE_SECONDS = 1.5  # before saying what the end is waiting for
LONGEST_PAUSE = 60.0  # between two restarts of a worker that keeps dying


@dataclass
class Child:
    """One child process, leader of its own session, on a leash (see `leash`)."""

    name: str
    command: list[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0

    def start(self) -> None:
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, *self.command], cwd=settings.BASE_DIR, stdin=subprocess.PIPE, start_new_session=True
        )

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self.process.poll() if self.process else None

    def ask_to_end(self) -> None:
        """Once a start: the child turns the byte into one SIGTERM to itself."""
        if self.process and self.process.stdin and self.alive:
            with suppress(BrokenPipeError):
                os.write(self.process.stdin.fileno(), b".")

    def sweep(self) -> None:
        """SIGKILL to whatever is left of the child's process group, then reap it."""
        if self.process is None:
            return
        with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin:
            self.process.stdin.close()


@dataclass
class Processes:
    """Runs server and worker until a signal, the server's death, or (`with_parent`) the end of the calling process.

    `on_answer` is called once, when the server answers its first request.
    """

    address: str
    port: int
    on_answer: Callable[[], None]
    with_parent: bool = False
    parent: int = field(default_factory=os.getppid)
    signalled_at: float = 0.0
    pause: float = 1.0

    def __post_init__(self) -> None:
        self.server = Child("server", ["-m", "viewer.up.server", self.address, str(self.port)])
        self.worker = Child("worker", ["manage.py", "worker", "--leash"])

    def run(self) -> int:
        """Start both, watch them, end them; the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup stays nohup
                signal.signal(number, self._count)
        try:
            self.server.start()
            self.worker.start()
            problem = self._watch()
            if problem:
                print(problem, file=sys.stderr, flush=True)
            return self._end() or (1 if problem else 0)
        finally:
            self.server.sweep()
            self.worker.sweep()

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.signalled_at = time.monotonic()

    def _watch(self) -> str:
        """Until something asks for the end: why it is an error, or nothing."""
        answered = False
        while not self.signalled_at and not (self.with_parent and os.getppid() != self.parent):
            if not self.server.alive:
                return f"The server ended unexpectedly (exit code {self.server.exit_code})."
            if not answered and self._answers():
                answered = True
                self.on_answer()
            if not answered and time.monotonic() - self.server.started_at > ANSWER_SECONDS:
                return f"The server did not answer within {ANSWER_SECONDS:.0f} seconds."
            self._keep_worker()
            time.sleep(TICK_SECONDS)
        return ""

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=5)
        try:
            connection.request("GET", "/sign-in/", headers={"Host": "localhost"})
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _keep_worker(self) -> None:
        """Start a dead worker again, later each time unless it had lived for a while."""
        if self.worker.alive:
            return
        lived = time.monotonic() - self.worker.started_at
        if lived > LONGEST_PAUSE:
            self.pause = 1.0
        if lived < self.pause:
            return
        print(f"The worker ended unexpectedly (exit code {self.worker.exit_code}); starting it again.", file=sys.stderr)
        self.pause = min(self.pause * 2, LONGEST_PAUSE)
        self.worker.sweep()
        self.worker.start()

    def _end(self) -> int:
        """Ask both to end and wait; a later signal ends them at once. 1 if it came to that."""
        self.server.ask_to_end()
        self.worker.ask_to_end()
        asked_at, said = time.monotonic(), False
        while self.server.alive or self.worker.alive:
            if self.signalled_at > asked_at + SAME_SIGNAL_SECONDS:
                return 1
            if not said and self.worker.alive and time.monotonic() - asked_at > PATIENCE_SECONDS:
                print("Waiting for the running task to end. Ctrl-C again ends it now.", flush=True)
                said = True
            time.sleep(TICK_SECONDS)
        return 0
