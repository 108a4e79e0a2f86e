"""Adding lines to a file that another program appends to, and taking them off again: whole, or not at all. And bytes of
lines overwritten in place, one after the other.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from viewer.errors import CompactionConflict, StoreReadOnly, StoreUnavailable

from .files import FileState, state_of

WRITTEN_TO = "The session's file was written to just now. Nothing was changed. Try again."
UNDO_NOT_AS_MEANT = (
    "The session did not read back as it was meant once this compaction was undone, so it was put in effect again. "
    "Please report this session."
)
LEFT_THERE = (
    "The agent wrote to the session just as it was compacted, so that what was written could not be taken off again. "
    "Look at the session, and undo the compaction if it is in effect."
)


class Appending:
    """A file that is held open for writing; other processes of this site wait meanwhile."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor

    @property
    def state(self) -> FileState:
        found = os.fstat(self._descriptor)
        return FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def append(self, data: bytes, seen: FileState) -> tuple[int, int]:
        """Write lines behind the end with one call, where the file is as it was `seen`; where they begin and end.

        The file's times are put back: its agent goes by them. Raises CompactionConflict, StoreUnavailable.
        """
        self._require(seen)
        start = seen.size
        if start and os.pread(self._descriptor, 1, start - 1) != b"\n":
            data, start = b"\n" + data, start + 1
        written = os.write(self._descriptor, data)
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        if written != len(data) or end - written != seen.size:
            self._take_back(end - written, end)
            if end - written != seen.size:  # another program appended since it was looked at
                raise CompactionConflict(WRITTEN_TO)
            self._put_back(seen)
            raise StoreUnavailable(f"{self.path} could not be written: the disk is full. Nothing was written.")
        os.fsync(self._descriptor)
        self._put_back(seen)
        return start, end

    def _take_back(self, start: int, end: int) -> None:
        """Take off what was written between these places, unless another program wrote behind it."""
        if os.fstat(self._descriptor).st_size == end:
            os.ftruncate(self._descriptor, start)

    def append_blank_first(self, lines: Sequence[bytes], seen: FileState) -> int:
        """Write lines behind the end, where the file is as it was `seen`: as blanks, then over them. Whoever is killed
        in between leaves lines that are skipped, and not one that the agent's next line would become a part of.

        Where they begin. Raises CompactionConflict, StoreUnavailable.
        """
        start, _ = self.append(b"".join(b" " * len(line) + b"\n" for line in lines), seen)
        self.overwrite({start: b"\n".join(lines)}, self.state)
        return start

    def take_off(self, seen: FileState, end: int, left: str = LEFT_THERE) -> None:
        """Have the file as it was `seen` again, where it still ends at `end`. Raises CompactionConflict, with `left` as
        what it says, where another program wrote behind that; then all of it stays.
        """
        now = self.state
        if now.size != end:
            raise CompactionConflict(left)
        self.truncate(seen.size, now)

    def truncate(self, size: int, seen: FileState) -> None:
        """Take off what stands behind `size`, where the file is as it was `seen`. Raises CompactionConflict."""
        self._require(seen)
        os.ftruncate(self._descriptor, size)
        os.fsync(self._descriptor)
        self._put_back(seen)

    def overwrite(self, changes: Mapping[int, bytes], seen: FileState) -> None:
        """Write bytes over those at these offsets, in this order, where the file is as it was `seen`.

        The file's time moves by a microsecond or more, by which whoever read it sees that it is another one. Raises
        CompactionConflict.
        """
        self._require(seen)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)  # not one that always writes at the end
        try:
            found = os.fstat(descriptor)
            if (found.st_dev, found.st_ino) != (seen.device, seen.inode):
                raise CompactionConflict(WRITTEN_TO)
            for offset, data in changes.items():
                os.pwrite(descriptor, data, offset)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            self.touch(seen)

    def touch(self, seen: FileState) -> None:
        """Have the file look like another one than `seen` to whoever read it, also where its times are coarse."""
        for step in (1_000, 1_000_000, 2_000_000_000):
            os.utime(self._descriptor, ns=(seen.changed, seen.changed + step))
            if self.state != seen:
                return

    def read_back(self, live: Callable[[], Sequence[int]], meant: Sequence[int]) -> None:
        """Require that after an undo these messages are in context. What another program has written since is its own
        matter. Raises CompactionConflict, and what reading raises.
        """
        written = self.state
        if [*live()] != [*meant] and self.state == written:
            raise CompactionConflict(UNDO_NOT_AS_MEANT)

    def _require(self, seen: FileState) -> None:
        now = self.state
        if now != seen or state_of(self.path) != now:
            raise CompactionConflict(WRITTEN_TO)

    def _put_back(self, seen: FileState) -> None:
        os.utime(self._descriptor, ns=(seen.changed, seen.changed))


@contextmanager
def appending(path: Path) -> Iterator[Appending]:
    """Raises StoreReadOnly for a file that this user may not write, StoreUnavailable for one that is away."""
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
    """A new file of these pieces, whole or not there, for its user alone. Raises StoreReadOnly, StoreUnavailable."""
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
    said = f"{path} cannot be written: {problem.strerror or problem}. Nothing was written."
    return StoreReadOnly(said) if isinstance(problem, PermissionError) else StoreUnavailable(said)
