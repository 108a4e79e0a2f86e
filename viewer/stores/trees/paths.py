"""Where a session is: a file of lines, or rows of a database, and what the client records about it elsewhere."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.jsonl import links
from viewer.stores.jsonl.files import FileState
from viewer.stores.jsonl.listing import number_of

LONGEST_TITLE = 300  # characters


@dataclass(frozen=True, slots=True)
class SessionFields:
    """The fields of a session entry. `tokens` are those in context and `window` the model's, None and 0 for unknown;
    `dollars` is the cost that the client estimates; `spawned_by` and `parent_key` are keys of sessions; `began` in
    epoch seconds, 0.0 for unknown; `family` are the earlier sessions of the conversation, oldest first, as far as
    clients before 2026.8 record them.
    """

    title: str = ""
    model: str = ""
    provider: str = ""
    cwd: str = ""
    window: int = 0
    tokens: int | None = None
    dollars: float | None = None
    spawned_by: str = ""
    parent_key: str = ""
    is_archived: bool = False
    is_pinned: bool = False
    began: float = 0.0
    session_id: str = ""
    file_name: str = ""
    family: tuple[str, ...] = ()


ENDING = ".jsonl"
_NAMED = re.compile(r"[0-9TZ:.-]{10,40}_(.+)\.jsonl")  # pi: <time>_<session>
SETTLED = 2.0  # seconds after which a directory with an unchanged time counts as unchanged


@dataclass(frozen=True, slots=True)
class SessionLocation:
    """One session. `row_id` is its id in the database at `path`, "" where that is a file of lines; `key` is OpenClaw's
    name of a conversation, "" in pi. `parent` is the session that this one follows or began from, `branched_from` the
    one that it is a fork of, `delegated_from` the one that started it as a sub-agent, "" for none. `is_current` says
    that its key continues in it; if the key continues in another session, that is `goes_on`, and `ended` is when a
    reset ended this one, in epoch seconds, 0.0 for never. For a session that a rewind copied, `is_listed` is False, and
    `newest` is the newest of its copies. `is_cold` says that its entries are in an archive.
    """

    id: str
    agent: str
    key: str
    path: Path
    row_id: str
    state: FileState
    fields: SessionFields
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
        """Its number in lists, made from its id."""
        return number_of(self.id)

    @property
    def cache_key(self) -> str:
        """The key of its entries in memory."""
        return f"{self.path}\n{self.row_id}"

    @property
    def text(self) -> str:
        """A text that differs whenever the facts in lists may differ."""
        return f"{self.state.text} {self.generation} {self.fields}"


Locations = Mapping[str, SessionLocation]


def find(locations: Locations, store: Store, session_id: str) -> SessionLocation:
    """The session of this id. Raises NotFound, also for an id that names nothing in the store."""
    if session_id not in locations:
        raise NotFound(f"Store {store.name} has no session {session_id!r}.")
    return locations[session_id]


def pi_id(path: str) -> str:
    """The id of the session in a file, from the file's name."""
    name = os.path.basename(path)
    named = _NAMED.fullmatch(name)
    return named[1] if named else name.removesuffix(ENDING)


def files(directory: Path, depth: int) -> Iterator[str]:
    """The paths of the files of lines in a directory and those below it, by name; also of those with a suffix after
    `.jsonl`.
    """
    try:
        changed = os.stat(directory).st_mtime_ns
    except OSError:
        return
    is_settled = time.time() - changed / 1e9 > SETTLED
    folders, names = (_entries if is_settled else _entries.__wrapped__)(str(directory), changed)
    yield from (f"{directory}/{name}" for name in names)
    for folder in folders if depth > 0 else ():
        yield from files(directory / folder, depth - 1)


@lru_cache(maxsize=20_000)
def _entries(directory: str, changed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the directories and of the files of lines in a directory in its state of this time, including
    renamed ones.
    """
    folders, names = [], []
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if ENDING in entry.name and not entry.name.startswith("."):
                names.append(entry.name)
            elif entry.is_dir() and not (entry.is_symlink() and links.leads_back(entry.path)):
                folders.append(entry.name)
    return tuple(sorted(folders)), tuple(sorted(names))


def source_of(agent: str, key: str) -> str:
    """The agent and the channel of a session, such as "main:telegram"."""
    parts = key.split(":")
    if len(parts) > 2 and parts[0] == "agent":
        return f"{parts[1]}:{parts[2]}"
    return f"{agent}:{parts[0]}" if parts[0] else agent
