"""Codex as other programs use it: its app server, which is told what to do as JSON lines."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.agents.base import Json
from tests.interop.processes import WAIT, WITH_PARENT, ClientFailed, end

HELLO = {"clientInfo": {"name": "tests", "version": "1"}, "capabilities": {"experimentalApi": True}}
CLOSING = "retry thread/resume after the thread is closed"


class AppServer:
    """One running app server. A thread is the client's word for a session."""

    def __init__(self, program: Path, work: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [*WITH_PARENT, program, "app-server"], cwd=work, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        self._locks = Path(environment["CODEX_HOME"]) / "thread-writer-locks"
        self._heard: queue.Queue[Json | None] = queue.Queue()
        self._asked = 0
        assert self._process.stdout
        self._reading = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reading.start()
        self.call("initialize", **HELLO)
        self._tell({"method": "initialized"})

    # --- what is asked of it

    def start(self, **options: object) -> str:
        """A new session; its id."""
        return str(self.call("thread/start", **options)["thread"]["id"])

    def resume(self, session_id: str) -> None:
        """Load a session from its file, which may just be let go of."""
        deadline = time.monotonic() + WAIT
        while True:
            try:
                self.call("thread/resume", threadId=session_id, excludeTurns=True)
                return
            except ClientFailed as failed:
                if CLOSING not in str(failed) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def unload(self, session_id: str) -> None:
        """Let go of a session, so that it is read from its file when it is resumed again."""
        self.call("thread/unsubscribe", threadId=session_id)
        self.wait_for("thread/closed")
        deadline = time.monotonic() + WAIT
        while (self._locks / f"{session_id}.lock").exists() and time.monotonic() < deadline:
            time.sleep(0.002)  # it says so before it is so

    def fork(self, session_id: str) -> str:
        """A session that goes on from another one; its id."""
        return str(self.call("thread/fork", threadId=session_id, excludeTurns=True)["thread"]["id"])

    def turn(self, session_id: str, prompt: str, *more: Json) -> str:
        """Say a prompt and wait for the end of its turn; the id of the turn."""
        started = self.start_turn(session_id, prompt, *more)
        self.wait_for("turn/completed")
        return started

    def start_turn(self, session_id: str, prompt: str, *more: Json) -> str:
        """Say a prompt, with more parts of it; the id of its turn."""
        said = [{"type": "text", "text": prompt}, *more]
        return str(self.call("turn/start", threadId=session_id, input=said)["turn"]["id"])

    def compact(self, session_id: str) -> None:
        """Its own compaction, as by /compact."""
        self.call("thread/compact/start", threadId=session_id)
        self.wait_for("turn/completed")

    def revert(self, session_id: str, turn_id: str) -> None:
        """Take back this turn and those behind it."""
        self.call("thread/revert", threadId=session_id, beforeTurnId=turn_id)

    def turns(self, session_id: str) -> list[Json]:
        """The turns of a session, as it shows them."""
        turns: list[Json] = self.call("thread/read", threadId=session_id, includeTurns=True)["thread"]["turns"]
        return turns

    # --- how

    def call(self, method: str, **params: object) -> Json:
        """What it answers. Raises ClientFailed where that is an error."""
        self._asked += 1
        self._tell({"id": self._asked, "method": method, "params": params})
        while True:
            heard = self._next()
            if heard.get("id") == self._asked and "method" not in heard:
                break
        if "error" in heard:
            raise ClientFailed(f"{method}: {heard['error']}")
        answer: Json = heard["result"]
        return answer

    def wait_for(self, method: str) -> Json:
        """The next note of this kind."""
        while (heard := self._next()).get("method") != method:
            pass
        return heard

    def close(self) -> None:
        """End it by the end of its input."""
        assert self._process.stdin
        self._process.stdin.close()
        end(self._process)
        self._reading.join(10)

    def kill(self) -> None:
        """SIGKILL, also for what it runs."""
        end(self._process, patience=0)

    def _read(self, stdout: IO[str]) -> None:
        with stdout:
            for line in stdout:
                self._heard.put(json.loads(line))
        self._heard.put(None)

    def _next(self) -> Json:
        try:
            heard = self._heard.get(timeout=WAIT)
        except queue.Empty:
            raise TimeoutError(f"nothing is heard within {WAIT} s") from None
        if heard is None:
            raise ClientFailed("it ended")
        return heard

    def _tell(self, what: Json) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
