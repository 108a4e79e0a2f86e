"""The real pi beside our code: its program, and runs of it that reach nothing but this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.agents.base import Json
from tests.interop.chat_service import MODEL, ChatService
from tests.interop.fetched import NotInstalled, fetched, npm
from tests.interop.openclaw.client import node as newer_node
from tests.interop.processes import WAIT, Command, run

from .rpc import Rpc

# The last that runs with Node 20, and the newest whose package is whole on npm: 1.6.0 asks for some that are not there.
OLDER, NEWEST = "0.73.1", "1.5.2"
PACKAGES = {OLDER: "@mariozechner/pi-coding-agent", NEWEST: "@earendil-works/pi-coding-agent"}  # by their names on npm
OLDEST_NODE = 20
PROVIDER = "ours"
LONG = 900.0  # seconds for the contexts of many files
WINDOW = 200_000  # of its model
RESERVE = 16_384  # tokens short of that at which it compacts by itself
FULL = WINDOW - RESERVE + 1  # tokens at which it does
RECENT = 60  # tokens that its own compactions keep
MODEL_NAME = f"{PROVIDER}/{MODEL}"
HERE = Path(__file__).parent
TREE = HERE / "tree.js"  # gives it a command for what people do with /tree
CONTEXT = HERE / "context.mjs"  # has it build the context of a file


def program(version: str = OLDER) -> Path:
    """The program of a version, installed once and kept in the cache directory. Raises NotInstalled."""
    package = PACKAGES[version]

    def install(home: Path) -> None:
        runs = node() if version == OLDER else newer_node()
        npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home, f"{package}@{version}")
        inside = home / "node_modules" / package
        (main,) = json.loads((inside / "package.json").read_text())["bin"].values()
        started = home / "pi"
        started.write_text(f'#!/bin/sh\nexec "{runs}" "{inside / main}" "$@"\n')
        started.chmod(0o755)

    return fetched(f"pi-{version}", "pi", version, install)


def node() -> str:
    """The Node that runs it. Raises NotInstalled where there is none, or an older one."""
    found = shutil.which("node")
    if found is None:
        raise NotInstalled("there is no node")
    told = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=WAIT).stdout.strip()
    if int(told.removeprefix("v").partition(".")[0]) < OLDEST_NODE:
        raise NotInstalled(f"node is {told}, and pi needs {OLDEST_NODE}")
    return found


class PiClient:
    """pi with a home and a working directory of its own, and a model of its own to talk to."""

    def __init__(self, found: Path, place: Path, service: ChatService, *, work: Path | None = None) -> None:
        self.program, self.place, self.service = found, place, service
        self.home, self.work = place / "home" / ".pi" / "agent", work or place / "work"
        for directory in (self.home, self.work, place / "tmp"):
            directory.mkdir(parents=True, exist_ok=True)
        (self.home / "models.json").write_text(json.dumps({"providers": {PROVIDER: self._provider()}}))
        self.compacts_by_itself(True)

    def compacts_by_itself(self, enabled: bool) -> None:
        """Whether it does, from its next start on."""
        compaction = {"enabled": enabled, "reserveTokens": RESERVE, "keepRecentTokens": RECENT}
        (self.home / "settings.json").write_text(json.dumps(_SETTINGS | {"compaction": compaction}))

    def _provider(self) -> Json:
        free = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
        model = {
            "id": MODEL, "name": "Ours", "reasoning": True, "input": ["text", "image"], "cost": free,
            "contextWindow": WINDOW, "maxTokens": 8_192,
        }  # fmt: skip
        return {"baseUrl": self.service.url, "api": "openai-completions", "apiKey": "none", "models": [model]}

    def environment(self) -> dict[str, str]:
        """All that it is told: reports to nobody, fetches nothing."""
        proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")  # a dead one: nothing leaves this machine
        return {
            "PATH": os.defpath, "LANG": "C.UTF-8", "TERM": "dumb", "NO_PROXY": "127.0.0.1",
            "HOME": str(self.place / "home"), "TMPDIR": str(self.place / "tmp"),
            "PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0",
            **dict.fromkeys(proxies, "http://127.0.0.1:9"),
        }  # fmt: skip

    def files(self) -> list[Path]:
        """The files of its sessions, in the order of their names, which begin with a time."""
        return sorted((self.home / "sessions").glob("*/*.jsonl"), key=lambda path: path.name)

    def copy(self, place: Path, service: ChatService) -> PiClient:
        """Another client with a copy of this one's sessions, at work in the same directory."""
        copied = PiClient(self.program, place, service, work=self.work)
        shutil.copytree(self.home / "sessions", copied.home / "sessions")
        return copied

    # --- runs

    def run(self, *arguments: str) -> str:
        """One process; what it prints."""
        command: Command = [self.program, "--model", MODEL_NAME, *arguments]
        return run(command, self.work, self.environment())

    def start(self, prompt: str) -> Path:
        """A new session with one turn; its file."""
        before = set(self.files())
        self.run("-p", prompt)
        (made,) = set(self.files()) - before
        return made

    def turn(self, file: Path, prompt: str) -> None:
        """One turn in a process of its own that resumes a session."""
        self.run("--session", str(file), "-p", prompt)

    @contextmanager
    def rpc(self, file: Path | None = None) -> Iterator[Rpc]:
        """A process that stays open, with a new session or one that it resumes, until the end of the block."""
        named: Sequence[str | Path] = ("--session", file) if file else ()
        command: Command = [self.program, "--model", MODEL_NAME, "--mode", "rpc", "-e", TREE, *named]
        process = Rpc(command, self.work, self.environment())
        try:
            yield process
        finally:
            process.close()

    def contexts(self, *files: Path) -> list[Json]:
        """What the client itself makes of these files, as it would send it: the leaf's id and the messages of each, or
        the error for which it does not go on with one.
        """
        modules = self.program.parent / "node_modules"
        package = next(modules / each for each in PACKAGES.values() if (modules / each).exists())
        runs = node() if package.match(PACKAGES[OLDER]) else newer_node()
        command: Command = [runs, CONTEXT, package / "dist" / "core", *files]
        found: list[Json] = json.loads(run(command, self.work, self.environment(), LONG))
        return found


_SETTINGS = {
    "enableInstallTelemetry": False,
    "quietStartup": True,
    "retry": {"enabled": False},
}
