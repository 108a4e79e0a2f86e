"""Where sessions are stored: `sessions/**` and `archived_sessions/**`, plain or compressed, one file or several for
each session.

`rollout-<local time>-<thread>.jsonl` is the first file of a session, whose id is the thread's; `rollout-<local
time>-<thread>_<segment>.jsonl` continues from an earlier point of it.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.jsonl.compressed import ENDING
from viewer.stores.jsonl.files import FileState, state_of
from viewer.stores.jsonl.listing import number_of

from . import database

DIRECTORIES = ("sessions", "archived_sessions")  # a file in the first one takes precedence
DEEPEST = 6  # levels of directories that are searched
SETTLED = 2.0  # seconds after which a directory with an unchanged time counts as unchanged
_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ROLLOUT = re.compile(rf"rollout-([0-9T-]{{10,30}})-({_ID})(?:_({_ID}))?\.jsonl({re.escape(ENDING)})?")


@dataclass(frozen=True, slots=True)
class Rollout:
    """One file by its name. `segment` is "" for the first file of a thread; `made` is the local time in its name."""

    path: str
    thread: str
    segment: str
    made: str
    is_archived: bool

    @property
    def file_id(self) -> str:
        """The id by which other files point to it."""
        return self.segment or self.thread

    @property
    def order(self) -> tuple[bool, str, str]:
        """Older files of a thread come first."""
        return bool(self.segment), self.made, self.segment


@dataclass(frozen=True, slots=True)
class ThreadFile:
    """The file that a session is written to now. `files` are all of its thread, the oldest first."""

    id: str
    rollout: Rollout
    files: tuple[Rollout, ...]
    state: FileState
    row: database.ClientThread

    @property
    def path(self) -> Path:
        return Path(self.rollout.path)

    @property
    def number(self) -> int:
        return number_of(self.id)


Threads = Mapping[str, tuple[Rollout, ...]]


def threads(store: Store) -> Threads:
    """The files of every thread, the oldest first. Raises OSError where the directories cannot be listed."""
    files_by_thread: dict[str, dict[str, Rollout]] = {}
    for at, directory in enumerate(DIRECTORIES):
        for rollout in _rollouts(store.path / directory, is_archived=bool(at)):
            files = files_by_thread.setdefault(rollout.thread, {})
            files[rollout.file_id] = _preferred(files.get(rollout.file_id), rollout)
    return {
        thread: tuple(sorted(files.values(), key=lambda each: each.order)) for thread, files in files_by_thread.items()
    }


def _preferred(current: Rollout | None, other: Rollout) -> Rollout:
    """A plain file before a compressed one in the same directory."""
    if current is None:
        return other
    return other if current.is_archived == other.is_archived and not other.path.endswith(ENDING) else current


def _rollouts(directory: Path, *, is_archived: bool, depth: int = 0) -> Iterator[Rollout]:
    try:
        changed = os.stat(directory).st_mtime_ns
    except OSError:
        return
    settled = time.time() - changed / 1e9 > SETTLED
    read = _entries if settled else _entries.__wrapped__
    folders, names = read(str(directory), changed)
    for name in names:
        match = _ROLLOUT.fullmatch(name)
        if match is not None:
            local_time, thread, segment = match.group(1, 2, 3)
            yield Rollout(f"{directory}/{name}", thread, segment or "", local_time, is_archived)
    for folder in folders if depth < DEEPEST else ():
        yield from _rollouts(directory / folder, is_archived=is_archived, depth=depth + 1)


@lru_cache(maxsize=20_000)
def _entries(directory: str, changed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the directories and of the rollouts in a directory in its state of this time."""
    folders, names = [], []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith("rollout-"):
                names.append(entry.name)
            elif entry.is_dir():
                folders.append(entry.name)
    return tuple(sorted(folders)), tuple(names)


def all_files(store: Store) -> list[ThreadFile]:
    """Every session of a store, in no order."""
    rows = database.thread_rows(store)
    return [file for thread, files in threads(store).items() for file in _file(thread, files, rows.of(thread))]


def _file(thread: str, files: Sequence[Rollout], row: database.ClientThread) -> Iterator[ThreadFile]:
    current = current_of(files, row)
    with suppress(OSError):
        yield ThreadFile(thread, current, tuple(files), state_of(current.path), row)


def current_of(files: Sequence[Rollout], row: database.ClientThread) -> Rollout:
    """The current file of a session: the one that the client's database names, else the newest."""
    name = os.path.basename(row.rollout_path).removesuffix(ENDING)
    named = (each for each in files if os.path.basename(each.path).removesuffix(ENDING) == name)
    return next(named, files[-1])


def find(store: Store, session_id: str, all_threads: Threads | None = None) -> ThreadFile:
    """The file of a session. Raises NotFound, also for an id that names no file of the store."""
    files = (threads(store) if all_threads is None else all_threads).get(session_id, ())
    thread_files = list(_file(session_id, files, database.thread_rows(store).of(session_id))) if files else []
    if not thread_files:
        raise NotFound(f"Store {store.name} has no session {session_id!r}.")
    return thread_files[0]


def by_file_id(all_threads: Threads, file_id: str) -> Rollout | None:
    """The file that another one points to by this id: a thread's first one, or a segment."""
    first = next((each for each in all_threads.get(file_id, ()) if not each.segment), None)
    return first or next((each for files in all_threads.values() for each in files if each.segment == file_id), None)
