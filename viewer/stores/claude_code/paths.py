"""Where sessions are stored: `projects/<directory>/<session>.jsonl`, and a session's sub-agents in its own directory.

A sub-agent's session id is `<session>/<its file below subagents, without .jsonl>`. Clients of 2.0 wrote that file next
to the session's (`agent-<id>.jsonl`), those of 1.0 inside it: `<session>/sidechain-<its first record>`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.jsonl.files import FileState, beginning, state_of
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.listing import number_of

from . import sidechains

SESSION = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
SIDECHAIN = "sidechain-"
_SUB_AGENT = re.compile(rf"(?:[A-Za-z0-9_-]{{1,100}}/){{0,4}}agent-[A-Za-z0-9_-]{{1,100}}|{SIDECHAIN}{SESSION.pattern}")
START = 65_536  # bytes of a sub-agent's file that are searched for its session
REMEMBERED = 100_000  # such files
ENDING = ".jsonl"
ROOM = "projects"  # the directory that contains a directory for each working directory
_BESIDE = "agent-"


@dataclass(frozen=True, slots=True)
class SessionFile:
    """One session's file as it was when the directories were listed."""

    id: str
    path: Path
    state: FileState

    @property
    def number(self) -> int:
        """A number that identifies it in the store, made from its id."""
        return number_of(self.id)

    @property
    def sidechain(self) -> str:
        """The first record, if it is only a part of a session's file (`sidechains`), "" for a whole file."""
        return self.id.partition(f"/{SIDECHAIN}")[2]

    @property
    def parent(self) -> str:
        """The session that started it as a sub-agent, "" for none."""
        return parent_of(self.id)


def parent_of(session_id: str) -> str:
    """The session that started this one as a sub-agent, "" for a normal session."""
    return session_id.partition("/")[0] if "/" in session_id else ""


def projects(store: Store) -> Path:
    """The directory that contains a directory for each working directory."""
    return store.path / ROOM


def all_files(store: Store) -> list[SessionFile]:
    """Every session of a store, in no order. Raises OSError where the directory cannot be listed."""
    return [SessionFile(session_id, Path(path), state) for session_id, path, state in states(store)]


def states(store: Store) -> Iterator[tuple[str, str, FileState]]:
    """Id, path and state of every session's file. There may be thousands, so they have no `Path` objects. For a session
    with a file in several directories, the newest. Raises OSError where the directory cannot be listed.
    """
    newest: dict[str, tuple[int, str, FileState]] = {}
    for project in _directories(projects(store)):
        for session_id, path, state in _in_project(project):
            newest[session_id] = max(newest.get(session_id, _NOWHERE), (state.changed, path, state), key=_age)
    return ((session_id, path, state) for session_id, (_, path, state) in newest.items())


def file_states(store: Store) -> Iterator[tuple[str, FileState]]:
    """Path and state of every file that contains sessions, without reading it. Raises OSError where the directory
    cannot be listed.
    """
    for project in _directories(projects(store)):
        yield from ((path, state) for _, path, state in _files_in(project))


_NOWHERE = (-1, "", FileState(0, 0, 0, -1))


def _age(candidate: tuple[int, str, FileState]) -> tuple[int, str]:
    """The order of one session's files in several directories: the newest is the session's."""
    return candidate[:2]


def _in_project(project: Path) -> Iterator[tuple[str, str, FileState]]:
    for name, path, state in _files_in(project):
        if name.startswith(_BESIDE):
            with suppress(OSError, LookupError):
                yield f"{_owner(path, state.device, state.inode)}/{name}", path, state
            continue
        if state.size or "/" in name:  # a client that was ended at its start leaves an empty session
            yield name, path, state
        if "/" not in name:
            yield from ((f"{name}/{SIDECHAIN}{uuid}", path, state) for uuid in _sidechains(path, state))


def _files_in(project: Path) -> Iterator[tuple[str, str, FileState]]:
    """Name, path and state of the files of a directory, without reading them. The name is the session's id, except for
    a sub-agent's file next to it.
    """
    for entry in _entries(project):
        name = entry.name.removesuffix(ENDING)
        with suppress(OSError):
            if SESSION.fullmatch(name) and name == entry.name:
                below = _below(name, Path(entry.path) / "subagents")
                yield from ((each.id, str(each.path), each.state) for each in below)
            elif name != entry.name and (SESSION.fullmatch(name) or _is_siblings(name)):
                yield name, entry.path, state_of(entry.path)


