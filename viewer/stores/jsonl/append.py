"""Appending lines to a file that another program appends to as well, and overwriting bytes of our own lines in place.
Nothing is ever truncated: another program may have written after it a moment ago.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from viewer.stores.errors import CompactionConflict, StoreReadOnly, StoreUnavailable

from .files import FileState, state_of

WRITTEN_TO = "The session's file was written to just now. Nothing was changed. Try again."
UNDO_NOT_AS_MEANT = (
    "The session did not read back as it was meant once this compaction was undone, so it was put in effect again. "
    "Please report this session."
)
LEFT_THERE = (
    "The session's file was written anew just as we wrote to it, so that this could not be taken back. Look at the "
    "session, and undo the compaction if it is in effect."
)


class Appending:
    """A file that is open for writing; other processes of this site wait meanwhile."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor
        self._size = 0  # the size that the file has if nobody else wrote since

    @property
    def state(self) -> FileState:
        status = os.fstat(self._descriptor)
        return FileState(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def append(self, data: bytes, expected: FileState, switch: int | None = None) -> int:
        """Append lines to the file if it still has the `expected` state; returns the offset at which they begin.

        They are written as blanks first, and then overwritten, the byte at `switch` last: it begins the line that makes
        the others count. A process that is killed in between, or finds the disk full, leaves lines that every reader
        skips, and the agent's next line is not joined to them. Raises CompactionConflict, OSError.
        """
        self._require(expected)
        room = blank(data)
        if expected.size and os.pread(self._descriptor, 1, expected.size - 1) != b"\n":
            room = b"\n" + room
        written = os.write(self._descriptor, room)
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        if end - written != expected.size:  # another program appended since the state was read
            raise CompactionConflict(WRITTEN_TO)
        self._put_back(expected)
        self._size = end
        if written != len(room):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        start = end - len(data)
        if switch is None:
            self._write_over({start: data})
        else:
            rest = data[:switch] + b" " + data[switch + 1 :]
            self._write_over({start: rest, start + switch: data[switch : switch + 1]})
        return start

    def overwrite(self, changes: Mapping[int, bytes], expected: FileState) -> None:
        """Write bytes over those at these offsets, in this order, if the file still has the `expected` state.

        Raises CompactionConflict.
        """
        self._require(expected)
        self._write_over(changes)

    def replace(self, written: Mapping[int, bytes], changes: Mapping[int, bytes]) -> None:
        """Write bytes over those that were `written` here a moment ago, where they are unchanged at these offsets; what
        another program has written after them stays. Raises CompactionConflict.
        """
        if any(os.pread(self._descriptor, len(data), at) != data for at, data in written.items()):
            raise CompactionConflict(LEFT_THERE)
        self._write_over(changes)

    @contextmanager
    def taken_back(self, written: Mapping[int, bytes], changes: Mapping[int, bytes]) -> Iterator[None]:
        """Where reading back inside the `with` block fails, `replace` what was written. Raises CompactionConflict where
        the client wrote meanwhile, else the exception of the reading.
        """
        try:
            yield
        except Exception as problem:
            self.replace(written, changes)
            if self.state.size != self._size:
                raise CompactionConflict(WRITTEN_TO) from problem
            raise

    def _write_over(self, changes: Mapping[int, bytes]) -> None:
        """Afterwards the file's time has moved by a microsecond or more, so that readers notice the change."""
        before = self.state
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)  # not O_APPEND, which always writes at the end
        try:
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) != (before.device, before.inode):
                raise CompactionConflict(WRITTEN_TO)
            for offset, data in changes.items():
                if os.pwrite(descriptor, data, offset) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            self.touch(before)

    def touch(self, before: FileState) -> None:
        """Give the file another time than `before`, so that readers notice the change, also where its
        times are coarse.
        """
        for step in (1_000, 1_000_000, 2_000_000_000):
            os.utime(self._descriptor, ns=(before.changed, before.changed + step))
            if self.state != before:
                return

    def read_back(self, live: Callable[[], Sequence[int]], meant: Sequence[int]) -> None:
        """Require that after an undo these messages are in context. What another program has written since does not
        count. Raises CompactionConflict, and what reading raises.
        """
        written = self.state
        if [*live()] != [*meant] and self.state == written:
            raise CompactionConflict(UNDO_NOT_AS_MEANT)

    def _require(self, expected: FileState) -> None:
        now = self.state
        if now != expected or state_of(self.path) != now:
            raise CompactionConflict(WRITTEN_TO)
        self._size = expected.size

    def _put_back(self, before: FileState) -> None:
        os.utime(self._descriptor, ns=(before.changed, before.changed))


def blank(data: bytes) -> bytes:
    """Lines of blanks with the same lengths: every client skips them."""
    return b"\n".join(b" " * len(line) for line in data.split(b"\n"))


@contextmanager
def appending(path: Path) -> Iterator[Appending]:
    """A file, open for appending. Raises StoreReadOnly for a file that this user may not write, StoreUnavailable for a
    missing one.
    """
    with _problems(path):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        with _problems(path):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Appending(path, descriptor)
    except OSError as problem:
        raise _refusal(path, problem) from problem
    finally:
        os.close(descriptor)


def create(path: Path, data: Iterable[bytes]) -> None:
    """Make a new file of these pieces, readable by its user alone; it is complete or does not exist. Raises
    StoreReadOnly, StoreUnavailable.
    """
    draft = path.with_name(f".{path.name}.new")
    with _problems(path):
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for piece in data:
                _write_all(descriptor, piece)
            os.fsync(descriptor)
            os.link(draft, path)  # unlike a rename it replaces nothing
        finally:
            os.close(descriptor)
            os.unlink(draft)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextmanager
def _problems(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise _refusal(path, problem) from problem


def _refusal(path: Path, problem: OSError) -> StoreReadOnly | StoreUnavailable:
    message = f"{path} cannot be written: {problem.strerror or problem}. Nothing was written."
    return StoreReadOnly(message) if isinstance(problem, PermissionError) else StoreUnavailable(message)
