"""The server and the worker: started together, kept alive, ended together."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
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
YOUNG_SECONDS = 15.0  # ending by itself within these, again and again, is a fault of the start
LONGEST_PAUSE = 60.0  # between two starts that fail
FAULTS = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS}

# glibc's malloc: large blocks go back to the system at once, and threads share two heaps instead of one for each; with
# its defaults a server that was asked for messages of 10 MB stayed at several times what it needs. Others ignore these.
MEMORY = {"MALLOC_MMAP_THRESHOLD_": "262144", "MALLOC_ARENA_MAX": "2"}


@dataclass
class ChildProcess:
    """One child process, leader of its own session, on a leash (see `leash`). `descriptors` stay open in it."""

    name: str
    command: list[str]
    descriptors: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    again_at: float | None = None  # when it is to be started again, once it has ended
    failures: int = 0  # starts in a row that failed

    def start(self) -> None:
        self.started_at, self.again_at = time.monotonic(), None
        self.process = subprocess.Popen(
            [sys.executable, *self.command],
            cwd=settings.BASE_DIR,
            env=os.environ | MEMORY,
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=self.descriptors,
        )

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self.process.poll() if self.process else None

    @property
    def failed(self) -> bool:
        """Whether it ended by its own fault, unlike one that somebody killed or asked to end."""
        code = self.exit_code or 0
        return code > 0 or -code in FAULTS

    def keep(self) -> None:
        """Start it again once it has ended: at once, or after a pause where one start after the other failed."""
        if self.alive:
            return
        now = time.monotonic()
        if self.again_at is None:
            self.failures = self.failures + 1 if self.failed and now - self.started_at < YOUNG_SECONDS else 0
            pause = min(2.0 ** (self.failures - 2), LONGEST_PAUSE) if self.failures > 1 else 0.0
            self.again_at = now + pause
            when = f"in {pause:.0f} s" if pause else "now"
            ended = f"The {self.name} ended unexpectedly (exit code {self.exit_code})"
            print(f"{ended}; starting it again {when}.", file=sys.stderr, flush=True)
        if now >= self.again_at:
            self.sweep()
            self.start()

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
    """Runs server and worker until a signal or (`with_parent`) the end of the calling process, or until the server
    fails before it answered anything.

    The socket is kept open here, so that connections wait while a server is started again. `on_answer` is called once,
    when the server answers its first request.
    """

    listening: socket.socket
    on_answer: Callable[[], None]
    with_parent: bool = False
    parent: int = field(default_factory=os.getppid)
    signalled_at: float = 0.0
    answered: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.address: tuple[str, int] = self.listening.getsockname()[:2]
        descriptor = self.listening.fileno()
        self.server = ChildProcess("server", ["-m", "viewer.up.server", str(descriptor)], (descriptor,))
        self.worker = ChildProcess("worker", ["-m", "viewer", "worker", "--leash"])

    def run(self) -> int:
        """Start both, keep them alive, end them; the exit code."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup stays nohup
                signal.signal(number, self._count)
        try:
            self.server.start()
            self.worker.start()
            problem = self._watch()
            if problem:
                print(problem, file=sys.stderr, flush=True)
            self.listening.close()  # nobody is to wait for a server that will not come
            return self._end() or (1 if problem else 0)
        finally:
            self.over.set()
            self.server.sweep()
            self.worker.sweep()

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.signalled_at = time.monotonic()

    def _watch(self) -> str:
        """Until something asks for the end: why it is an error, or nothing."""
        threading.Thread(target=self._seek_answer, name="first answer", daemon=True).start()
        said = False
        while not self.signalled_at and not (self.with_parent and os.getppid() != self.parent):
            if not self.answered.is_set():
                if not self.server.alive and self.server.failed:
                    return f"The server ended unexpectedly (exit code {self.server.exit_code})."
                if time.monotonic() - self.server.started_at > ANSWER_SECONDS:
                    return f"The server did not answer within {ANSWER_SECONDS:.0f} seconds."
            elif not said:
                said = True
                self.on_answer()
            self.server.keep()
            self.worker.keep()
            time.sleep(TICK_SECONDS)
        return ""

    def _seek_answer(self) -> None:
        """In a thread of its own: a request that waits for a server holds nothing up."""
        while not self.over.is_set():
            if self._answers():
                self.answered.set()
                return
            time.sleep(TICK_SECONDS)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(*self.address, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", "/sign-in/", headers={"Host": "localhost"})
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _end(self) -> int:
        """Ask both to end and wait; a later signal ends them at once. 1 if it came to that."""
        self.server.ask_to_end()
        self.worker.ask_to_end()
        asked_at, said = time.monotonic(), False
        while self.server.alive or self.worker.alive:
            if self.signalled_at > asked_at + SAME_SIGNAL_SECONDS:
                return 1
            if not said and self.worker.alive and time.monotonic() - asked_at > PATIENCE_SECONDS:
                print("Waiting for the running compaction to end. Ctrl-C again ends it now.", flush=True)
                said = True
            time.sleep(TICK_SECONDS)
        return 0
