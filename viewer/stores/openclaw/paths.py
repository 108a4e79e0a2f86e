"""Where OpenClaw's sessions are: rows of an agent's database, or files of lines in its state directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from viewer.stores.base import Store
from viewer.stores.errors import StoreUnanswered, StoreUnavailable
from viewer.stores.jsonl import links
from viewer.stores.jsonl.files import FileState, state_of
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.values import seconds
from viewer.stores.trees.paths import ENDING, Locations, SessionFields, SessionLocation, files

from . import database
from .database import StoredWindow
from .session_fields import noted_of

# Ends of the names of other files next to sessions: logs of runs, and copies that older clients made before
# compactions.
NO_SESSIONS = re.compile(r"\.trajectory\.jsonl$|\.checkpoint\.[^/]{1,100}\.jsonl$")
# How OpenClaw before 2026.8 renames a file when its conversation continues in a new one.
_RESET = re.compile(r"(.+)\.jsonl\.reset\.(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d(?:\.\d{3})?Z)")
INDEX = "sessions.json"
LARGEST_INDEX = 200_000_000  # bytes; a larger index is not read


def openclaw_sessions(store: Store, patience: float = database.BUSY_SECONDS) -> Locations:
    """Every session of a state directory by its id, without those of databases that cannot be read. Raises
    StoreUnanswered where one is locked, StoreUnavailable where nothing else is there.
    """
    sessions: dict[str, SessionLocation] = {}
    refused = []
    for agent, path in database.databases(store.path):
        try:
            for location in _of_database(agent, path, database.windows(path, database.state_text(path), patience)):
                _add(sessions, location)
        except StoreUnanswered:
            raise
        except StoreUnavailable as problem:
            refused.append(problem)
    for agent in _agents(store.path):
        for location in _of_directory(agent, store.path / "agents" / agent / "sessions"):
            _add(sessions, location)
    if refused and not sessions:
        raise refused[0]
    return _linked(sessions)


def remarks(store: Store) -> Iterator[str]:
    """Which agents have a database that cannot be read, and which links are followed or not, a sentence each."""
    for agent in _agents(store.path):
        home = store.path / "agents" / agent
        yield from links.linked(home, home / "agent", home / "sessions")
        yield from links.remarks(str(home / "agent"), (database.NAME,))
        yield from links.remarks(str(home / "sessions"), (ENDING,))
    for agent, path in database.databases(store.path):
        try:
            database.windows(path, database.state_text(path), database.LIST_SECONDS)
        except StoreUnanswered:
            continue
        except StoreUnavailable as problem:
            yield f"The sessions of agent {agent} are left out: {problem.message}"


def _agents(home: Path) -> list[str]:
    try:
        return sorted(os.listdir(home / "agents"))
    except OSError:
        return []


def _add(sessions: dict[str, SessionLocation], location: SessionLocation) -> None:
    """Add one session. One that is in a database and in a file counts once, as the database has it; two agents may use
    one id.
    """
    known_location = sessions.get(location.id)
    if known_location is None:
        sessions[location.id] = location
    elif known_location.agent != location.agent:
        sessions[f"{location.agent}/{location.id}"] = replace(location, id=f"{location.agent}/{location.id}")


def _of_database(agent: str, path: Path, windows: Iterable[StoredWindow]) -> Iterator[SessionLocation]:
    try:
        stat = os.stat(path)
    except OSError:
        return
    for each in windows:
        yield SessionLocation(
            id=each.id,
            agent=agent,
            key=each.key,
            path=path,
            row_id=each.id,
            state=FileState(stat.st_dev, stat.st_ino, each.events, each.changed * 1_000_000),
            fields=each.fields,
            model=each.model,
            began=each.began / 1000,
            parent=each.previous,
            branched_from=each.forked_from,
            generation=each.generation,
            is_listed=not each.is_copied,
            is_cold=each.is_cold,
            is_current=each.is_current,
        )


def _of_directory(agent: str, directory: Path) -> Iterator[SessionLocation]:
    index = _index(directory / INDEX)
    paths = {os.path.basename(path): path for path in files(directory, depth=0)}
    by_file = {f"{each.session_id}{ENDING}": (key, each) for key, each in index.items() if each.file_name not in paths}
    by_file |= {each.file_name: (key, each) for key, each in index.items() if each.file_name in paths}
    names = [file_name for name in paths if (file_name := _file_name(name)) is not None]
    begun = _conversations(index, names)
    for name in names:
        path = Path(paths[name.name])
        key, each = by_file.get(name.name, ("", SessionFields()))
        of_key, parent = begun[name.session_id]
        with suppress(OSError):
            yield SessionLocation(
                name.session_id, agent, key or of_key, path, "", state_of(path), each,
                parent=parent, is_current=bool(key), ended=name.ended,
            )  # fmt: skip


class _FileName(NamedTuple):
    """The name of a session's file: `transcript` is the session's name while it was written, `ended` when a reset ended
    it, in epoch seconds, 0.0 for never.
    """

    name: str
    session_id: str
    transcript: str
    ended: float = 0.0


def _file_name(name: str) -> _FileName | None:
    """The parts of a file's name; None for a file that is not a session."""
    if match := _RESET.fullmatch(name):
        ended = seconds(f"{match[2]}{match[3]}:{match[4]}:{match[5]}")
        return _FileName(name, f"{match[1]}{name.removeprefix(match[1] + ENDING)}", match[1], ended)
    if not name.endswith(ENDING) or NO_SESSIONS.search(name):
        return None
    return _FileName(name, name.removesuffix(ENDING), name.removesuffix(ENDING))


