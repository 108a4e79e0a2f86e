"""Tool results that were too long for a line: the client keeps them in files in the session's own directory."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from viewer.stores.message import Handoff, HistoryMessage

LONGEST = 10_000_000  # bytes of a file that are shown
_SAVED = re.compile(r"\A<persisted-output>\s.{0,200}?Full output saved to: ([^\n]{1,1000})\n", re.DOTALL)


def with_whole_output(shown: HistoryMessage | Handoff, directory: Path) -> HistoryMessage | Handoff:
    """A tool's result with its full text, which the model does not see; anything else as it is."""
    if isinstance(shown, Handoff) or shown.row.role != "tool":
        return shown
    content = whole(shown.content, directory)
    if content == shown.content:
        return shown
    return HistoryMessage(replace(shown.entry, shortened=True), replace(shown.row, content=content), content)


def whole(content: Any, directory: Path) -> Any:
    """The content, with the full text where it names a file of its own session; any other file is not read."""
    saved = _SAVED.match(content) if isinstance(content, str) else None
    if saved is None:
        return content
    path = directory / "tool-results" / os.path.basename(saved[1].strip())
    try:
        inside = path.resolve(strict=True).parent == (directory / "tool-results").resolve(strict=True)
        if not inside or not path.is_file():
            return content
        with path.open("rb") as file:
            text = file.read(LONGEST + 1)
    except (OSError, ValueError, RuntimeError):
        return content
    more = f"\n[{path.stat().st_size - LONGEST:,} more bytes in {path.name}]" if len(text) > LONGEST else ""
    return f"{text[:LONGEST].decode('utf-8', 'replace')}{more}"
