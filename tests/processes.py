"""The whole site, started by `manage.py up` in a process of its own, and a signed-in cookie for it."""

import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from django.conf import settings

ROOT: Path = settings.BASE_DIR

PATIENCE = 270.0  # seconds; a start takes 3 on an idle machine, and 30 beside other work


# A run of a session of the demo store, and the turn of an agent that it waits for.
SESSION = "(SELECT id FROM sessions WHERE title LIKE 'Totals at checkout%')"
TURN = f"INSERT INTO session_turn_leases VALUES ({SESSION}, 'pid=1:turn=9', unixepoch(), unixepoch() + 3600)"
START_RUN = """
from viewer.runs import service
from viewer.stores.registry import get_store
service.start(get_store("demo"), "%s", service.Options(), apply=True)
"""


def until(true: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, f"not within {patience} s: {what}"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def processes() -> dict[int, tuple[int, str]]:
    """pid -> (parent, command line) of everything alive."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True)
    rows = (line.split(None, 3) for line in listed.stdout.splitlines())
    return {int(row[0]): (int(row[1]), row[3]) for row in rows if len(row) == 4 and not row[2].startswith("Z")}


class StartedSite:
    """One `manage.py up` on a data directory and port of its own."""

    def __init__(self, data: Path, command: list[str] | None = None, **environment: str) -> None:
        self.data, self.port = data, free_port()
        self.environment = {**os.environ, "PALIMPSEST_DATA_DIR": str(data), "PORT": str(self.port)} | environment
        self.output = ""
        ignored = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as it is for tests started with nohup
        self.process = subprocess.Popen(
            command or [sys.executable, "-W", "error", "manage.py", "up"],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        signal.signal(signal.SIGHUP, ignored)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        self.pids: list[int] = []

    def _read(self) -> None:
        assert self.process.stdout
        with self.process.stdout as lines:
            for line in lines:
                self.output += line

    def ready(self) -> "StartedSite":
        """Wait for the sign-in link, then note every process there is."""
        until(lambda: "Ctrl-C" in self.output or self.process.poll() is not None, "a sign-in link")
        assert self.process.poll() is None, self.output
        self.pids = self.family()
        assert len(self.pids) >= 3, f"up, server, worker: {self.pids} {self.output}"
        return self

    @property
    def link(self) -> str:
        found = re.search(r"http://\S+/sign-in/\S+", self.output)
        assert found, self.output
        return found[0]

    def family(self, words: str = "") -> list[int]:
        """This process and all its descendants, with these words in their command line."""
        alive, family = processes(), [self.process.pid]
        for pid in family:
            family += [child for child, (parent, _) in alive.items() if parent == pid]
        return [pid for pid in family if words in alive.get(pid, (0, ""))[1]]

    def child(self, words: str) -> int:
        return self.family(words)[0]

    def own(self, code: str) -> str:
        """Run a line of Python against the site's own database; what it printed."""
        line = f"import django; django.setup()\n{code}"
        command = [sys.executable, "-c", line]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def demo(self, sql: str) -> list[tuple[Any, ...]]:
        """What a statement finds in the demo store, or writes to it."""
        with closing(sqlite3.connect(self.data / "demo.db", timeout=PATIENCE)) as con, con:
            return con.execute(sql).fetchall()

    def begin_run(self) -> None:
        """Give the worker a run and wait until it has begun. It ends after `end_turn`."""
        assert not self.wrote_run()
        self.demo(TURN)
        self.own(START_RUN % self.demo(f"SELECT {SESSION}")[0])
        until(lambda: self.demo("SELECT 1 FROM compression_locks"), "the begin of the run")

    def end_turn(self) -> None:
        self.demo("DELETE FROM session_turn_leases")

    def wrote_run(self) -> bool:
        """Whether the run was written."""
        return bool(self.demo(f"SELECT 1 FROM messages WHERE session_id = {SESSION} AND _compressed_summary = 1"))

    def is_gone(self) -> bool:
        return not set(self.pids) & set(processes())

    def cut_down(self) -> None:
        """After the test, whatever came of it."""
        for pid in dict.fromkeys([*self.family(), *self.pids]):  # parents first, and with what they are just starting
            with suppress(ProcessLookupError):
                leads = os.getpgid(pid) == pid
                (os.killpg if leads else os.kill)(pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()


def cookie_of(site: StartedSite) -> str:
    """Name and value, of a signed-in browser."""
    return site.own(
        "from django.conf import settings\n"
        "from django.contrib.sessions.backends.db import SessionStore\n"
        "s = SessionStore(); s['signed_in'] = True; s.create()\n"
        "print(f'{settings.SESSION_COOKIE_NAME}={s.session_key}')"
    )