def _conversations(index: Mapping[str, SessionFields], names: Sequence[_FileName]) -> dict[str, tuple[str, str]]:
    """For each session in these files, the key that it belongs to and the session that it follows, "" for none: a reset
    renames a file, and the index lists the earlier sessions of a conversation.
    """
    files: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: (not name.ended, name.ended)):
        files.setdefault(name.transcript, []).append(name.session_id)
    rows = [(key, dict.fromkeys([*each.family, each.session_id])) for key, each in index.items()]
    rows += [("", {transcript: None}) for transcript in files]
    keys_and_parents: dict[str, tuple[str, str]] = {}
    for key, transcripts in rows:
        before = ""
        for each in (each for transcript in transcripts for each in files.get(transcript, ())):
            keys_and_parents.setdefault(each, (key, before))
            before = each
    return keys_and_parents


def _index(path: Path) -> Mapping[str, SessionFields]:
    """The session entries by key, from the index that older clients keep next to their files; none where there is no
    such index.
    """
    try:
        return _read_index(str(path), state_of(path))
    except OSError:
        return {}


@lru_cache(maxsize=200)
def _read_index(path: str, state: FileState) -> Mapping[str, SessionFields]:
    if state.size > LARGEST_INDEX:
        return {}
    with open(path, "rb") as file:
        entries = decoded(file.read()) or {}
    return {key: noted_of(each) for key, each in entries.items() if isinstance(each, dict)}


def _linked(sessions: Mapping[str, SessionLocation]) -> Locations:
    """The sessions with the links that keys and earlier ids give."""
    current = {location.key: location.id for location in sessions.values() if location.is_current and location.key}
    copied = {location.id: location for location in sessions.values() if not location.is_listed}
    next_of = {location.parent: location for location in sessions.values() if location.parent}
    linked = {}
    for name, location in sessions.items():
        parent = location.parent
        while parent in copied:  # a session that was copied by a rewind is not listed
            parent = copied[parent].parent
        spawned = current.get(location.fields.spawned_by, "")
        linked[name] = replace(
            location,
            goes_on=current.get(location.key, "") if not location.is_current else "",
            parent=spawned or location.branched_from or parent or current.get(location.fields.parent_key, ""),
            delegated_from=spawned,
            newest=_listed(location, next_of) if not location.is_listed else "",
        )
    return linked


def _listed(location: SessionLocation, next_of: Mapping[str, SessionLocation]) -> str:
    """The listed session at the end of a chain of copies; "" where there is none."""
    visited = set[str]()
    while not location.is_listed and location.id not in visited and location.id in next_of:
        visited.add(location.id)
        location = next_of[location.id]
    return location.id if location.is_listed else ""
