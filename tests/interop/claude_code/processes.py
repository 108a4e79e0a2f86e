"""Open processes of Claude Code: one that is told prompts as JSON lines, and its terminal program."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import queue
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

from tests.agents.base import Json
from tests.interop.processes import WAIT, WITH_PARENT, ClientFailed, Command, end

STILL = 0.3  # seconds without a change of the screen
TURNING = 1.5  # seconds with changes after which they will not end
SCREEN = (50, 160)  # lines and columns
Choice = Literal["restore", "summarise from", "summarise up to"]
CHOICES: dict[Choice, str] = {"restore": "1", "summarise from": "2", "summarise up to": "3"}
UP, DELETE_LINE = "\x1b[A", "\x15"
OnDisk = Callable[[str], None]  # returns once a text is in the session's file


class Conversation:
    """A process that stays open with a session and is told its prompts one by one.

    It says that a turn has ended before it has written all of it.
    """

    def __init__(self, command: Command, work: Path, environment: Mapping[str, str], on_disk: OnDisk) -> None:
        self._on_disk = on_disk
        self._process = subprocess.Popen(
            [*WITH_PARENT, *command], cwd=work, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        self._results: queue.Queue[str] = queue.Queue()
        self._said: list[str] = []
        assert self._process.stdout
        self._reading = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reading.start()

    def _read(self, stdout: IO[str]) -> None:
        with stdout:
            for line in stdout:
                self._said = [*self._said[-20:], line]
                if line.startswith("{") and json.loads(line)["type"] == "result":
                    self._results.put(line)
        self._results.put("")

    def send(self, content: str | list[Json]) -> None:
        """Say a prompt without waiting for the end of its turn."""
        self._tell({"type": "user", "message": {"role": "user", "content": content}})

    def interrupt(self) -> None:
        """Stop the turn that runs, as its user would with Escape."""
        self._tell({"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}})

    def _tell(self, what: Json) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Json:
        """How the turn ended, once it is on disk."""
        try:
            line = self._results.get(timeout=WAIT)
        except queue.Empty:
            raise TimeoutError(f"no end of the turn within {WAIT} s\n{''.join(self._said)[-4000:]}") from None
        if not line:
            raise ClientFailed(f"it ended\n{''.join(self._said)[-4000:]}")
        told: Json = json.loads(line)
        self._on_disk(told.get("result") or "")
        return told

    def turn(self, content: str | list[Json]) -> Json:
        """Say a prompt; how its turn ended."""
        self.send(content)
        return self.receive()

    def close(self) -> None:
        """End it as its user would, by the end of its input."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        end(self._process)
        self._reading.join(10)

    def kill(self) -> None:
        """SIGKILL, also for what it runs."""
        end(self._process, patience=0)


class Terminal:
    """Its terminal program, with keys to type and a screen to look at."""

    def __init__(self, command: Command, work: Path, environment: Mapping[str, str], on_disk: OnDisk) -> None:
        self._on_disk = on_disk
        self._keys, screen = pty.openpty()
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", *SCREEN, 0, 0))
        self._process = subprocess.Popen(
            [*WITH_PARENT, *command], cwd=work, env=environment, stdin=screen, stdout=screen, stderr=screen,
            start_new_session=True,
        )  # fmt: skip
        os.close(screen)
        self._shown = ""
        self._changed = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        with suppress(OSError):  # EIO once it has ended
            while piece := os.read(self._keys, 65536):
                with self._changed:
                    self._shown += piece.decode("utf-8", "replace")
                    self._changed.notify_all()

    def wait_for(self, text: str) -> None:
        """Return once the screen has shown this text, white space aside, since the last thing typed."""
        wanted, deadline = _squeezed(text), time.monotonic() + WAIT
        with self._changed:
            while wanted not in _squeezed(self._shown):
                if not self._changed.wait(deadline - time.monotonic()):
                    raise TimeoutError(f"the screen does not show {text!r}\n{_plain(self._shown)[-4000:]}")

    def settle(self) -> None:
        """Return once the screen stands still, or only something on it turns: it paints what has changed alone, so that
        what was typed can rarely be read there.
        """
        deadline = time.monotonic() + TURNING
        with self._changed:
            while self._changed.wait(STILL) and time.monotonic() < deadline:
                pass

    def type(self, keys: str) -> None:
        """Type these keys."""
        with self._changed:
            self._shown = ""
        os.write(self._keys, keys.encode())

    def turn(self, prompt: str, reply: str) -> None:
        """Say a prompt, and wait for this reply."""
        self.command(prompt, reply)
        self.settle()

    def command(self, command: str, written: str) -> None:
        """Give a command or a prompt instead of what stands in the input, and wait until this is in the file."""
        self.type(f"{DELETE_LINE}{command}")
        self.settle()
        self.type("\r")
        self._on_disk(written)

    def rewind(self, back: int, choice: Choice) -> None:
        """Its /rewind to the prompt that is so many prompts from the end, 1 for the last one."""
        self.type(f"{DELETE_LINE}/rewind")
        self.wait_for("Restore earlier code")
        self.type("\r")
        self.wait_for("(current)")
        self.type(UP * back)
        self.settle()
        self.type("\r")
        self.wait_for("Never mind")
        self.type(CHOICES[choice])
        if choice != "restore":
            self.wait_for("Conversation summarized")
        self.settle()

    def close(self) -> None:
        """End it."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        end(self._process)
        self._reading.join(10)
        os.close(self._keys)


def _plain(shown: str) -> str:
    """Without what moves the cursor or colours the text."""
    return re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>78])", " ", shown)


def _squeezed(shown: str) -> str:
    return "".join(_plain(shown).split())
