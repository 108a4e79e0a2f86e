"""Where sessions lie: `projects/<directory>/<session>.jsonl`, and the sub-agents of a session in its own directory.

A sub-agent's session id is `<session>/<its file below subagents, without .jsonl>`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from viewer.errors import NotFound
from viewer.stores.base import Store
from viewer.stores.jsonl.files import FileState, state_of
from viewer.stores.jsonl.listing import number_of

SESSION = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SUB_AGENT = re.compile(r"(?:[A-Za-z0-9_-]{1,100}/){0,4}agent-[A-Za-z0-9_-]{1,100}")
ENDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class SessionFile:
    """One session's file as a look at the directories found it."""

    id: str
    path: Path
    state: FileState

    @property
    def number(self) -> int:
        """A number of its own in the store, made of its id."""
        return number_of(self.id)

    @property
    def parent(self) -> str:
        """The session whose sub-agent spoke in it, "" for none."""
        return parent_of(self.id)


def parent_of(session_id: str) -> str:
    """The session to whose sub-agents this one belongs, "" for one of its own."""
    return session_id.partition("/")[0] if "/" in session_id else ""


def projects(store: Store) -> Path:
    """The directory with a directory for each working directory."""
    return store.path / "projects"


def all_files(store: Store) -> list[SessionFile]:
    """Every session of a store, in no order. Raises OSError where the directory cannot be listed."""
    return [SessionFile(session_id, Path(path), state) for session_id, path, state in states(store)]


def states(store: Store) -> Iterator[tuple[str, str, FileState]]:
    """Id, path and state of every session's file: a look at a store asks for thousands, so without a `Path` for each.
    Raises OSError where the directory cannot be listed.
    """
    for project in _directories(projects(store)):
        for entry in _entries(project):
            session_id = entry.name.removesuffix(ENDING)
            if not SESSION.fullmatch(session_id):
                continue
            if session_id != entry.name:
                with suppress(OSError):
                    yield session_id, entry.path, state_of(entry.path)
            else:
                below = _below(session_id, Path(entry.path) / "subagents")
                yield from ((each.id, str(each.path), each.state) for each in below)


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
    is_named = SESSION.fullmatch(session) and ("/" not in session_id or _SUB_AGENT.fullmatch(agent))
    if is_named:
        below = Path(session, "subagents", f"{agent}{ENDING}") if agent else Path(f"{session}{ENDING}")
        found = [file for project in _listed(store) for file in _file(session_id, project / below)]
        if found:
            return max(found, key=lambda each: each.state.changed)
    raise NotFound(f"Store {store.name} has no session {session_id!r}.")


def _listed(store: Store) -> list[Path]:
    try:
        return _directories(projects(store))
    except OSError:
        return []


def sub_agents(file: SessionFile) -> list[SessionFile]:
    """The sub-agents of a session, in no order."""
    return list(_below(file.id, file.path.with_suffix("") / "subagents"))
