"""Server and worker as child processes: started, restarted when they end, ended together.

Each child leads its own process session, so that Ctrl-C in a terminal reaches only this process, and ends when its
standard input does (`viewer.serve.parent`): a pipe whose other end is here.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress

from django.conf import settings

TICK_SECONDS = 0.2
START_SECONDS = 2.0  # at least, between two starts of a child
SAME_SIGNAL_SECONDS = 1.0  # a service manager signals make and its child, and make passes its own on: still one
NOTICE_SECONDS = 1.5  # before printing what the shutdown waits for

# glibc's malloc: large blocks go back to the system at once, and threads share two heaps instead of one for each; with
# its defaults a server that was asked for messages of 10 MB kept several times the needed memory. Others ignore these.
MEMORY = {"MALLOC_MMAP_THRESHOLD_": "262144", "MALLOC_ARENA_MAX": "2"}


class Child:
    """A child process, `python COMMAND...`, with these descriptors open in it."""

    def __init__(self, name: str, command: list[str], descriptors: tuple[int, ...] = ()) -> None:
        self.name, self.command, self.descriptors = name, command, descriptors
        self.start()

    def start(self) -> None:
        self.started_at = time.monotonic()
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
        return self.process.poll() is None

    def restart_if_ended(self) -> None:
        if not self.alive and time.monotonic() - self.started_at > START_SECONDS:
            ended = f"The {self.name} ended unexpectedly (exit code {self.process.returncode})"
            print(f"{ended}; starting it again.", file=sys.stderr, flush=True)
            self.kill()
            self.start()

    def ask_to_end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def kill(self) -> None:
        """Kill the child and the processes it started, which may have outlived it."""
        with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.ask_to_end()


def run(listening: socket.socket, on_answer: Callable[[], None], parent: int | None = None) -> int:
    """Keep server and worker running until a signal, or the end of this parent process; returns the exit code.

    The socket stays open here, so that connections wait while a server is restarted. `on_answer` is called once, when
    the server answers its first request; if a server ends before that, everything ends, so that somebody looks.
    """
    signals: list[float] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup stays nohup
            signal.signal(number, lambda *_: signals.append(time.monotonic()))
    descriptor = listening.fileno()
    server = Child("server", ["-m", "viewer.serve.server", str(descriptor)], (descriptor,))
    worker = Child("worker", ["-m", "viewer", "worker", "--supervised"])
    answer, announced = threading.Event(), False
    threading.Thread(target=_wait_for_answer, args=(listening.getsockname()[:2], answer), daemon=True).start()
    try:
        while not signals and parent in (None, os.getppid()):
            if answer.is_set() and not announced:
                announced = True
                on_answer()
            if not announced and not server.alive:
                print(f"The server ended (exit code {server.process.returncode}).", file=sys.stderr, flush=True)
                return 1
            server.restart_if_ended()
            worker.restart_if_ended()
            time.sleep(TICK_SECONDS)
        listening.close()  # nobody is to wait for a server that will not come
        return _end(server, worker, signals)
    finally:
        answer.set()
        server.kill()
        worker.kill()


def _wait_for_answer(address: tuple[str, int], answered: threading.Event) -> None:
    """Runs in a thread, so that a request that waits for the server delays no signal."""
    while not answered.is_set():
        with closing(http.client.HTTPConnection(*address)) as connection, suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/sign-in/", headers={"Host": "localhost"})
            connection.getresponse()
            answered.set()
        time.sleep(TICK_SECONDS)


def _end(server: Child, worker: Child, signals: list[float]) -> int:
    """Ask both to end and wait for them; another signal ends them at once, with exit code 1."""
    server.ask_to_end()
    worker.ask_to_end()
    asked_at = time.monotonic()
    notice_at = asked_at + NOTICE_SECONDS
    while server.alive or worker.alive:
        if signals and signals[-1] > asked_at + SAME_SIGNAL_SECONDS:
            return 1
        if worker.alive and time.monotonic() > notice_at:
            print("Waiting for the running compaction to end. Ctrl-C again ends it now.", flush=True)
            notice_at = float("inf")
        time.sleep(TICK_SECONDS)
    return 0
