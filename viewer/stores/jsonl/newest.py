"""The time of the newest entry of a file. That of the file itself changes where somebody copies it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

from viewer import times

from .lines import decoded
from .values import seconds

PORTIONS = (1 << 16, 1 << 20, 1 << 24)  # bytes at the end that are read, the next only where the one before has no time


Value = Mapping[str, Any]


def newest_time(newest_first: Iterable[Value], is_compaction: Callable[[Value], bool]) -> float:
    """The time of the last entry that has one, in epoch seconds; 0.0 for none. Those of a compaction do not count, or a
    session that rests would look alive after one here.
    """
    messages = (each for each in newest_first if not is_compaction(each))
    return next((at for each in messages if (at := times.known(seconds(each.get("timestamp"))))), 0.0)


def time_at_end(file: BinaryIO, is_compaction: Callable[[Value], bool] = lambda value: False) -> float:
    """`newest_time` of the entries at the end of a file. Raises OSError."""
    size = file.seek(0, 2)
    for portion in PORTIONS:
        file.seek(max(0, size - portion))
        lines = reversed(file.read(portion).split(b"\n"))
        values = (value for line in lines if line.startswith(b"{") and (value := decoded(line)) is not None)
        if (newest := newest_time(values, is_compaction)) or portion >= size:
            return newest
    return 0.0
