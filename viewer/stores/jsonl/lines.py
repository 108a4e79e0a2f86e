"""The lines of a file, by offset: none is longer than what memory is meant for, and the last may be unfinished."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

DEEPEST = 100  # lists and objects in one another: what reads a value goes down into it, and has an end
LONGEST = 32_000_000  # bytes of a line that are read; of a longer one only its place is known
BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end. `data` is None for one that is too long; `is_whole` says that a line end follows."""

    offset: int
    length: int
    data: bytes | None
    is_whole: bool

    def value(self) -> dict[str, Any] | None:
        """The object that it says; None for what is none."""
        return decoded(self.data) if self.data is not None else None


def decoded(data: bytes) -> dict[str, Any] | None:
    """A JSON object, lone surrogates replaced, which no database and no encoder takes; None for what is none, or is
    deeper than anything an agent writes.
    """
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        if b"\\u" in data and (b"\\ud" in data or b"\\uD" in data):
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    is_deep = data.count(b"[") + data.count(b"{") > DEEPEST and _is_deeper(value)
    return value if isinstance(value, dict) and not is_deep else None


def _is_deeper(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        inside = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list)))
        level = [each for values in inside for each in values]
    return bool(level)


def lines_from(file: BinaryIO, offset: int) -> Iterator[Line]:
    """The lines from this offset on, blank ones left out."""
    file.seek(offset)
    while data := file.readline(LONGEST + 1):
        length, ended = len(data), data.endswith(b"\n")
        too_long = length > LONGEST and not ended
        while too_long and not ended and (more := file.readline(BUFFER)):
            length, ended = length + len(more), more.endswith(b"\n")
        if too_long or data.strip():
            yield Line(offset, length - ended, None if too_long else data.rstrip(b"\r\n"), ended)
        offset += length
