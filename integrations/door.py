"""The one way from an agent to Palimpsest: a program of the standard library alone, which the agent starts.

    python door.py CONNECTION EVENT      (one JSON object on standard input, the answer on standard output)

CONNECTION is the JSON file that `palimpsest install` wrote: the address of the site, the token of this door, and where
the engine is. The events, by their names here or by those of Claude Code and Codex:

    note      what the agent is to be sent with its next request, once: `{"session_id", "compacted"?}` -> text
    before    what the agent's own summary should not lose: `{"session_id"}` -> text
    attention sessions that need compaction: `{}` -> the JSON that the site answers
    mcp       the MCP server of recall on standard input and output, for as long as the agent wants it
    compact   the engine: `compaction.programs` has what is given and answered. No site is needed

An agent never waits for Palimpsest: where the site does not answer in time, is not there or refuses, nothing is
printed, and the exit code is 0. Only `compact` says by exit code 1 that the agent has to compact by itself.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any
from urllib.parse import urlsplit

NOTE_SECONDS = 0.15  # for all that is asked: with the start of Python an agent waits for at most 0.2 s
BEFORE_SECONDS = 2.0  # before a summary, which takes the agent much longer
ATTENTION_SECONDS = 30.0  # a page waits for it, no agent
NAMES = {"SessionStart": "note", "UserPromptSubmit": "note", "PreCompact": "before"}  # of Claude Code and Codex


def main(arguments: list[str]) -> int:
    """Run one event and return the exit code."""
    connection_file, event = arguments
    with open(connection_file, encoding="utf-8") as file:
        connection = json.load(file)
    if event == "mcp":
        os.environ.update(connection["environment"])
        os.execv(connection["mcp"][0], connection["mcp"])
    given = json.load(sys.stdin)
    event = NAMES.get(event, event)
    if event == "compact":
        return _compact(connection, given)
    limits = {"note": connection.get("note_seconds", NOTE_SECONDS), "attention": ATTENTION_SECONDS}
    with Limit(limits.get(event, BEFORE_SECONDS)) as limit:
        site = Site(connection, limit)
        if event == "attention":
            print(json.dumps(site.ask(event, {})), flush=True)
            return 0
        answer = site.ask(event, {"session_id": str(given["session_id"]), "compacted": _is_compacted(given)})
        if answer.get("events"):  # before it is printed: what nobody acknowledged is offered again
            site.ask("acknowledge", {"events": answer["events"]})
    if answer.get("text"):
        print(_worded(given, answer["text"]), flush=True)
    return 0


def _is_compacted(given: dict[str, Any]) -> bool:
    """Whether the agent itself has just compacted."""
    return bool(given.get("compacted")) or given.get("source") == "compact"


def _worded(given: dict[str, Any], text: str) -> str:
    """The text as the agent takes it: what a hook of Claude Code or Codex adds, else as it is."""
    name = given.get("hook_event_name")
    if name is None or name == "PreCompact":
        return text
    return json.dumps({"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}})


def _compact(connection: dict[str, Any], given: dict[str, Any]) -> int:
    """Compact the given messages with the rules and pins of their session, as far as the site gives them."""
    session_id, extras = given.pop("session_id", ""), {}
    if session_id:
        try:
            limit = Limit(BEFORE_SECONDS, ends=False)
            extras = Site(connection, limit).ask("carried", {"session_id": str(session_id)})
        except Exception:  # the summary is made all the same
            extras = {}
    sys.path.insert(0, connection["code"])
    from compaction import programs

    answer = programs.answer({"today": time.strftime("%Y-%m-%d"), **given, **extras})
    json.dump(answer, sys.stdout)
    print(flush=True)
    return 1 if "error" in answer else 0


class Limit:
    """So many seconds; then the process ends, wherever it is (`ends`), and nothing is printed."""

    def __init__(self, seconds: float, *, ends: bool = True) -> None:
        self._until = time.monotonic() + seconds
        self._timer = threading.Timer(seconds, os._exit, (0,)) if ends else None

    @property
    def left(self) -> float:
        """Seconds. Raises TimeoutError where there are none."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def __enter__(self) -> Limit:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()


class Site:
    """The calls of the site for agents (`viewer/api/inside.py`)."""

    def __init__(self, connection: dict[str, Any], limit: Limit) -> None:
        self._address, self._limit = urlsplit(connection["site"]), limit
        self._headers = {"Authorization": f"Bearer {connection['token']}", "Content-Type": "application/json"}

    def ask(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        """What a call answers. Raises OSError, ValueError and http.client.HTTPException for anything else."""
        from http.client import HTTPConnection, HTTPSConnection

        kind = HTTPSConnection if self._address.scheme == "https" else HTTPConnection
        connection = kind(self._address.netloc, timeout=self._limit.left)
        try:
            path = f"{self._address.path.rstrip('/')}/api/v1/inside/{call}"
            connection.request("POST", path, json.dumps(body), self._headers)
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(f"{call}: HTTP {response.status}")
            answer: dict[str, Any] = json.loads(response.read())
            return answer
        finally:
            connection.close()


def run(arguments: list[str]) -> int:
    """`main`, whatever goes wrong: the agent goes on as if there were no Palimpsest."""
    try:
        return main(arguments)
    except Exception as problem:
        if os.environ.get("PALIMPSEST_DEBUG"):
            print(f"palimpsest: {problem!r}", file=sys.stderr)
        return 1 if arguments[-1:] == ["compact"] else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
