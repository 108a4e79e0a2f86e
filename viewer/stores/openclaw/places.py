"""Where sessions lie: rows of an agent's database or files of lines, in OpenClaw's state directory or pi's."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreUnanswered, StoreUnavailable
from viewer.stores.jsonl import links
from viewer.stores.jsonl.files import FileState, state_of
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.listing import number_of
from viewer.stores.jsonl.values import seconds

from . import database
from .database import StoredWindow
from .noted import NotedEntry, noted_of

ENDING = ".jsonl"
# Ends of names of files beside sessions: what a run did, and copies that older clients made before compactions.
NO_SESSIONS = re.compile(r"\.trajectory\.jsonl$|\.checkpoint\.[^/]{1,100}\.jsonl$")
# What OpenClaw before 2026.8 calls a file when its conversation begins anew in another one.
_RESET = re.compile(r"(.+)\.jsonl\.reset\.(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d(?:\.\d{3})?Z)")
_NAMED = re.compile(r"[0-9TZ:.-]{10,40}_(.+)\.jsonl")  # pi: <time>_<session>
INDEX = "sessions.json"
LARGEST_INDEX = 200_000_000  # bytes of an index that are read
DEEPEST = 5  # directories below pi's that are looked into
SETTLED = 2.0  # seconds after which a directory whose time stayed is taken to be as it was read


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """One session. `row_id` is its id in the database at `path`, "" where that is a file of lines; `key` is what
    OpenClaw calls a conversation by, "" in pi. `parent` is the session that this one follows or began from,
    `branched_from` the one that it is a fork of, `delegated_from` the one whose sub-agent speaks in it, "" for none.
    `is_current` says that its key goes on with it; where it goes on with another session, that is `goes_on`, and
    `ended` when a reset put this one away, in epoch seconds, 0.0 for one that was not. One of which a rewind made a
    copy has `is_listed` False, and in `newest` the session that the newest of its copies is. `is_cold` says that its
    entries are in an archive.
    """

    id: str
    agent: str
    key: str
    path: Path
    row_id: str
    state: FileState
    noted: NotedEntry
    model: str = ""
    began: float = 0.0
    parent: str = ""
    branched_from: str = ""
    delegated_from: str = ""
    newest: str = ""
    is_current: bool = True
    goes_on: str = ""
    ended: float = 0.0
    generation: str = ""
    is_listed: bool = True
    is_cold: bool = False

    @property
    def number(self) -> int:
        """Its number in lists, made of its id."""
        return number_of(self.id)

    @property
    def cache_key(self) -> str:
        """By which its entries are kept in memory."""
        return f"{self.path}\n{self.row_id}"

    @property
    def text(self) -> str:
        """Another text whenever what lists say of it may be another."""
        return f"{self.state.text} {self.generation} {self.noted}"


Places = Mapping[str, SessionPlace]


def find(places: Places, store: Store, session_id: str) -> SessionPlace:
    """Raises NotFound, also for an id that names nothing in the store."""
    if session_id not in places:
        raise NotFound(f"Store {store.name} has no session {session_id!r}.")
    return places[session_id]


# -- OpenClaw ----------------------------------------------------------------------------------------------------------


def openclaw_sessions(store: Store, patience: float = database.BUSY_SECONDS) -> Places:
    """Every session of a state directory by its id, without those of a database that cannot be read. Raises
    StoreUnanswered where one is locked, StoreUnavailable where nothing else is there.
    """
    found: dict[str, SessionPlace] = {}
    refused = []
    for agent, path in database.databases(store.path):
        try:
            for place in _of_database(agent, path, database.windows(path, database.state_text(path), patience)):
                _add(found, place)
        except StoreUnanswered:
            raise
        except StoreUnavailable as problem:
            refused.append(problem)
    for agent in _agents(store.path):
        for place in _of_directory(agent, store.path / "agents" / agent / "sessions"):
            _add(found, place)
    if refused and not found:
        raise refused[0]
    return _linked(found)


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


def _add(found: dict[str, SessionPlace], place: SessionPlace) -> None:
    """One that is in a database and in a file counts once, as the database has it; two agents may use one id."""
    known = found.get(place.id)
    if known is None:
        found[place.id] = place
    elif known.agent != place.agent:
        found[f"{place.agent}/{place.id}"] = replace(place, id=f"{place.agent}/{place.id}")


def _of_database(agent: str, path: Path, windows: Iterable[StoredWindow]) -> Iterator[SessionPlace]:
    try:
        stat = os.stat(path)
    except OSError:
        return
    for each in windows:
        yield SessionPlace(
            id=each.id,
            agent=agent,
            key=each.key,
            path=path,
            row_id=each.id,
            state=FileState(stat.st_dev, stat.st_ino, each.events, each.changed * 1_000_000),
            noted=each.noted,
            model=each.model,
            began=each.began / 1000,
            parent=each.previous,
            branched_from=each.forked_from,
            generation=each.generation,
            is_listed=not each.is_copied,
            is_cold=each.is_cold,
            is_current=each.is_current,
        )


def _of_directory(agent: str, directory: Path) -> Iterator[SessionPlace]:
    noted = _index(directory / INDEX)
    paths = {os.path.basename(path): path for path in _files(directory, depth=0)}
    by_file = {f"{each.session_id}{ENDING}": (key, each) for key, each in noted.items() if each.file_name not in paths}
    by_file |= {each.file_name: (key, each) for key, each in noted.items() if each.file_name in paths}
    names = [found for name in paths if (found := _file_name(name)) is not None]
    begun = _conversations(noted, names)
    for name in names:
        path = Path(paths[name.name])
        key, each = by_file.get(name.name, ("", NotedEntry()))
        of_key, parent = begun[name.session_id]
        with suppress(OSError):
            yield SessionPlace(
                name.session_id, agent, key or of_key, path, "", state_of(path), each,
                parent=parent, is_current=bool(key), ended=name.ended,
            )  # fmt: skip


class _FileName(NamedTuple):
    """The name of a session's file: `transcript` is what the session was called while it was written, `ended` when a
    reset put it away, in epoch seconds, 0.0 for one that was not.
    """

    name: str
    session_id: str
    transcript: str
    ended: float = 0.0


def _file_name(name: str) -> _FileName | None:
    """What the name of a file says; None for one that is no session's."""
    if found := _RESET.fullmatch(name):
        ended = seconds(f"{found[2]}{found[3]}:{found[4]}:{found[5]}")
        return _FileName(name, f"{found[1]}{name.removeprefix(found[1] + ENDING)}", found[1], ended)
    if not name.endswith(ENDING) or NO_SESSIONS.search(name):
        return None
    return _FileName(name, name.removesuffix(ENDING), name.removesuffix(ENDING))


