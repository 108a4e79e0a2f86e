"""Copies of a session: `--fork-session` and `/background` write the sent part of a session into a new file, each line
with its old uuid. No line names its origin, so the files of a directory are compared.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from heapq import nsmallest
from pathlib import Path
from typing import NamedTuple

from viewer.stores.errors import StoreUnavailable
from viewer.stores.jsonl.files import beginning, state_of
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.values import seconds

from .paths import ENDING, SESSION, SessionFile
from .records import RECORDS
from .schema import BOUNDARY, IN_TREE

START = 65_536  # bytes of a file that are searched for its first record
KNOWN = 100_000  # files whose first record is kept in this process
# A file is compared with at most this many others with the same first record: the ones that were last written to
# longest ago, because copies are made from those, and the same number by id, which decides between equal copies.
MOST = 10


class FirstRecord(NamedTuple):
    """The first record of a file that has children. `time` in epoch seconds."""

    uuid: str
    time: float
    is_boundary: bool


def origin(file: SessionFile) -> str:
    """The id of the session that this one was copied from, "" for none: of the sessions that contain its first record,
    the one that it shares most records with. Of two files, the copy is the one in which the shared records end earlier,
    because it lacks what was not sent.
    """
    with suppress(OSError, StoreUnavailable):
        return max(_origins(file), default=(0, ""))[1]
    return ""


def copies(file: SessionFile) -> list[SessionFile]:
    """The sessions that were copied from this one, and begin like it."""
    forks = []
    with suppress(OSError):
        for path in _candidates(file):
            copy = SessionFile(path.stem, path, state_of(path))
            forks += [copy] if origin(copy) == file.id else []
    return forks


def responses(file: SessionFile, session_id: str) -> frozenset[str]:
    """The responses of another session in the same directory."""
    with suppress(StoreUnavailable):
        records = RECORDS.read(file.path.with_name(f"{session_id}{ENDING}")).records
        return frozenset(record.group for record in records if record.group)
    return frozenset()


def _origins(file: SessionFile) -> Iterator[tuple[int, str]]:
    """The sessions that this one may be a copy of, each after the number of shared records."""
    candidates = [] if file.parent else _candidates(file)
    others = list(dict.fromkeys([*candidates[:MOST], *nsmallest(MOST, candidates)]))
    mine = {each.uuid: each.offset for each in RECORDS.read(file.path).records if each.uuid} if others else {}
    for path in others:
        with suppress(StoreUnavailable):
            theirs = {each.uuid: each.offset for each in RECORDS.read(path).records if each.uuid in mine}
            if theirs and (max(theirs.values()), file.id) > (max(mine[uuid] for uuid in theirs), path.stem):
                yield len(theirs), path.stem


def _candidates(file: SessionFile) -> list[Path]:
    """The other files of the directory that begin with the same record; if that is a compaction's boundary, those that
    were written to before and after it.
    """
    try:
        own = _first(str(file.path), file.state.device, file.state.inode)
    except LookupError:
        return []
    directory = str(file.path.parent)
    same, began = _firsts(directory, os.stat(directory).st_mtime_ns)
    if str(file.path) not in began:  # it was empty when the directory was listed
        _firsts.cache_clear()
        same, began = _firsts(directory, os.stat(directory).st_mtime_ns)
    paths = same.get(own.uuid, [])
    if own.is_boundary:
        paths = [path for path, time in began.items() if 0 < time <= own.time <= os.stat(path).st_mtime]
    return [Path(path) for path in paths if path != str(file.path)]


@lru_cache(maxsize=16)
def _firsts(directory: str, changed: int) -> tuple[dict[str, list[str]], dict[str, float]]:
    """The files of a directory by the uuid of their first record, and when each began; `changed` is the directory's
    time, in nanoseconds.
    """
    same, began = defaultdict[str, list[str]](list), dict[str, float]()
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=_last_change):
            if entry.name.endswith(ENDING) and SESSION.fullmatch(entry.name.removesuffix(ENDING)):
                with suppress(OSError, LookupError):
                    state = entry.stat()
                    first = _first(entry.path, state.st_dev, state.st_ino)
                    same[first.uuid].append(entry.path)
                    began[entry.path] = first.time
    return same, began


def _last_change(entry: os.DirEntry[str]) -> tuple[float, str]:
    try:
        return entry.stat().st_mtime, entry.name
    except OSError:
        return 0.0, entry.name


@lru_cache(maxsize=KNOWN)
def _first(path: str, device: int, inode: int) -> FirstRecord:
    """Raises LookupError for a file that has none (yet), OSError."""
    for line in beginning(path, START).split(b"\n"):
        value = decoded(line) or {}
        if isinstance(value.get("uuid"), str) and value.get("type") in IN_TREE:
            is_boundary = value.get("subtype") == BOUNDARY
            return FirstRecord(value["uuid"], seconds(value.get("timestamp")), is_boundary)
    raise LookupError(path)
