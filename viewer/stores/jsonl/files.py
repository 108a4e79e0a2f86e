"""The current content of files of lines: read once, read on when they grew, and anew when they were replaced.

A file counts as replaced when its inode changed, when it is shorter than before, or when the bytes that it ended with
are no longer there. Some kinds overwrite bytes of earlier lines in an undo: `watched` names the lines whose beginnings
are compared again. A line that begins with a blank may be one of ours that is not complete yet (`append.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Generic, Protocol, TypeVar

from cachetools import LRUCache

from viewer.stores.errors import StoreUnavailable

from .lines import BUFFER, FINISHED, Line, lines_from
from .links import regular_file

HELD = 60_000  # records in this process, about 40 MB; always enough for two files
TAIL = 512  # bytes before the end, which are compared to recognise a file
HEAD = 160  # bytes of a watched line, which are compared to recognise it
SMALLEST = 50  # the least number of records that a file is counted with
LARGEST = 2_000_000_000  # bytes; a larger file is not read
TOO_LARGE = "it has {size:,} MB: of a file, compressed or not, no more than {limit:,} MB are read"
_OTHER_ENCODING = re.compile(
    rb'\xff\xfe|(?:\0\0)?\xfe\xff|\0{0,3}\{\0(?:\0\0)?"'
)  # the beginnings of UTF-16 and UTF-32
NOT_UTF_8 = "it is not UTF-8 text, but UTF-16 or UTF-32, as some programs for Windows write. Convert it to UTF-8"


class HasOffset(Protocol):
    """What every record of a line has."""

    @property
    def offset(self) -> int: ...


R = TypeVar("R", bound=HasOffset)


@dataclass(frozen=True, slots=True)
class FileState:
    """Shows whether a file changed; times in nanoseconds."""

    device: int
    inode: int
    size: int
    changed: int

    @property
    def text(self) -> str:
        return f"{self.device} {self.inode} {self.size} {self.changed}"


def state_of(path: str | Path) -> FileState:
    """Raises OSError, also for anything but a regular file, and for a link to a file elsewhere (`links`)."""
    status = regular_file(path)
    return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class ReadFile(Generic[R]):
    """The records of a file in the order of its lines. `end` is where its last finished line ends and `tail` the bytes
    before that; `heads` are the beginnings of watched lines by offset.
    """

    state: FileState
    records: list[R]
    end: int
    tail: bytes
    heads: dict[int, bytes] = field(default_factory=dict)


def plainly(path: Path) -> BinaryIO:
    """The file, opened unchanged. Raises OSError."""
    return path.open("rb", buffering=BUFFER)


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """Raise StoreUnavailable where this file cannot be read."""
    try:
        yield
    except OSError as problem:
        raise StoreUnavailable(f"{path} cannot be read: {problem.strerror or problem}.") from problem


class RecordCache(Generic[R]):
    """Records of files by path; those used longest ago are dropped first. Safe between threads."""

    def __init__(
        self,
        record_of: Callable[[Line, int], R],
        held: int = HELD,
        opened: Callable[[Path], BinaryIO] = plainly,
        watched: Callable[[R], bool] = lambda record: False,
    ) -> None:
        """`record_of` makes a record from a line and its number in the file, `opened` opens a file for reading.
        `watched` names the records, few in a file, whose line may be overwritten at its beginning in place.
        """
        self._record_of, self._opened, self._is_watched = record_of, opened, watched
        self._files: LRUCache[str, ReadFile[R]] = LRUCache(
            held, getsizeof=lambda each: min(max(len(each.records), SMALLEST), held // 2)
        )
        self._lock = Lock()

    def read(self, path: Path) -> ReadFile[R]:
        """The current content of the file. Raises StoreUnavailable."""
        with self._lock:
            cached = self._files.get(str(path))
        with readable(path):
            now = state_of(path)
            if cached is not None and cached.state == now:
                return cached
            if now.size > LARGEST:
                raise OSError(TOO_LARGE.format(size=now.size // 1_000_000, limit=LARGEST // 1_000_000))
            with self._opened(path) as file:
                if _OTHER_ENCODING.match(file.read(8)):
                    raise OSError(NOT_UTF_8)
                current = (
                    self._read_on(file, cached, now) if cached is not None and _has_grown(file, cached, now) else None
                )
                current = current or self._read_on(file, None, now)
        with self._lock:
            self._files[str(path)] = current
        return current

    def forget(self) -> None:
        with self._lock:
            self._files.clear()

    def _read_on(self, file: BinaryIO, cached: ReadFile[R] | None, now: FileState) -> ReadFile[R]:
        """Reads from the end of the last finished line; a line that was unfinished then is read again."""
        end = cached.end if cached else 0
        records = [each for each in cached.records if each.offset < end] if cached else []
        heads = {offset: head for offset, head in cached.heads.items() if offset < end} if cached else {}
        for line in lines_from(file, end):
            if line.is_whole or line.place in FINISHED:
                records.append(self._record_of(line, len(records)))
                if line.data is not None and (line.data[:1] == b" " or self._is_watched(records[-1])):
                    heads[line.offset] = line.data[:HEAD]
            if line.is_whole:
                end = line.offset + line.length + 1
        file.seek(max(0, end - TAIL))
        return ReadFile(now, records, end, file.read(min(end, TAIL)), heads)


def _has_grown(file: BinaryIO, cached: ReadFile[R], now: FileState) -> bool:
    same = (cached.state.device, cached.state.inode) == (now.device, now.inode)
    if not same or now.size < cached.end or (now.size == cached.state.size and now.changed != cached.state.changed):
        return False
    file.seek(max(0, cached.end - TAIL))
    if file.read(len(cached.tail)) != cached.tail:
        return False
    return all(line_at(file, offset, len(head)) == head for offset, head in cached.heads.items())


def beginning(path: str | Path, most: int) -> bytes:
    """At most so many bytes of a file. Raises OSError, also for anything but a regular file: reading a pipe would
    block.
    """
    state_of(path)
    with open(path, "rb") as file:
        return file.read(most)


def line_at(file: BinaryIO, offset: int, length: int) -> bytes:
    """The bytes of a line."""
    file.seek(offset)
    return file.read(length)
