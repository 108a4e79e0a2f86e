"""The directories of OpenClaw and pi as kinds of stores: where they are, how one is opened, how a
session is resumed.
"""

from __future__ import annotations

import os
import re
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from django.conf import settings

from viewer.stores.base import Session, Store
from viewer.stores.clean_text import shell_word
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.jsonl import links
from viewer.stores.kind import Agent, StoreKind, said_of_engine
from viewer.stores.reader import Reader
from viewer.stores.writer import Writer

from . import client_settings, database, facts, places
from .openclaw_reader import OpenClawReader
from .openclaw_writer import OpenClawWriter
from .pi_reader import PiReader
from .pi_writer import PiWriter
from .places import Places
from .reader import TreeReader

PRUNES = (
    "OpenClaw is set to shorten or leave out old tool results in what it sends (contextPruning); this page shows the "
    "transcript, which keeps them whole."
)
PROFILE = "-"  # between the name of OpenClaw's directory and that of a profile
_PROFILES = re.compile(r"-[\w.-]{1,60}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pi(Agent):
    """The client that owns pi's sessions."""

    @property
    def name(self) -> str:
        return "pi"

    @property
    def is_known(self) -> bool:
        return True

    def reads_rules_by_itself(self) -> str:
        return "AGENTS.md"

    def must_resume(self, session: Session) -> bool:
        return True

    def picks_up(self, session: Session) -> str:
        return (
            "A pi that has the session open goes on with what it has in memory, and the compaction stays without "
            "effect. Otherwise pi goes on from it when the session is resumed."
        )

    def resume_command(self, session_id: str) -> str:
        """With the directory that it worked in."""
        try:
            location = places.find(places.pi_sessions(self.store), self.store, session_id)
            cwd = facts.facts_of(location, None).cwd
        except (NotFound, OSError):
            return ""
        command = f"pi --session {shell_word(str(location.path))}"
        return f"cd {shell_word(cwd)} && {command}" if cwd else command


@dataclass(frozen=True, slots=True)
class OpenClaw(Agent):
    """The client that owns OpenClaw's sessions."""

    @property
    def name(self) -> str:
        return "OpenClaw"

    @property
    def is_known(self) -> bool:
        return True

    def rule_sections(self) -> tuple[str, ...] | None:
        return client_settings.rule_sections(self.store.path)

    def repeats_rules(self) -> str:
        own = self.rule_sections()
        if not own:
            repeats = "Its own settings (postCompactionSections) name no sections to repeat after a compaction."
        else:
            repeats = f"It repeats {' and '.join(own)} (postCompactionSections) after compactions of its own alone."
        return f"OpenClaw sends AGENTS.md with each request. {repeats} After this one, the summary carries them."

    def sends_otherwise(self) -> str:
        home = self.store.path
        engine = said_of_engine(client_settings.context_engine(home), client_settings.OWN_ENGINE)
        return " ".join(filter(None, (engine, PRUNES if client_settings.prunes(home) else "")))

    def resume_command(self, session_id: str) -> str:
        """The command of the terminal client with the key of the session; "" where the key no longer
        continues in it.
        """
        try:
            location = places.find(places.openclaw_sessions(self.store), self.store, session_id)
        except (NotFound, StoreUnavailable):
            return ""
        if not location.key or not location.is_current:
            return ""
        name = self.store.path.name
        profile = name.partition(PROFILE)[2] if name.startswith(".openclaw") else ""
        return (
            f"openclaw {f'--profile {shell_word(profile)} ' if profile else ''}tui --session {shell_word(location.key)}"
        )


class TreeStores(StoreKind):
    """The common part of both kinds."""

    is_home: ClassVar[bool] = True
    room: str  # the directory that a store of this kind has

    @abstractmethod
    def places(self, store: Store) -> Places:
        """Every session of a store by its id. Raises StoreUnavailable."""

    @abstractmethod
    def reader(self, store: Store, connections: ExitStack, patience: float) -> TreeReader:
        """An open store."""

    def is_here(self, store: Store) -> bool:
        return os.path.isdir(store.path / self.room)

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[Reader]:
        self.identity(store)
        patience = database.LIST_SECONDS if listed else database.BUSY_SECONDS
        try:
            with ExitStack() as connections:
                yield self.reader(store, connections, patience)
        except sqlite3.Error as problem:
            raise database.unavailable(store.path, problem) from problem

    def identity(self, store: Store) -> tuple[int, int]:
        try:
            status = os.stat(store.path / self.room)
        except OSError as problem:
            message = f"Store {store.name}: {store.path} has no sessions of this kind that can be read."
            raise StoreUnavailable(message) from problem
        return status.st_dev, status.st_ino

    def store_version(self, store: Store) -> str:
        """Made from the sizes and times of all databases and files."""
        self.identity(store)
        states = sorted((each.id, str(each.path), each.text) for each in self.places(store).values())
        return blake2b(repr(states).encode("utf-8", "replace"), digest_size=16).hexdigest()

    def session_version(self, store: Store, session_id: str) -> str:
        with suppress(NotFound):
            location = places.find(self.places(store), store, session_id)
            return database.state_text(location.path) if location.row_id else f"{location.path} {location.state.text}"
        return ""


class PiStores(TreeStores):
    """pi's directory, `~/.pi/agent` by default."""

    name = "pi"
    schemes = ("pi:///",)
    room = "sessions"

    def discover(self) -> list[tuple[str, str]]:
        home: Path = settings.PI_HOME
        return [("pi", f"pi://{home}")] if os.path.isdir(home / self.room) else []

    def places(self, store: Store) -> Places:
        return places.pi_sessions(store)

    def reader(self, store: Store, connections: ExitStack, patience: float) -> TreeReader:
        return PiReader(store, connections, patience)

    def remarks(self, store: Store) -> list[str]:
        room = store.path / self.room
        return [*links.linked(room), *links.remarks(str(room), (places.ENDING,))]

    def writer(self, store: Store) -> Writer:
        return PiWriter(store)

    def agent(self, store: Store) -> Agent:
        return Pi(store)


class OpenClawStores(TreeStores):
    """OpenClaw's state directory, `~/.openclaw` by default, and those of its profiles next to it."""

    name = "openclaw"
    schemes = ("openclaw:///",)
    room = "agents"

    def discover(self) -> list[tuple[str, str]]:
        home: Path = settings.OPENCLAW_HOME
        homes = [("openclaw", home)]
        with suppress(OSError):
            names = sorted(
                each for each in os.listdir(home.parent) if _PROFILES.fullmatch(each.removeprefix(home.name))
            )
            homes += [(f"openclaw-{each.partition(PROFILE)[2]}", home.parent / each) for each in names]
        return [(name, f"openclaw://{path}") for name, path in homes if os.path.isdir(path / self.room)]

    def places(self, store: Store) -> Places:
        return places.openclaw_sessions(store)

    def reader(self, store: Store, connections: ExitStack, patience: float) -> TreeReader:
        return OpenClawReader(store, connections, patience)

    def remarks(self, store: Store) -> list[str]:
        return list(places.remarks(store))

    def writer(self, store: Store) -> Writer:
        return OpenClawWriter(store)

    def agent(self, store: Store) -> Agent:
        return OpenClaw(store)
