"""Palimpsest inside Hermes: the note after a compaction, tools of recall, and if wanted its engine.

Everything is asked of the command in `door.json`, which `palimpsest install hermes` wrote. Hermes never waits long for
it and never sees an error of it: what goes wrong is logged at debug level.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)
SETTINGS = Path(__file__).with_name("door.json")
NOTE_SECONDS = 10.0  # the command ends by itself much earlier
RECALL_SECONDS = 120.0  # the server starts for each answer
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


class Door:
    """The command that `door.json` names."""

    def __init__(self) -> None:
        settings = json.loads(SETTINGS.read_text(encoding="utf-8"))
        self.command, self.options = list(settings["door"]), dict(settings["options"])
        self._flag, self._starts = settings["summary_flag"], tuple(settings["summary_starts"])
        self._summaries: dict[str, int] = {}  # the newest summary that was seen in each session

    def ask(self, event: str, given: dict[str, Any], seconds: float) -> str:
        """What the command answers to an event. Raises OSError, ValueError, subprocess.SubprocessError."""
        done = subprocess.run(
            [*self.command, event], input=json.dumps(given, default=str), capture_output=True, text=True,
            encoding="utf-8", timeout=seconds, env=_environment(), check=True,
        )  # fmt: skip
        return done.stdout

    def note(self, session_id: str = "", conversation_history: Any = (), **_: Any) -> dict[str, str] | None:
        """The hook `pre_llm_call`: what is added to the user's message."""
        try:
            newest = self._newest_summary(conversation_history)
            compacted = newest is not None and self._summaries.get(session_id) != newest
            text = self.ask("note", {"session_id": session_id, "compacted": compacted}, NOTE_SECONDS).strip()
            if newest is not None:
                self._summaries[session_id] = newest
            return {"context": text} if text else None
        except Exception:
            logger.debug("No note from Palimpsest", exc_info=True)
            return None

    def _newest_summary(self, history: Any) -> int | None:
        """A number for the newest summary of a compaction in a conversation, None if there is none."""
        messages = [each for each in history or () if isinstance(each, dict) and each.get("role") != "tool"]
        for message in reversed(messages):
            text = str(message.get("content") or "")
            if message.get(self._flag) or text.lstrip().startswith(self._starts):
                return hash(text)
        return None

    def recall(self, tool: str, arguments: dict[str, Any], session_id: str) -> str:
        """The answer of a tool of the MCP server, which is started for it."""
        try:
            asked = {**({"session": session_id} if session_id else {}), **(arguments or {})}
            return self._called(tool, {name: value for name, value in asked.items() if value not in (None, "")})
        except Exception:
            logger.debug("No answer from Palimpsest", exc_info=True)
            return json.dumps({"error": "Palimpsest does not answer."})

    def _called(self, tool: str, arguments: dict[str, Any]) -> str:
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "hermes", "version": "1"}}
        process = subprocess.Popen(
            [*self.command, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, encoding="utf-8", env=_environment(),
        )  # fmt: skip
        limit = threading.Timer(RECALL_SECONDS, process.kill)
        limit.start()
        try:
            assert process.stdin and process.stdout
            for message in (
                {"id": 1, "method": "initialize", "params": about},
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
            ):
                process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
                process.stdin.flush()
                if "id" in message:
                    answer = next(each for each in map(json.loads, process.stdout) if each.get("id") == message["id"])
            result = answer["result"]
            text = "\n\n".join(each["text"] for each in result["content"] if each.get("type") == "text")
            return json.dumps({"error": text}) if result.get("isError") else text
        finally:
            limit.cancel()
            process.kill()
            process.communicate()


def _environment() -> dict[str, str]:
    """Without what leads another Python to Hermes' packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def register(ctx: Any) -> None:
    """What Hermes calls when it loads the plugin."""
    door = Door()
    if door.options.get("notes"):
        ctx.register_hook("pre_llm_call", door.note)
    if door.options.get("recall"):
        for name, description, properties, required in TOOLS:
            parameters = {"type": "object", "properties": {**properties, **SESSION, **CURSOR}, "required": required}
            ctx.register_tool(
                name=name, toolset="palimpsest", description=description, handler=_handler(door, name),
                schema={"name": name, "description": description, "parameters": parameters},
            )  # fmt: skip
    if door.options.get("engine"):
        from .engine import Palimpsest

        ctx.register_context_engine(Palimpsest(door))


def _handler(door: Door, tool: str) -> Any:
    def handle(args: dict[str, Any], session_id: str = "", **_: Any) -> str:
        return door.recall(tool, args, session_id or "")

    return handle
