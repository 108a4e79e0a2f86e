"""Claude Code: a plugin in its directory of skills, from which it loads every plugin without a marketplace."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from viewer.inside.changes import Change, JsonItem

from .agent import DoorOptions, InstalledAgent, Way, copied

NOTE_SECONDS, BEFORE_SECONDS = 1, 5  # after which it goes on without a hook; the door ends long before
SERVER = "mcp__plugin_palimpsest_palimpsest"  # so the client names the server "palimpsest" of the plugin "palimpsest"
READING = ("search_history", "read_history", "what_was_lost", "what_the_model_sees", "list_sessions")


class InsideClaudeCode(InstalledAgent):
    name, label, scheme = "claude-code", "Claude Code", "claude-code"
    notes = "The note after a compaction and the audit's warning are sent with the next prompt, and its own summaries "
    notes += "are asked to keep standing instructions and open requests."
    writes_late = True
    recall = "Its tools search_history and read_history find what was summarised away."

    def changes(self, home: Path, own: Path, way: Way, options: DoorOptions) -> Iterator[Change]:
        files: dict[str, Any] = {}
        if options.notes:
            files["hooks/hooks.json"] = {
                "hooks": {
                    "SessionStart": _hook(way, "SessionStart", NOTE_SECONDS, matcher="resume|compact"),
                    "UserPromptSubmit": _hook(way, "UserPromptSubmit", NOTE_SECONDS),
                    "PreCompact": _hook(way, "PreCompact", BEFORE_SECONDS),
                }
            }
        if options.recall:
            command, *arguments = way.mcp
            files[".mcp.json"] = {"mcpServers": {"palimpsest": {"command": command, "args": arguments}}}
        yield from copied("claude_code", home / "skills" / "palimpsest", files)
        for tool in READING if options.recall else ():
            allowed = f"{SERVER}__{tool}"
            yield JsonItem(str(home / "settings.json"), ("permissions", "allow"), allowed, in_list=True)


def _hook(way: Way, event: str, seconds: int, **more: str) -> list[dict[str, Any]]:
    command = shlex.join([*way.door, event])
    return [{**more, "hooks": [{"type": "command", "command": command, "timeout": seconds}]}]


AGENT = InsideClaudeCode()
