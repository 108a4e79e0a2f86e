"""Adding lines to a file that another program appends to, and overwriting bytes of lines of ours in place. Nothing is
ever cut off: another program may have written behind it a moment ago.
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
    """A file that is held open for writing; other processes of this site wait meanwhile."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor
        self._size = 0  # that the file has where nobody else wrote since

    @property
    def state(self) -> FileState:
        found = os.fstat(self._descriptor)
        return FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def append(self, data: bytes, seen: FileState, switch: int | None = None) -> int:
        """Write lines behind the end, where the file is as it was `seen`; where they begin.

        They are written as blanks, and then over them, the byte at `switch` last: the beginning of the line by which
        the others come to count. Whoever is killed in between, or finds the disk full, leaves lines that are skipped,
        and none that the agent's next line would become a part of. Raises CompactionConflict, OSError.
        """
        self._require(seen)
        room = blank(data)
        if seen.size and os.pread(self._descriptor, 1, seen.size - 1) != b"\n":
            room = b"\n" + room
        written = os.write(self._descriptor, room)
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        if end - written != seen.size:  # another program appended since it was looked at
            raise CompactionConflict(WRITTEN_TO)
        self._put_back(seen)
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

    def overwrite(self, changes: Mapping[int, bytes], seen: FileState) -> None:
        """Write bytes over those at these offsets, in this order, where the file is as it was `seen`.

        Raises CompactionConflict.
        """
        self._require(seen)
        self._write_over(changes)

    def replace(self, written: Mapping[int, bytes], changes: Mapping[int, bytes]) -> None:
        """Write bytes over what was `written` here a moment ago, wherever that still stands at these offsets; what
        another program has written behind it stays. Raises CompactionConflict.
        """
        if any(os.pread(self._descriptor, len(data), at) != data for at, data in written.items()):
            raise CompactionConflict(LEFT_THERE)
        self._write_over(changes)

    @contextmanager
    def taken_back(self, written: Mapping[int, bytes], changes: Mapping[int, bytes]) -> Iterator[None]:
        """Where reading back within it fails, `replace` what was written. Raises CompactionConflict where the client
        wrote meanwhile, else what the reading raised.
        """
        try:
            yield
        except Exception as problem:
            self.replace(written, changes)
            if self.state.size != self._size:
                raise CompactionConflict(WRITTEN_TO) from problem
            raise

    def _write_over(self, changes: Mapping[int, bytes]) -> None:
        """The file's time moves by a microsecond or more, by which whoever read it sees that it is another one."""
        seen = self.state
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)  # not one that always writes at the end
        try:
            found = os.fstat(descriptor)
            if (found.st_dev, found.st_ino) != (seen.device, seen.inode):
                raise CompactionConflict(WRITTEN_TO)
            for offset, data in changes.items():
                if os.pwrite(descriptor, data, offset) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
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
        self._size = seen.size

    def _put_back(self, seen: FileState) -> None:
        os.utime(self._descriptor, ns=(seen.changed, seen.changed))


def blank(data: bytes) -> bytes:
    """Lines of blanks, as long as these: every client skips them."""
    return b"\n".join(b" " * len(line) for line in data.split(b"\n"))


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
