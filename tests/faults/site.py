"""The real thing as processes: the web server and workers on a database of their own, driven over HTTP.

`Site` starts and kills them; its own database (SQLite or PostgreSQL) is only read here, or locked to hold a process up
at a chosen moment.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from django.contrib.staticfiles.finders import get_finders

from tests.processes import ROOT, free_port
from viewer.serve import prepare

PATIENCE = 180.0  # seconds, on a machine with other work
LOST_AFTER = 6  # seconds
OPEN = ("queued", "planning", "summarizing", "waiting", "applying")
MANAGE = """
import shlex, sys
from django.core.management import execute_from_command_line
for command in sys.argv[1:]:
    execute_from_command_line(["manage.py", *shlex.split(command)])
"""
NOT_REACHED = (ConnectionError, http.client.HTTPException, TimeoutError)

Found = TypeVar("Found")


def until(true: Callable[[], Found], what: object, patience: float = PATIENCE, every: float = 0.02) -> Found:
    """Wait for something that is true, and give it back; `what` says what, or is called to say it."""
    end = time.monotonic() + patience
    while not (found := true()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {patience} s: {what() if callable(what) else what}")
        time.sleep(every)
    return found


class Process:
    """A child that can be stopped, continued and killed. Its log is kept for who looks into a failure."""

    def __init__(
        self, command: list[str], environment: dict[str, str], log: Path, listening: socket.socket | None = None
    ) -> None:
        self.log = log
        with log.open("ab") as out:
            self.popen = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE if listening else subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                pass_fds=[listening.fileno()] if listening else [],
            )

    @property
    def pid(self) -> int:
        return self.popen.pid

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def stop(self) -> None:
        """Stop it; a signal alone lets its threads go on for a moment."""
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: set(self._states()) <= {"T"}, "every thread to stop", every=0.001)

    def _states(self) -> list[str]:
        """What each of its threads does, as Linux says it."""
        paths = Path(f"/proc/{self.pid}/task").glob("*/stat")
        return [path.read_text().rpartition(")")[2].split()[0] for path in paths]

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to it and all it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait()
        if self.popen.stdin:
            self.popen.stdin.close()


def _is_writable(path: Path) -> bool:
    with closing(sqlite3.connect(path, timeout=2, isolation_level=None)) as con:
        try:
            con.execute("BEGIN EXCLUSIVE")  # a reader keeps others from committing, but in a database with a WAL
        except sqlite3.OperationalError:
            return False
        con.execute("ROLLBACK")
    return True


class SiteProcesses:
    """One site with its own database and stores; processes are started as a test wants them."""

    def __init__(self, place: Path, stores: dict[str, Path], database: str = "", **environment: str) -> None:
        self.place, self.stores = place, stores
        self.database = database or f"sqlite:///{place / 'own.sqlite3'}"
        self.on_postgres = bool(database)
        self.port = free_port()
        self.environment = {
            **os.environ,
            "PALIMPSEST_DATA_DIR": str(place / "data"),
            "PALIMPSEST_DATABASE_URL": self.database,
            "PALIMPSEST_STORES": ",".join(f"{name}=sqlite:///{path}" for name, path in stores.items()),
            "PALIMPSEST_LOST_AFTER": str(LOST_AFTER),
            **environment,
        }
        self.processes: list[Process] = []
        self.web: Process | None = None
        self.token = self.manage("migrate -v0 --skip-checks", "token create tests --scopes read,write,compact").strip()

    # -- processes

    def manage(self, *commands: str) -> str:
        """Management commands that end, one after the other in one process; what they printed."""
        command = [sys.executable, "-c", MANAGE, *commands]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def worker(self, **environment: str) -> Process:
        """One more `manage.py worker`."""
        log = self.place / f"worker-{len(self.processes)}.log"
        process = Process(["manage.py", "worker"], {**self.environment, **environment}, log)
        self.processes.append(process)
        return process

    def serve(self) -> Process:
        """The web server, once it answers."""
        with prepare.listening("127.0.0.1", self.port) as found:
            command = ["-m", "viewer.serve.server", str(found.fileno())]
            self.web = Process(command, self.environment, self.place / "web.log", found)
        self.processes.append(self.web)
        until(self.answers, "the server's first answer", every=0.05)
        return self.web

    def name_static_files(self) -> bool:
        """Pages find their style and script; to collect them takes longer than most tests. Whether it was to be done:
        a server that runs has to be started again.
        """
        file = self.place / "data" / "static" / "staticfiles.json"
        if file.exists():
            return False
        names = [name for finder in get_finders() for name, _ in finder.list([])]
        file.write_text(json.dumps({"version": "1.1", "paths": {name: name for name in names}}))
        return True

    def answers(self) -> bool:
        """Whether the server does."""
        try:
            return self.ask("GET", "/health")[0] == 200
        except (*NOT_REACHED, OSError):
            return False

    def stop(self, process: Process, store: Path) -> None:
        """Stop a process where it holds nothing of the store's or the site's own database: it would lock SQLite for
        everybody until it goes on.
        """
        paths = [store] if self.on_postgres else [store, self.place / "own.sqlite3"]
        while True:
            process.stop()
            if all(map(_is_writable, paths)) and self._may_write_runs():
                return
            process.go_on()

    def _may_write_runs(self) -> bool:
        """Whether nobody has a row of the runs, on PostgreSQL."""
        if not self.on_postgres:
            return True
        assert isinstance(self._own, psycopg.Connection)
        try:
            self._own.execute("SELECT 1 FROM runs_run FOR UPDATE NOWAIT")
        except psycopg.errors.LockNotAvailable:
            return False
        return True

    def workers(self) -> list[Process]:
        return [process for process in self.processes if process.alive and process is not self.web]

    def end(self) -> None:
        """Kill every process."""
        for process in self.processes:
            process.kill()
        self._own.close()

    def logs(self) -> str:
        return "\n".join(f"{path.name}:\n{path.read_text()[-3000:]}" for path in sorted(self.place.glob("*.log")))

    # -- over HTTP

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON. Raises what a connection raises."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with closing(connection):
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Host": "localhost"}
            connection.request(method, f"/api/v1{path}", json.dumps(body or {}) if method == "POST" else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "null")

    def start_run(self, session_id: str, store: str, apply: bool = True, summarizer: str = "offline") -> int:
        """Ask for a run; its number."""
        wanted = {"apply": apply, "strategy": "summary", "summarizer": summarizer}
        status, run = self.ask("POST", f"/stores/{store}/sessions/{session_id}/runs", wanted)
        assert status == 202, run
        return int(run["id"])

    def apply(self, run_id: int) -> dict[str, Any]:
        """Have a candidate written."""
        status, run = self.ask("POST", f"/runs/{run_id}/apply")
        assert status == 202, run
        return dict(run)

    def run(self, run_id: int) -> dict[str, Any]:
        status, run = self.ask("GET", f"/runs/{run_id}")
        assert status == 200, run
        return dict(run)

    def closed(self, run_id: int, patience: float = PATIENCE) -> dict[str, Any]:
        """The run once it is open no more."""
        until(lambda: self.status(run_id) not in OPEN, lambda: f"{self.row(run_id)}\n{self.logs()}", patience)
        return self.run(run_id)

    # -- its own database

    @cached_property
    def _own(self) -> psycopg.Connection[tuple[Any, ...]] | sqlite3.Connection:
        if self.on_postgres:
            return psycopg.connect(self.database, autocommit=True)
        return sqlite3.connect(self.place / "own.sqlite3", timeout=PATIENCE, isolation_level=None)

    def leave(self) -> None:
        """Close this process's own connection until it is needed again."""
        self._own.close()
        del self._own

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What a query finds in the site's own database."""
        if isinstance(self._own, sqlite3.Connection):
            return self._own.execute(sql).fetchall()
        return self._own.execute(sql.encode()).fetchall()

    def row(self, run_id: int) -> dict[str, Any]:
        names = ("status", "holder", "attempts", "handoff_id", "error_code", "error_message")
        [found] = self.rows(f"SELECT {', '.join(names)} FROM runs_run WHERE id = {run_id}")
        return dict(zip(names, found, strict=True))

    def status(self, run_id: int) -> str:
        return str(self.rows(f"SELECT status FROM runs_run WHERE id = {run_id}")[0][0])

    def unfinished(self) -> int:
        """How many runs wait for a worker, or have one."""
        return int(self.rows(f"SELECT COUNT(*) FROM runs_run WHERE queued_at IS NOT NULL OR status IN {OPEN}")[0][0])

    def holder(self, run_id: int) -> Process | None:
        """The process that has the run."""
        name = self.row(run_id)["holder"]
        return next((process for process in self.processes if name.startswith(f"pid={process.pid}:")), None)

    @contextmanager
    def noting_held_up(self, run_id: int) -> Iterator[Callable[[], None]]:
        """Nobody can change the run's row meanwhile. The function yielded drops what waits to: on PostgreSQL the server
        would otherwise carry out what a dead client had asked for."""
        if not self.on_postgres:
            with locked(self.place / "own.sqlite3"):
                yield lambda: None
            return
        with psycopg.connect(self.database) as connection:
            connection.execute(f"SELECT 1 FROM runs_run WHERE id = {run_id} FOR UPDATE".encode())
            yield lambda: self.cut_connections("wait_event_type = 'Lock'")
            connection.rollback()

    def cut_connections(self, which: str = "TRUE") -> None:
        """End connections to the PostgreSQL database from the server's side."""
        self.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            f"WHERE datname = current_database() AND pid <> pg_backend_pid() AND {which}"
        )


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold a SQLite database's write lock, as another program does that writes for long; rolled back at the end."""
    with closing(sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)) as con:
        con.execute("BEGIN IMMEDIATE")
        yield con
        if con.in_transaction:
            con.execute("ROLLBACK")
