"""OpenClaw: a plugin in a directory of ours, which its settings name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from compaction.handoff import PINS_OPEN, RULES_CLOSE, RULES_OPEN
from viewer.inside.changes import Change, JsonItem
from viewer.stores.settings_files import json5_value_in

from .agent import DoorOptions, InstalledAgent, Way, copied

NAME = "palimpsest"


class InsideOpenClaw(InstalledAgent):
    name, label, scheme = "openclaw", "OpenClaw", "openclaw"
    notes = "The note after a compaction is sent with the next prompt."
    recall = "OpenClaw's MCP servers have search_history and read_history; its tool search may have to find them first."
    engine = "Palimpsest's engine writes the summaries of OpenClaw's own compactions, without a model."

    def changes(self, home: Path, own: Path, way: Way, options: DoorOptions) -> Iterator[Change]:
        settings = str(home / "openclaw.json")
        if options.notes or options.engine:
            tags = {"rules": [RULES_OPEN, RULES_CLOSE], "pins": PINS_OPEN}
            door = {"door": list(way.door), "options": asdict(options), "tags": tags}
            yield from copied("openclaw", own / "plugin", {"door.json": door}, "door.js")
            yield JsonItem(settings, ("plugins", "load", "paths"), str(own / "plugin"), in_list=True)
            entry = {"enabled": True, "hooks": {"allowConversationAccess": True}}
            yield JsonItem(settings, ("plugins", "entries", NAME), entry)
            if isinstance(json5_value_in(home / "openclaw.json", "plugins", "allow"), list):
                yield JsonItem(settings, ("plugins", "allow"), NAME, in_list=True)
        if options.engine:
            yield JsonItem(settings, ("agents", "defaults", "compaction", "provider"), NAME)
        if options.recall:
            command, *arguments = way.mcp
            yield JsonItem(settings, ("mcp", "servers", NAME), {"command": command, "args": arguments})

    def next_steps(self, home: Path, options: DoorOptions) -> list[str]:
        return ["A gateway that runs reads its settings anew by itself."]


AGENT = InsideOpenClaw()
