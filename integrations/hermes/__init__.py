"""Palimpsest inside Hermes: the note after a compaction, tools of recall, and if wanted its engine.

Everything is asked of the command in `door.json`, which `palimpsest install hermes` wrote. Hermes never waits long for
it and never sees an error of it: what goes wrong is logged at debug level.
"""

from __future__ import annotations

import json
import logging
import subprocess
from pathlib import Path
from typing import Any

from .recall import CURSOR, SESSION, TOOLS, RecallServer, environment

logger = logging.getLogger(__name__)
SETTINGS = Path(__file__).with_name("door.json")
NOTE_SECONDS = 10.0  # the command ends by itself much earlier


class Door:
    """The command that `door.json` names."""

    def __init__(self) -> None:
        settings = json.loads(SETTINGS.read_text(encoding="utf-8"))
        self.command, self.options = list(settings["door"]), dict(settings["options"])
        self._flag, self._starts = settings["summary_flag"], tuple(settings["summary_starts"])
        self._server = RecallServer([*self.command, "mcp"])
        self._summaries: dict[str, int] = {}  # the newest summary that was seen in each session

    def ask(self, event: str, given: dict[str, Any], seconds: float) -> str:
        """What the command answers to an event. Raises OSError, ValueError, subprocess.SubprocessError."""
        done = subprocess.run(
            [*self.command, event], input=json.dumps(given, default=str), capture_output=True, text=True,
            encoding="utf-8", timeout=seconds, env=environment(), check=True,
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
        """The answer of a tool of the MCP server."""
        try:
            asked = {**({"session": session_id} if session_id else {}), **(arguments or {})}
            result = self._server.call(tool, {name: value for name, value in asked.items() if value not in (None, "")})
            text = "\n\n".join(each["text"] for each in result["content"] if each.get("type") == "text")
            return json.dumps({"error": text}) if result.get("isError") else text
        except Exception:
            logger.debug("No answer from Palimpsest", exc_info=True)
            return json.dumps({"error": "Palimpsest does not answer."})


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
