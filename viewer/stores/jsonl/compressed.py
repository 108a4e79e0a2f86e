"""Files of lines that their agent compressed (zstandard), read by the offsets of the unpacked lines.

A file is unpacked into a temporary file, and the few that were used last are kept: reading by offset would otherwise
unpack everything before it each time. A few bytes may unpack to any number of lines, so there is a limit.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, _TemporaryFileWrapper, gettempdir
from threading import Lock
from typing import BinaryIO

import zstandard
from cachetools import LRUCache

from .files import LARGEST, FileState, plainly, state_of
from .lines import BUFFER

ENDING = ".zst"
HELD = 4  # unpacked files
REMEMBERED = 1_000  # files that are too large, or are being unpacked
OF_DISK = 20  # at most the free disk divided by this is unpacked
TOO_LARGE = "unpacked it has more than {size:,} MB: no more than 2 GB, and a twentieth of the free disk, is unpacked"

Key = tuple[str, FileState]

# A dropped file is deleted once nobody has it open.
_held: LRUCache[Key, _TemporaryFileWrapper[bytes]] = LRUCache(HELD)
_too_large: LRUCache[Key, int] = LRUCache(REMEMBERED)  # the unpacked size of each, in bytes
_turns: LRUCache[Key, Lock] = LRUCache(REMEMBERED)
_lock = Lock()


def opened(path: Path) -> BinaryIO:
    """The lines of a file, compressed or not, for reading by offset. Raises OSError, also for a damaged file, or one
    that is too large to be unpacked.
    """
    if path.suffix != ENDING:
        return plainly(path)
    key = str(path), state_of(path)
    with _turn_of(key):  # others do not wait
        with _lock:
            unpacked = _held.get(key)
        if unpacked is None:
            unpacked = _unpacked(path, key)
            with _lock:
                _held[key] = unpacked
        return open(unpacked.name, "rb", buffering=BUFFER)


@contextmanager
def from_start(path: Path) -> Iterator[BinaryIO]:
    """The lines of a file, compressed or not, for reading from the first one on; no more is unpacked than is read.
    Raises OSError for a damaged file, also inside the `with` block.
    """
    if path.suffix != ENDING:
        with plainly(path) as file:
            yield file
        return
    state_of(path)
    with _damage_is_said(), path.open("rb") as packed, io.BufferedReader(_lines_in(packed)) as lines:
        yield lines


@contextmanager
def _damage_is_said() -> Iterator[None]:
    try:
        yield
    except zstandard.ZstdError as problem:
        raise OSError(f"it is damaged: {problem}") from problem


def _turn_of(key: Key) -> Lock:
    with _lock:
        return _turns.setdefault(key, Lock())


def _lines_in(packed: BinaryIO) -> zstandard.ZstdDecompressionReader:
    return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)


def _unpacked(path: Path, key: Key) -> _TemporaryFileWrapper[bytes]:
    limit = min(LARGEST, shutil.disk_usage(gettempdir()).free // OF_DISK)
    with _lock:
        size = _too_large.get(key, 0)
    if size > limit:
        raise OSError(TOO_LARGE.format(size=limit // 1_000_000))
    target = NamedTemporaryFile(prefix="palimpsest-")  # noqa: SIM115  # it stays open while it is kept
    try:
        _unpack(path, key, target, limit)
        target.flush()
    except BaseException:
        target.close()
        raise
    return target


def _unpack(path: Path, key: Key, target: _TemporaryFileWrapper[bytes], limit: int) -> None:
    size = 0
    with _damage_is_said(), path.open("rb") as packed, _lines_in(packed) as lines:
        while chunk := lines.read(BUFFER):
            size += len(chunk)
            if size > limit:
                with _lock:
                    _too_large[key] = size
                raise OSError(TOO_LARGE.format(size=limit // 1_000_000))
            target.write(chunk)