def _is_siblings(name: str) -> bool:
    """Whether this is the name of a sub-agent's file next to its session's."""
    return name.startswith(_BESIDE) and _SUB_AGENT.fullmatch(name) is not None


def _sidechains(path: str, state: FileState) -> Iterable[str]:
    """The ids of the sidechains in a session's file that a URL can contain."""
    try:
        return filter(SESSION.fullmatch, sidechains.in_file(path, state))
    except OSError:
        return ()


@lru_cache(maxsize=REMEMBERED)
def _owner(path: str, device: int, inode: int) -> str:
    """The session whose sub-agent wrote this file next to it, as clients of 2.0 did. Raises OSError, and LookupError
    where no line says it (yet).
    """
    values = filter(None, map(decoded, beginning(path, START).split(b"\n")))
    named: list[str] = [value["sessionId"] for value in values if isinstance(value.get("sessionId"), str)]
    return list(filter(SESSION.fullmatch, named))[0]


def _below(session_id: str, directory: Path) -> Iterator[SessionFile]:
    if not directory.is_dir():
        return
    for path in directory.rglob(f"agent-*{ENDING}"):
        relative = path.relative_to(directory).as_posix().removesuffix(ENDING)
        if _SUB_AGENT.fullmatch(relative):
            yield from _file(f"{session_id}/{relative}", path)


def _file(session_id: str, path: Path) -> Iterator[SessionFile]:
    try:
        yield SessionFile(session_id, path, state_of(path))
    except OSError:
        return


def _entries(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []


def _directories(directory: Path) -> list[Path]:
    with os.scandir(directory) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir()]


def find(store: Store, session_id: str) -> SessionFile:
    """The file of a session. Raises NotFound, also for an id that names no file of the store."""
    session, _, agent = session_id.partition("/")
    if SESSION.fullmatch(session) and ("/" not in session_id or _SUB_AGENT.fullmatch(agent)):
        files = [file for project in _listed(store) for file in _at(project, session_id, session, agent)]
        if files:
            return max(files, key=lambda each: (each.state.changed, str(each.path)))
    raise NotFound(f"Store {store.name} has no session {session_id!r}.")


def _at(project: Path, session_id: str, session: str, agent: str) -> Iterator[SessionFile]:
    """The file of a session in a directory, or of its sub-agent, which may be in one of three places."""
    if not agent:
        yield from _file(session_id, project / f"{session}{ENDING}")
    elif agent.startswith(SIDECHAIN):
        for file in _file(session_id, project / f"{session}{ENDING}"):
            if file.sidechain in _sidechains(str(file.path), file.state):
                yield file
    else:
        yield from _file(session_id, project / session / "subagents" / f"{agent}{ENDING}")
        yield from _next_to_session(project, session_id, session, agent)


def _next_to_session(project: Path, session_id: str, session: str, agent: str) -> Iterator[SessionFile]:
    """The file of a session's sub-agent next to the session's own."""
    for file in _file(session_id, project / f"{agent}{ENDING}") if "/" not in agent else ():
        with suppress(OSError, LookupError):
            if _owner(str(file.path), file.state.device, file.state.inode) == session:
                yield file


def _listed(store: Store) -> list[Path]:
    try:
        return _directories(projects(store))
    except OSError:
        return []


def sub_agents(file: SessionFile) -> list[SessionFile]:
    """The sub-agents of a session, in no order."""
    within = [
        SessionFile(f"{file.id}/{SIDECHAIN}{uuid}", file.path, file.state)
        for uuid in _sidechains(str(file.path), file.state)
    ]
    entries = _entries(file.path.parent)
    names = (entry.name.removesuffix(ENDING) for entry in entries if entry.name.endswith(ENDING))
    siblings = [
        each
        for name in names
        if _is_siblings(name)
        for each in _next_to_session(file.path.parent, f"{file.id}/{name}", file.id, name)
    ]
    return [*_below(file.id, file.path.with_suffix("") / "subagents"), *within, *siblings]
