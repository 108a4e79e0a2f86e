"""pi: one extension, which pi loads from its own directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from viewer.inside.changes import Change

from .agent import DoorOptions, InstalledAgent, Way, copied


class InsidePi(InstalledAgent):
    name, label, scheme = "pi", "pi", "pi"
    notes = "The note after a compaction is sent with the next prompt, and stays in pi's history."
    recall = "Every session has an MCP server with search_history and read_history. pi before 0.99 has no MCP."
    engine = "Palimpsest's engine writes the summaries of pi's own compactions, without a model."

    def changes(self, home: Path, own: Path, way: Way, options: DoorOptions) -> Iterator[Change]:
        door = {"door": list(way.door), "mcp": list(way.mcp), "options": asdict(options)}
        yield from copied("pi", home / "extensions" / "palimpsest", {"door.json": door}, "door.js")


AGENT = InsidePi()
