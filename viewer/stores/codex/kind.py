"""Codex' directory as a kind of store: where it is, how it is opened, how the client goes on with a session."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from django.conf import settings

from viewer.stores.base import Session, Store
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.jsonl import links
from viewer.stores.jsonl.compressed import ENDING
from viewer.stores.kind import Agent, StoreKind, newer_than
from viewer.stores.reader import Reader
from viewer.stores.writer import Writer

from . import client_settings, clients, places
from .facts import facts_of, head_of
from .reader import CodexReader
from .writer import CodexWriter

TRIED = "0.171.0"  # the newest version whose sessions were read, compacted and resumed (docs/codex.md)


@dataclass(frozen=True, slots=True)
class Codex(Agent):
    """The client that owns the sessions."""

    @property
    def name(self) -> str:
        return "Codex"

    @property
    def is_known(self) -> bool:
        return True

    def threshold(self, model: str, window: int) -> int | None:
        return client_settings.threshold(self.store, window)

    def reads_rules_by_itself(self) -> str:
        return "AGENTS.md"

    def resume_command(self, session_id: str) -> str:
        """With the directory that it worked in; "" for a sub-agent's session, which nobody resumes."""
        command = f"codex resume {shlex.quote(session_id)}"
        try:
            known = places.threads(self.store)
            found = facts_of(places.find(self.store, session_id, known), known)
        except (NotFound, OSError):
            return command
        if found.head.is_sub_agent:
            return ""
        return f"cd {shlex.quote(found.cwd)} && {command}" if found.cwd else command

    def untried_version(self, session_id: str) -> str:
        try:
            head = head_of(places.find(self.store, session_id).rollout.path)
        except (NotFound, OSError):
            return ""
        return newer_than(TRIED, head.version, self.name)

    def open_sessions(self) -> Collection[str] | None:
        return clients.open_sessions(self.store)

    def notices(self, session: Session) -> str:
        """No client has the session open then: a compaction would have been refused."""
        return f"Codex goes on from it when the session is resumed: {self.resume_command(session.id)}"


class CodexStores(StoreKind):
    """A home of Codex, `~/.codex` where nothing else is said."""

    name = "codex"
    schemes = ("codex:///",)
    is_home: ClassVar[bool] = True

    def discover(self) -> list[tuple[str, str]]:
        home: Path = settings.CODEX_HOME
        return [("codex", f"codex://{home}")] if any(os.path.isdir(home / room) for room in places.ROOMS) else []

    def remarks(self, store: Store) -> list[str]:
        rooms = [store.path / room for room in places.ROOMS]
        said = [each for room in rooms for each in links.remarks(str(room), (".jsonl", f".jsonl{ENDING}"))]
        return [*links.linked(*rooms), *said]

    def is_here(self, store: Store) -> bool:
        return any(os.path.isdir(store.path / room) for room in places.ROOMS)

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[Reader]:
        self.identity(store)
        yield CodexReader(store)

    def identity(self, store: Store) -> tuple[int, int]:
        for room in places.ROOMS:
            with suppress(OSError):
                found = os.stat(store.path / room)
                return found.st_dev, found.st_ino
        raise StoreUnavailable(f"Store {store.name}: {store.path} has no sessions of Codex that can be read.")

    def store_version(self, store: Store) -> str:
        """Of the places, sizes and times of all current files, and of their names."""
        self.identity(store)
        files = sorted((each.id, each.rollout.path, each.state.text, each.noted) for each in places.all_files(store))
        return blake2b(repr(files).encode(), digest_size=16).hexdigest()

    def session_version(self, store: Store, session_id: str) -> str:
        """Of its current file: what changes in those before it, an undo, changes the time of that too."""
        with suppress(NotFound):
            file = places.find(store, session_id)
            return f"{file.rollout.path} {file.state.text}"
        return ""

    def writer(self, store: Store) -> Writer:
        return CodexWriter(store)

    def agent(self, store: Store) -> Agent:
        return Codex(store)
