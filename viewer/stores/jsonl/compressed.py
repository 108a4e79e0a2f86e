"""Files of lines that their agent compressed (zstandard), read by the offsets of what is in them.

What is in one is unpacked into a temporary file, of which the few that were looked at last are kept: reading by offset
would otherwise unpack everything before it each time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile, _TemporaryFileWrapper
from threading import Lock
from typing import BinaryIO

import zstandard
from cachetools import LRUCache

from .files import FileState, plainly, state_of
from .lines import BUFFER

ENDING = ".zst"
HELD = 4  # unpacked files
LARGEST = 32_000_000_000  # bytes of what is in a file

# One that is forgotten is deleted; whoever has it open reads on.
_held: LRUCache[tuple[str, FileState], _TemporaryFileWrapper[bytes]] = LRUCache(HELD)
_lock = Lock()


def opened(path: Path) -> BinaryIO:
    """The lines of a file, compressed or not, to be read by offset. Raises OSError, also for what is damaged."""
    if path.suffix != ENDING:
        return plainly(path)
    key = str(path), state_of(path)
    with _lock:
        if key not in _held:
            _held[key] = _unpacked(path)
        return open(_held[key].name, "rb", buffering=BUFFER)


def _unpacked(path: Path) -> _TemporaryFileWrapper[bytes]:
    target = NamedTemporaryFile(prefix="palimpsest-")  # noqa: SIM115  # it stays open while it is kept
    try:
        _unpack(path, target.write)
        target.flush()
    except BaseException:
        target.close()
        raise
    return target


def _unpack(path: Path, write: Callable[[bytes], int]) -> None:
    size = 0
    try:
        with path.open("rb") as packed:
            for chunk in zstandard.ZstdDecompressor().read_to_iter(packed):
                size += write(chunk)
                if size > LARGEST:
                    raise OSError(f"{path} holds more than {LARGEST:,} bytes")
    except zstandard.ZstdError as problem:
        raise OSError(f"{path} is damaged: {problem}") from problem
