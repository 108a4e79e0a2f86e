"""The time of the newest entry of a file. That of the file itself changes where somebody copies it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO

from viewer.stores import times

from .lines import decoded
from .values import seconds

PORTIONS = (1 << 16, 1 << 20, 1 << 24)  # bytes at the end that are read, the next only where the one before has no time


def newest_time(newest_first: Iterable[Mapping[str, Any]]) -> float:
    """The time of the last entry that has one, in epoch seconds; 0.0 for none."""
    return next((at for each in newest_first if (at := times.known(seconds(each.get("timestamp"))))), 0.0)


def time_at_end(file: BinaryIO) -> float:
    """The time of the last entry of a file that has one, in epoch seconds; 0.0 for none. Raises OSError."""
    size = file.seek(0, 2)
    for portion in PORTIONS:
        file.seek(max(0, size - portion))
        lines = reversed(file.read(portion).split(b"\n"))
        values = (value for line in lines if line.startswith(b"{") and (value := decoded(line)) is not None)
        if (newest := newest_time(values)) or portion >= size:
            return newest
    return 0.0
