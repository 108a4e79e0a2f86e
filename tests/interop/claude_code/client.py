"""The real Claude Code beside our code: its program, and runs of it that reach nothing but this machine."""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.agents.base import Json
from tests.interop.fetched import fetched, npm
from tests.interop.processes import WAIT, Command, run

from .processes import Conversation, Terminal
from .service import Service

PACKAGE = "@anthropic-ai/claude-code-linux-x64"  # the program alone, from 2.1.110 on; it needs no Node
NEWEST = "2.1.330"
OLDER = ("2.1.246", "2.1.178")
KEY = "none"
TOOLS = "Bash,Read,Write,Task,Agent"  # that it may use without asking


def program(version: str = NEWEST) -> Path:
    """The program of a version, installed once and kept in the cache directory. Raises NotInstalled."""

    def install(home: Path) -> None:
        npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home, f"{PACKAGE}@{version}")

    return fetched(f"claude-code-{version}", f"node_modules/{PACKAGE}/claude", version, install)


class Client:
    """Claude Code with a configuration and a working directory of its own, and a model of its own to talk to."""

    def __init__(self, found: Path, place: Path, service: Service, work: Path | None = None) -> None:
        self.program, self.place, self.service = found, place, service
        self.config, self.work = place / "config", work or place / "work"
        for directory in (self.config, self.work, place / "home", place / "tmp"):
            directory.mkdir(parents=True, exist_ok=True)
        self.options: dict[str, str] = {}  # more of its environment variables

    def environment(self) -> dict[str, str]:
        """All that it is told: nothing of ours, and to report to nobody."""
        quiet = ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER")
        proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")  # a dead one: nothing leaves this machine
        return {
            "PATH": os.defpath, "LANG": "C.UTF-8", "TERM": "xterm-256color", "NO_PROXY": "127.0.0.1",
            "HOME": str(self.place / "home"), "TMPDIR": str(self.place / "tmp"), "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_BASE_URL": self.service.url, "ANTHROPIC_API_KEY": KEY,
            **dict.fromkeys(proxies, "http://127.0.0.1:9"),
            **dict.fromkeys((*quiet, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1"), **self.options,
        }  # fmt: skip

    def transcript(self, session_id: str) -> Path:
        """The file of a session."""
        (found,) = (self.config / "projects").glob(f"*/{session_id}.jsonl")
        return found

    def knows(self, session_id: str) -> bool:
        """Whether there is a file of this session."""
        return any((self.config / "projects").glob(f"*/{session_id}.jsonl"))

    def answers(self, session_id: str) -> list[str]:
        """The uuids of the lines of answers of a session, in the order of the file."""
        return [record["uuid"] for record in records(self.transcript(session_id)) if record["type"] == "assistant"]

    def copy(self, place: Path, service: Service) -> Client:
        """Another client with a copy of this one's sessions and settings, at work in the same directory."""
        shutil.copytree(self.config / "projects", place / "config" / "projects")
        shutil.copyfile(self.config / ".claude.json", place / "config" / ".claude.json")
        return Client(self.program, place, service, self.work)

    # --- runs

    def turn(self, session_id: str, prompt: str, *options: str) -> Json:
        """One turn in a process of its own, of a new session or of one that is resumed; what it prints at the end."""
        named = "--resume" if self.knows(session_id) else "--session-id"
        return self.run(prompt, named, session_id, *options)

    def run(self, prompt: str, *options: str) -> Json:
        """One process with one prompt; what it prints at the end."""
        command: Command = [self.program, "-p", prompt, "--output-format", "json", "--allowedTools", TOOLS, *options]
        told: Json = json.loads(run(command, self.work, self.environment()))
        return told

    def compact(self, session_id: str, instructions: str = "") -> None:
        """Its own /compact."""
        self.turn(session_id, f"/compact {instructions}".strip())

    def fork(self, session_id: str, prompt: str) -> str:
        """Go on with a copy of a session; the id of the copy."""
        new = str(uuid.uuid4())
        self.run(prompt, "--resume", session_id, "--fork-session", "--session-id", new)
        return new

    def rewind(self, session_id: str, uuid_of_answer: str, prompt: str) -> None:
        """Go on from an earlier answer, as after its /rewind."""
        self.turn(session_id, prompt, "--resume-session-at", uuid_of_answer)

    @contextmanager
    def open(self, session_id: str, *options: str) -> Iterator[Conversation]:
        """A process that stays open with a session and is told its prompts one by one."""
        named = "--resume" if self.knows(session_id) else "--session-id"
        command: list[str | Path] = [self.program, "-p", "--verbose", "--allowedTools", TOOLS, named, session_id]
        for way in ("--input-format", "--output-format"):
            command += [way, "stream-json"]
        conversation = Conversation(
            [*command, *options], self.work, self.environment(), partial(self.wait_for, session_id)
        )
        try:
            yield conversation
        finally:
            conversation.close()

    @contextmanager
    def terminal(self, session_id: str) -> Iterator[Terminal]:
        """Its terminal program with a session that exists."""
        self._answer_dialogs()
        command: Command = [self.program, "--resume", session_id]
        terminal = Terminal(command, self.work, self.environment(), partial(self.wait_for, session_id))
        try:
            terminal.wait_for("/effort")  # stands over its input, last of all
            yield terminal
        finally:
            terminal.close()

    def wait_for(self, session_id: str, text: str) -> None:
        """Return once a text is in the session's file."""
        written, deadline = json.dumps(text, ensure_ascii=False)[1:-1], time.monotonic() + WAIT
        while not (self.knows(session_id) and written in self.transcript(session_id).read_text(encoding="utf-8")):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{text!r} is not written within {WAIT} s")
            time.sleep(0.02)

    def _answer_dialogs(self) -> None:
        """As if its first questions had been answered: colours, the key, whether this directory is trusted."""
        path = self.config / ".claude.json"
        settings = json.loads(path.read_text()) if path.exists() else {}
        settings |= {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": [KEY]}}
        projects = settings.setdefault("projects", {})
        projects[str(self.work)] = projects.get(str(self.work), {}) | {"hasTrustDialogAccepted": True}
        path.write_text(json.dumps(settings))


def records(path: Path) -> list[Any]:
    """The records of a session's file, torn lines left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
