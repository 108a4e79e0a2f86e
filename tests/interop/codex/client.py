"""The real Codex beside our code: its program, and runs of it that reach nothing but this machine."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tarfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from tests.interop.fetched import fetched, npm
from tests.interop.processes import WAIT, Command, run

from .app_server import AppServer
from .service import Service

PACKAGE = "@openai/codex"
NEWEST = "0.171.0"
PROGRAMS = (
    "bin/codex",
    "codex/codex",
)  # how its path in the package ends, now and before; it needs nothing of the rest
OLDER, OLDEST = "0.150.0", "0.125.0"  # the first to write paginated sessions; one that writes none
GPT_6, GPT_5 = "gpt-6-sol", "gpt-5.5"  # the first keeps its tools and instructions in the session, the other does not
Provider = Literal["ours", "openai"]  # compacts by a prompt of its own, or has the model do it
FULL = 200_000  # tokens at which it compacts by itself
FLAGS = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
SESSIONS = ("sessions", "archived_sessions")


def program(version: str = NEWEST) -> Path:
    """The program of a version, fetched once and kept in the cache directory. Raises NotInstalled."""

    def fetch(home: Path) -> None:
        package = f"{PACKAGE}@{version}-linux-x64"
        npm("pack", "--ignore-scripts", "--pack-destination", home, package)
        (archive,) = home.glob("*.tgz")
        with tarfile.open(archive) as packed:
            (member,) = (each for each in packed.getmembers() if each.name.endswith(PROGRAMS))
            member.name = "codex"
            packed.extract(member, home, filter="data")
        archive.unlink()

    return fetched(f"codex-{version}", "codex", version, fetch)


class Client:
    """Codex with a home and a working directory of its own, and a model of its own to talk to."""

    def __init__(
        self, found: Path, place: Path, service: Service, *, model: str = GPT_6, provider: Provider = "ours",
        work: Path | None = None,
    ) -> None:  # fmt: skip
        self.program, self.place, self.service = found, place, service
        self.model, self.provider = model, provider
        self.home, self.work = place / "home" / ".codex", work or place / "work"
        for directory in (self.home, self.work, place / "tmp"):
            directory.mkdir(parents=True, exist_ok=True)
        (self.home / "config.toml").write_text(self._settings())

    def _settings(self) -> str:
        """Reports to nobody, fetches nothing, asks our model."""
        own = f'model_provider = "ours"\n[model_providers.ours]\nname = "ours"\nbase_url = "{self.service.url}"\n'
        builtin = f'openai_base_url = "{self.service.url}"\n'
        return (
            f'model = "{self.model}"\n'
            'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
            f"thread_unload_delay_secs = 0\nmodel_auto_compact_token_limit = {FULL}\n"
            "check_for_update_on_startup = false\nanalytics.enabled = false\nfeatures.plugins = false\n"
            "features.shell_snapshot = false\nskills.bundled.enabled = false\n"
            + (f'{own}wire_api = "responses"\n' if self.provider == "ours" else builtin)
        )  # fmt: skip

    def environment(self) -> dict[str, str]:
        """All that it is told."""
        proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")  # a dead one: nothing leaves this machine
        return {
            "PATH": os.defpath, "LANG": "C.UTF-8", "TERM": "dumb", "NO_PROXY": "127.0.0.1",
            "HOME": str(self.home.parent), "CODEX_HOME": str(self.home), "TMPDIR": str(self.place / "tmp"),
            **dict.fromkeys(proxies, "http://127.0.0.1:9"),
            **({"CODEX_API_KEY": "sk-none"} if self.provider == "openai" else {}),
        }  # fmt: skip

    def rollout(self, session_id: str) -> Path:
        """The file that a session goes on in."""
        with closing(sqlite3.connect(f"file:{self.home / 'state_5.sqlite'}?mode=ro", uri=True)) as state:
            (path,) = state.execute("SELECT rollout_path FROM threads WHERE id = ?", (session_id,)).fetchone()
        return Path(path)

    def copy(self, place: Path, service: Service) -> Client:
        """Another client with a copy of this one's sessions, at work in the same directory."""
        copied = Client(self.program, place, service, model=self.model, provider=self.provider, work=self.work)
        copy_home(self.home, copied.home)
        return copied

    def hook(self, note: str) -> None:
        """Have a hook that somebody trusts add a note to each prompt."""
        told, settings = self.place / "note.json", self.home / "config.toml"
        kind = "UserPromptSubmit"
        told.write_text(json.dumps({"hookSpecificOutput": {"hookEventName": kind, "additionalContext": note}}))
        with settings.open("a") as file:
            file.write(f'[[hooks.{kind}]]\n[[hooks.{kind}.hooks]]\ntype = "command"\ncommand = "cat {told}"\n')
        with self.app_server() as server:
            listed = server.call("hooks/list", cwds=[str(self.work)])["data"]
        with settings.open("a") as file:
            for found in (each for place in listed for each in place["hooks"]):
                named = json.dumps(found["key"])
                file.write(
                    f"[hooks.state.{named}]\ntrusted_hash = {json.dumps(found['currentHash'])}\nenabled = true\n"
                )

    def skill(self, name: str, text: str) -> None:
        """A skill that prompts name as $name."""
        place = self.home / "skills" / name
        place.mkdir(parents=True)
        (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: How it is done.\n---\n{text}")

    # --- runs

    def run(self, *arguments: str) -> str:
        """One process; what it prints."""
        command: Command = [self.program, *arguments]
        return run(command, self.work, self.environment())

    def start(self, prompt: str, *options: str) -> str:
        """A new session with one turn; its id."""
        return _told_id(self.run("exec", *FLAGS, *options, prompt))

    def turn(self, session_id: str, prompt: str, *options: str) -> None:
        """One turn in a process of its own that resumes a session."""
        self.run("exec", "resume", *FLAGS, *options, session_id, prompt)

    def fork(self, session_id: str, prompt: str) -> str:
        """Go on with a session that points into another one; its id."""
        return _told_id(self.run("exec", "fork", *FLAGS, session_id, prompt))

    def wait_for(self, session_id: str, text: str) -> None:
        """Return once a text is in the session's file."""
        written, deadline = json.dumps(text, ensure_ascii=False)[1:-1], time.monotonic() + WAIT
        while written not in self.rollout(session_id).read_text(encoding="utf-8"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{text!r} is not written within {WAIT} s")
            time.sleep(0.02)

    @contextmanager
    def app_server(self) -> Iterator[AppServer]:
        """Its app server, until the end of the block."""
        server = AppServer(self.program, self.work, self.environment())
        try:
            yield server
        finally:
            server.close()


def _told_id(printed: str) -> str:
    started: dict[str, Any] = json.loads(printed.partition("\n")[0])
    return str(started["thread_id"])


def copy_home(home: Path, target: Path) -> None:
    """Copy sessions, and the database that says which of its files each goes on in."""
    for name in SESSIONS:
        if (home / name).exists():
            shutil.copytree(home / name, target / name)
    if not (home / "state_5.sqlite").exists():
        return
    with closing(sqlite3.connect(home / "state_5.sqlite")) as state, \
            closing(sqlite3.connect(target / "state_5.sqlite")) as copied:  # fmt: skip
        state.backup(copied)
        moved = "UPDATE threads SET rollout_path = replace(rollout_path, ?, ?)"
        copied.execute(moved, (f"{home}/", f"{target}/"))
        copied.commit()
