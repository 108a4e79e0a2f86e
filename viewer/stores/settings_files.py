"""Values of agents' settings files. These belong to a person and may hold secrets: nothing else in them is kept."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyjson5

LARGEST = 1_000_000  # bytes of a file that is read
DEEPEST = 100  # levels of nested objects in JSON5


def value_in(path: Path, parse: Callable[[str], Any], *names: str) -> Any:
    """The value under these names, each within the one before; None for no value, and where the file cannot be read.

    The file is read anew when it has changed. `parse` raises ValueError for a text that it cannot read.
    """
    try:
        status = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
        return None
    return _read(path, parse, names, status.st_mtime_ns, status.st_size)


def json5_value_in(path: Path, *names: str) -> Any:
    """The value under these names in a file in JSON5, as `value_in` has it."""
    return value_in(path, json5_of, *names)


def json5_of(text: str) -> Any:
    """The value of a text in JSON5. Raises ValueError."""
    try:
        return pyjson5.decode(text, maxdepth=DEEPEST)
    except pyjson5.Json5Exception as problem:
        raise ValueError(str(problem)) from problem


@lru_cache(maxsize=100)
def _read(path: Path, parse: Callable[[str], Any], names: tuple[str, ...], changed: int, size: int) -> Any:
    """The value as of this state of the file."""
    try:
        with path.open("rb") as file:
            value = parse(file.read(LARGEST).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return None
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
