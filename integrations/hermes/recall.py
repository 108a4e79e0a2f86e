"""The tools of recall, and the MCP server that answers them: one process, kept for as long as Hermes runs."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import suppress
from typing import Any

SECONDS = 120.0  # after which a server that does not answer is ended
NAMED = "Id of a session, or the beginning of one. Without it: the session you are in."
SESSION = {"session": {"type": "string", "description": NAMED}}
ONLY = "summarised: what left your context. all: everything."
OFFSET = "With around: begin at this character of the message."
IDS = "Numbers of messages: read only these."
CURSOR = {"cursor": {"type": "string", "description": "From an earlier answer, to go on."}}
TOOLS: tuple[tuple[str, str, dict[str, Any], list[str]], ...] = (
    (
        "search_history",
        "Find what was summarised away: search the parts of this session that are no longer in your context. Ask with a"
        " whole question. Returns the texts themselves.",
        {
            "query": {"type": "string", "description": "What you want to know: a whole question, or words."},
            "only": {"type": "string", "enum": ["summarised", "all"], "description": ONLY},
        },
        ["query"],
    ),
    (
        "read_history",
        "Read earlier messages of this session word for word, from a message on or by their numbers.",
        {
            "around": {"type": "integer", "description": "Number of a message: read from there on."},
            "ids": {"type": "array", "items": {"type": "integer"}, "description": IDS},
            "offset": {"type": "integer", "minimum": 0, "description": OFFSET},
        },
        [],
    ),
)


class RecallServer:
    """The server: started at the first call, and again where it has ended. When Hermes ends its input does, and so it
    ends as well.
    """

    def __init__(self, command: list[str], seconds: float = SECONDS) -> None:
        self._command, self._seconds = command, seconds
        self._turn = threading.Lock()  # Hermes calls from several threads
        self._process: subprocess.Popen[str] | None = None
        self._asked = 0

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a call. Raises OSError, ValueError, LookupError."""
        with self._turn:
            try:
                if self._process is None or self._process.poll() is not None:
                    self.end()
                    self._process = self._started()
                return self._call(self._process, tool, arguments)
            except BaseException:
                self.end()
                raise

    def _started(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, encoding="utf-8", env=environment(),
        )  # fmt: skip

    def _call(self, process: subprocess.Popen[str], tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        limit = threading.Timer(self._seconds, process.kill)
        limit.daemon = True
        limit.start()
        try:
            if not self._asked:
                about = {"clientInfo": {"name": "hermes", "version": "1"}, "capabilities": {}}
                self._request(process, "initialize", {"protocolVersion": "2025-06-18", **about})
                self._send(process, {"method": "notifications/initialized"})
            return self._request(process, "tools/call", {"name": tool, "arguments": arguments})
        finally:
            limit.cancel()

    def _request(self, process: subprocess.Popen[str], method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self._send(process, {"id": self._asked, "method": method, "params": params})
        assert process.stdout
        for line in process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._asked:
                result: dict[str, Any] = answer["result"]
                return result
        raise OSError("The server ended.")

    def _send(self, process: subprocess.Popen[str], message: dict[str, Any]) -> None:
        assert process.stdin
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._asked = self._process, None, 0
        if process is not None:
            process.kill()
            with suppress(OSError):  # what could not be sent
                process.communicate()


def environment() -> dict[str, str]:
    """Without what leads another Python to Hermes' packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
