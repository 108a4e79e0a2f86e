"""Files of lines that their agent compressed (zstandard), read by the offsets of what is in them.

What is in one is unpacked into a temporary file, of which the few that were looked at last are kept: reading by offset
would otherwise unpack everything before it each time. A few bytes may hold any amount of lines, so there is a bound.
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
REMEMBERED = 1_000  # files that are too large, or are unpacked just now
OF_DISK = 20  # no more is unpacked than the free disk divided by this
TOO_LARGE = "unpacked it has more than {size:,} MB: no more than 2 GB, and a twentieth of the free disk, is unpacked"

Key = tuple[str, FileState]

# One that is forgotten is deleted once nobody has it open.
_held: LRUCache[Key, _TemporaryFileWrapper[bytes]] = LRUCache(HELD)
_too_large: LRUCache[Key, int] = LRUCache(REMEMBERED)  # the bytes that were unpacked of each
_turns: LRUCache[Key, Lock] = LRUCache(REMEMBERED)
_lock = Lock()


def opened(path: Path) -> BinaryIO:
    """The lines of a file, compressed or not, to be read by offset. Raises OSError, also for what is damaged, or too
    large to be unpacked.
    """
    if path.suffix != ENDING:
        return plainly(path)
    key = str(path), state_of(path)
    with _turn_of(key):  # others do not wait
        with _lock:
            found = _held.get(key)
        if found is None:
            found = _unpacked(path, key)
            with _lock:
                _held[key] = found
        return open(found.name, "rb", buffering=BUFFER)


@contextmanager
def from_start(path: Path) -> Iterator[BinaryIO]:
    """The lines of a file, compressed or not, to be read from the first one on, of which no more is unpacked than is
    read. Raises OSError, also inside, for what is damaged.
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
