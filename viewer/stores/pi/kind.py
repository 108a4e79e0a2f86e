"""pi's directory as a kind of store: where it is, how one is opened, how a session is resumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from viewer.stores.base import Session, Store
from viewer.stores.clean_text import shell_word
from viewer.stores.errors import NotFound
from viewer.stores.kind import Agent, Noticing, OwnRules
from viewer.stores.reader import Reader
from viewer.stores.trees import facts
from viewer.stores.trees import paths as tree_paths
from viewer.stores.trees.kind import TreeStores
from viewer.stores.trees.paths import Locations
from viewer.stores.writer import Writer

from . import paths
from .reader import PiReader
from .writer import PiWriter


@dataclass(frozen=True, slots=True)
class Pi(Agent):
    """The client that owns pi's sessions."""

    name: str = "pi"
    is_known: bool = True

    def own_rules(self) -> OwnRules:
        return OwnRules(reads="AGENTS.md")

    def noticing(self, session: Session) -> Noticing:
        return Noticing(
            "A pi that has the session open goes on with what it has in memory, and the compaction stays without "
            "effect. Otherwise pi goes on from it when the session is resumed.",
            must_resume=True,
        )

    def resume_command(self, session_id: str) -> str:
        """With the directory that it worked in."""
        try:
            location = tree_paths.find(paths.pi_sessions(self.store), self.store, session_id)
            cwd = facts.facts_of(location).cwd
        except (NotFound, OSError):
            return ""
        command = f"pi --session {shell_word(str(location.path))}"
        return f"cd {shell_word(cwd)} && {command}" if cwd else command


class PiStores(TreeStores):
    """pi's directory, `~/.pi/agent` by default."""

    name = "pi"
    schemes = ("pi:///",)
    client, room = "pi", "sessions"

    def home(self) -> Path:
        home: Path = settings.PI_HOME
        return home

    def locations(self, store: Store) -> Locations:
        return paths.pi_sessions(store)

    @contextmanager
    def open(self, store: Store, *, listed: bool) -> Iterator[Reader]:
        self.identity(store)
        yield PiReader(store)

    def writer(self, store: Store) -> Writer:
        return PiWriter(store)

    def agent(self, store: Store) -> Agent:
        return Pi(store)
