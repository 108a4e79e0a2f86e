"""The files of a workspace whose rules ask for reading at a start."""

from __future__ import annotations

import time
from pathlib import Path


def today() -> str:
    return f"memory/{time.strftime('%Y-%m-%d')}.md"


def write_workspace(place: Path, rules: str, of_today: str = "Today.") -> Path:
    """A workspace with these rules, a file that is always read and one of the day."""
    (place / "memory").mkdir(parents=True)
    (place / "AGENTS.md").write_text(rules)
    (place / "SOUL.md").write_text("Be kind.")
    (place / today()).write_text(of_today)
    return place
