"""A process of pi that stays open and is told what to do as JSON lines."""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from tests.agents.base import Json
from tests.interop.processes import WAIT, WITH_PARENT, ClientFailed, Command, end

RESPONSE, TURN_ENDED = "response", "agent_end"


class Rpc:
    """It has one session at a time."""

    def __init__(self, command: Command, work: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [*WITH_PARENT, *command], cwd=work, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        self._lines: queue.Queue[Json | None] = queue.Queue()
        self._numbers = itertools.count(1)
        self._complaints: list[str] = []
        assert self._process.stdout and self._process.stderr
        self._threads = [
            threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._listen, args=(self._process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stdout: IO[str]) -> None:
        with stdout:
            for line in stdout:
                if line.startswith("{"):
                    self._lines.put(json.loads(line))
        self._lines.put(None)

    def _listen(self, stderr: IO[str]) -> None:
        with stderr:
            for line in stderr:
                self._complaints = [*self._complaints[-20:], line]

    def _wait_for(self, kind: str, number: str = "") -> Json:
        """The next line of this type, for a response that with this number. Raises ClientFailed, TimeoutError."""
        deadline = time.monotonic() + WAIT
        while True:
            try:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                raise TimeoutError(f"no {kind} within {WAIT} s\n{''.join(self._complaints)}") from None
            if line is None:
                raise ClientFailed(f"it ended\n{''.join(self._complaints)}")
            if line["type"] == "extension_error":
                raise ClientFailed(str(line))
            if line["type"] == kind and line.get("id", "") == number:
                return line

    def wait_for_name(self) -> None:
        """Until it has named itself, before it opens its session. Raises TimeoutError."""
        deadline = time.monotonic() + WAIT
        while Path(f"/proc/{self._process.pid}/cmdline").read_bytes().split(b"\0")[0].strip() != b"pi":
            if time.monotonic() > deadline:
                raise TimeoutError(f"it has no name within {WAIT} s\n{''.join(self._complaints)}")
            time.sleep(0.01)

    def send(self, kind: str, **given: Any) -> str:
        """Tell it to do something, without waiting; the number of the response."""
        number = str(next(self._numbers))
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"id": number, "type": kind} | given) + "\n")
        self._process.stdin.flush()
        return number

    def call(self, kind: str, **given: Any) -> Json:
        """What it answers. Raises ClientFailed where it refuses."""
        response = self._wait_for(RESPONSE, self.send(kind, **given))
        if not response["success"]:
            raise ClientFailed(f"{kind}: {response['error']}")
        data: Json = response.get("data") or {}
        return data

    # --- turns

    def turn(self, prompt: str, until: str = TURN_ENDED, **more: Any) -> None:
        """Say a prompt, and return once its turn has ended, or the event `until` of what comes behind it."""
        self.call("prompt", message=prompt, **more)
        self._wait_for(until)
        self.settle()

    def end_turn(self) -> None:
        """Return once the turn that runs has ended."""
        self._wait_for(TURN_ENDED)
        self.settle()

    def settle(self) -> None:
        """Return once it does nothing any more."""
        deadline = time.monotonic() + WAIT
        while any(self.call("get_state")[name] for name in ("isStreaming", "isCompacting")):
            if time.monotonic() > deadline:
                raise TimeoutError(f"it is still at it after {WAIT} s")
            time.sleep(0.02)

    # --- sessions

    @property
    def file(self) -> Path:
        """The file of the session."""
        return Path(self.call("get_state")["sessionFile"])

    def resume(self, file: Path) -> None:
        """Read a session from its file, and go on with it."""
        self.call("switch_session", sessionPath=str(file))

    def go_to(self, entry_id: str, **options: Any) -> None:
        """Its /tree to this entry: before it, where a person said it."""
        self.call("prompt", message=f"/go-to {json.dumps({'id': entry_id} | options)}")

    def close(self) -> None:
        """End it as its user would, by the end of its input."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.terminate()
        self._end(patience=10.0)

    def kill(self) -> None:
        """SIGKILL, also for what it runs."""
        self._end(patience=0)

    def _end(self, patience: float) -> None:
        end(self._process, patience)
        for thread in self._threads:
            thread.join(10)
