"""What OpenClaw's own settings say of rules: which sections it repeats to a model after a compaction of its own.

Read from the `openclaw.json` of its state directory, which is JSON5, belongs to a person and may hold secrets: of all
else in it nothing is kept. Where it cannot be read, it says nothing.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyjson5

NAME = "openclaw.json"
PLACE = ("agents", "defaults", "compaction", "postCompactionSections")
LARGEST = 1_000_000  # bytes of a file that is read
MOST, LONGEST = 20, 200  # sections, and characters of the title of one
DEEPEST = 100  # levels of objects in each other


def rule_sections(home: Path) -> tuple[str, ...] | None:
    """The titles of these sections, none where it is switched off; None where the settings do not say."""
    path = home / NAME
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return None
    return _read(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=100)
def _read(path: Path, changed: int, size: int) -> tuple[str, ...] | None:
    """Of a file as it was at this time."""
    try:
        with path.open("rb") as file:
            found = _at(pyjson5.decode(file.read(LARGEST).decode("utf-8", "replace"), maxdepth=DEEPEST))
    except (OSError, pyjson5.Json5Exception):
        return None
    if not isinstance(found, list):
        return None
    return tuple(each[:LONGEST] for each in found if isinstance(each, str) and each.strip())[:MOST]


def _at(found: Any) -> Any:
    for name in PLACE:
        found = found.get(name) if isinstance(found, dict) else None
    return found
