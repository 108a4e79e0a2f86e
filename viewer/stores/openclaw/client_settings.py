"""What the clients' own settings say: which sections of its rules OpenClaw repeats to a model after a compaction of its
own, and which version of pi somebody used last.

Read from the `openclaw.json` of a state directory, which is JSON5, and pi's `settings.json`. Both belong to a person
and may hold secrets: of all else in them nothing is kept. Where one cannot be read, it says nothing.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyjson5

OPENCLAW, PI = "openclaw.json", "settings.json"
SECTIONS = ("agents", "defaults", "compaction", "postCompactionSections")
VERSION = ("lastChangelogVersion",)
LARGEST = 1_000_000  # bytes of a file that is read
MOST, LONGEST = 20, 200  # sections, and characters of the title of one
DEEPEST = 100  # levels of objects in each other


def rule_sections(home: Path) -> tuple[str, ...] | None:
    """The titles of these sections, none where it is switched off; None where the settings do not say."""
    found = _said(home / OPENCLAW, SECTIONS)
    if not isinstance(found, list):
        return None
    return tuple(each[:LONGEST] for each in found if isinstance(each, str) and each.strip())[:MOST]


def pi_version(home: Path) -> tuple[int, ...]:
    """The numbers of the version of pi that somebody used last in a terminal, none where the settings do not say."""
    found = _said(home / PI, VERSION)
    numbers = found.split("-")[0].split(".") if isinstance(found, str) else []
    return tuple(map(int, numbers)) if all(re.fullmatch("[0-9]{1,6}", each) for each in numbers) else ()


def _said(path: Path, names: tuple[str, ...]) -> Any:
    """What stands under these names, None for nothing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return None
    return _read(path, names, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=100)
def _read(path: Path, names: tuple[str, ...], changed: int, size: int) -> Any:
    """Of a file as it was at this time."""
    try:
        with path.open("rb") as file:
            found: Any = pyjson5.decode(file.read(LARGEST).decode("utf-8", "replace"), maxdepth=DEEPEST)
    except (OSError, pyjson5.Json5Exception):
        return None
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found
