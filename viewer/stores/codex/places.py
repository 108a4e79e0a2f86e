"""Where sessions lie: `sessions/**` and `archived_sessions/**`, plain or compressed, one file or several a session.

`rollout-<local time>-<thread>.jsonl` is the first file of a session, whose id is the thread's;
`rollout-<local time>-<thread>_<segment>.jsonl` one that goes on from an earlier point of it.
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

ROOMS = ("sessions", "archived_sessions")  # what stands in the first one counts
DEEPEST = 6  # directories below one of them that are looked into
SETTLED = 2.0  # seconds after which a directory whose time stayed is taken to be as it was read
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
        """By which other files point to it."""
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
    noted: database.NotedThread

    @property
    def path(self) -> Path:
        return Path(self.rollout.path)

    @property
    def number(self) -> int:
        return number_of(self.id)


Threads = Mapping[str, tuple[Rollout, ...]]


def threads(store: Store) -> Threads:
    """The files of every thread, the oldest first. Raises OSError where the directories cannot be listed."""
    found: dict[str, dict[str, Rollout]] = {}
    for at, room in enumerate(ROOMS):
        for rollout in _rollouts(store.path / room, is_archived=bool(at)):
            files = found.setdefault(rollout.thread, {})
            files[rollout.file_id] = _preferred(files.get(rollout.file_id), rollout)
    return {thread: tuple(sorted(files.values(), key=_order)) for thread, files in found.items()}


def _order(rollout: Rollout) -> tuple[bool, str, str]:
    return rollout.order


def _preferred(known: Rollout | None, other: Rollout) -> Rollout:
    """A plain file before a compressed one of the same place."""
    if known is None:
        return other
    return other if known.is_archived == other.is_archived and not other.path.endswith(ENDING) else known


def _rollouts(directory: Path, *, is_archived: bool, depth: int = 0) -> Iterator[Rollout]:
    try:
        changed = os.stat(directory).st_mtime_ns
    except OSError:
        return
    settled = time.time() - changed / 1e9 > SETTLED
    read = _entries if settled else _entries.__wrapped__
    folders, names = read(str(directory), changed)
    for name in names:
        found = _ROLLOUT.fullmatch(name)
        if found is not None:
            made, thread, segment = found.group(1, 2, 3)
            yield Rollout(f"{directory}/{name}", thread, segment or "", made, is_archived)
    for folder in folders if depth < DEEPEST else ():
        yield from _rollouts(directory / folder, is_archived=is_archived, depth=depth + 1)


@lru_cache(maxsize=20_000)
def _entries(directory: str, changed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the directories and of the rollouts in a directory as it was at this time."""
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
    noted = database.thread_rows(store)
    return [file for thread, files in threads(store).items() for file in _file(thread, files, noted.of(thread))]


def _file(thread: str, files: Sequence[Rollout], noted: database.NotedThread) -> Iterator[ThreadFile]:
    current = current_of(files, noted)
    with suppress(OSError):
        yield ThreadFile(thread, current, tuple(files), state_of(current.path), noted)


def current_of(files: Sequence[Rollout], noted: database.NotedThread) -> Rollout:
    """The file that a session goes on in: the one that the client's database names, else the newest."""
    name = os.path.basename(noted.rollout_path).removesuffix(ENDING)
    named = (each for each in files if os.path.basename(each.path).removesuffix(ENDING) == name)
    return next(named, files[-1])


def find(store: Store, session_id: str, known: Threads | None = None) -> ThreadFile:
    """The file of a session. Raises NotFound, also for an id that names no file of the store."""
    files = (threads(store) if known is None else known).get(session_id, ())
    found = list(_file(session_id, files, database.thread_rows(store).of(session_id))) if files else []
    if not found:
        raise NotFound(f"Store {store.name} has no session {session_id!r}.")
    return found[0]


def by_file_id(known: Threads, file_id: str) -> Rollout | None:
    """The file that another one points to by this id: a thread's first one, or a segment."""
    first = next((each for each in known.get(file_id, ()) if not each.segment), None)
    return first or next((each for files in known.values() for each in files if each.segment == file_id), None)