def _conversations(noted: Mapping[str, NotedEntry], names: Sequence[_FileName]) -> dict[str, tuple[str, str]]:
    """Of each session in these files the key that it belongs to and the session that it follows, "" for none: a reset
    puts a file away under another name, and the index has the sessions that a conversation had.
    """
    files: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda name: (not name.ended, name.ended)):
        files.setdefault(name.transcript, []).append(name.session_id)
    rows = [(key, dict.fromkeys([*each.family, each.session_id])) for key, each in noted.items()]
    rows += [("", {transcript: None}) for transcript in files]
    found: dict[str, tuple[str, str]] = {}
    for key, transcripts in rows:
        before = ""
        for each in (each for transcript in transcripts for each in files.get(transcript, ())):
            found.setdefault(each, (key, before))
            before = each
    return found


def _index(path: Path) -> Mapping[str, NotedEntry]:
    """The session entries by key that older clients keep beside their files; none where there is no such index."""
    try:
        return _read_index(str(path), state_of(path))
    except OSError:
        return {}


@lru_cache(maxsize=200)
def _read_index(path: str, state: FileState) -> Mapping[str, NotedEntry]:
    if state.size > LARGEST_INDEX:
        return {}
    with open(path, "rb") as file:
        said = decoded(file.read()) or {}
    return {key: noted_of(each) for key, each in said.items() if isinstance(each, dict)}


def _linked(found: Mapping[str, SessionPlace]) -> Places:
    """The sessions with the links that keys and earlier ids say."""
    current = {place.key: place.id for place in found.values() if place.is_current and place.key}
    copied = {place.id: place for place in found.values() if not place.is_listed}
    next_of = {place.parent: place for place in found.values() if place.parent}
    made = {}
    for name, place in found.items():
        parent = place.parent
        while parent in copied:  # what a rewind left is no session of its own
            parent = copied[parent].parent
        spawned = current.get(place.noted.spawned_by, "")
        made[name] = replace(
            place,
            goes_on=current.get(place.key, "") if not place.is_current else "",
            parent=spawned or place.branched_from or parent or current.get(place.noted.parent_key, ""),
            delegated_from=spawned,
            newest=_listed(place, next_of) if not place.is_listed else "",
        )
    return made


def _listed(place: SessionPlace, next_of: Mapping[str, SessionPlace]) -> str:
    """The session that the copies of one lead to, of which no rewind made another; "" where they lead nowhere."""
    seen = set[str]()
    while not place.is_listed and place.id not in seen and place.id in next_of:
        seen.add(place.id)
        place = next_of[place.id]
    return place.id if place.is_listed else ""


# -- pi ----------------------------------------------------------------------------------------------------------------


def pi_sessions(store: Store, patience: float = 0.0) -> Places:
    """Every session of pi's directory by its id."""
    found: dict[str, SessionPlace] = {}
    root = store.path / "sessions"
    for path in _files(root, depth=DEEPEST):
        if not path.endswith(ENDING):
            continue
        with suppress(OSError):
            name, state = pi_id(path), state_of(path)
            if name in found and found[name].state == state:
                continue  # the same file, by way of a link
            if name in found:
                name = os.path.relpath(path, root).removesuffix(ENDING)
            found[name] = SessionPlace(name, "", "", Path(path), "", state, NotedEntry())
    return found


def pi_id(path: str) -> str:
    """The id of the session in a file, by the file's name."""
    name = os.path.basename(path)
    named = _NAMED.fullmatch(name)
    return named[1] if named else name.removesuffix(ENDING)


# -- directories -------------------------------------------------------------------------------------------------------


def _files(directory: Path, depth: int) -> Iterator[str]:
    """The paths of the files of lines in a directory and those below it, by name; also of those with more behind."""
    try:
        changed = os.stat(directory).st_mtime_ns
    except OSError:
        return
    is_settled = time.time() - changed / 1e9 > SETTLED
    folders, names = (_entries if is_settled else _entries.__wrapped__)(str(directory), changed)
    yield from (f"{directory}/{name}" for name in names)
    for folder in folders if depth > 0 else ():
        yield from _files(directory / folder, depth - 1)


@lru_cache(maxsize=20_000)
def _entries(directory: str, changed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the directories and of the files of lines in a directory as it was at this time, those that were
    given another name included.
    """
    folders, names = [], []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if ENDING in entry.name and not entry.name.startswith("."):
                names.append(entry.name)
            elif entry.is_dir() and not (entry.is_symlink() and links.leads_back(entry.path)):
                folders.append(entry.name)
    return tuple(sorted(folders)), tuple(sorted(names))
