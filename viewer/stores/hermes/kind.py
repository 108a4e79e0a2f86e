"""Hermes Agent's databases as a kind of store: where they are, how one is opened, and the agent that owns it."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from threading import Lock
from zoneinfo import ZoneInfo

from cachetools import TTLCache, cached
from django.conf import settings

from viewer.stores.base import Session, Store
from viewer.stores.clean_text import shell_word
from viewer.stores.errors import StoreError
from viewer.stores.kind import Agent, Noticing, StoreKind, said_of_engine
from viewer.stores.reader import Reader
from viewer.stores.writer import Writer

from . import agent_config, database, listing, schema, schema_postgres
from .reader import open_store
from .writer import HermesWriter

LOOKED_AGAIN = 600.0  # seconds between two looks for what is left out: it reads an index of all sessions
# Sources whose open process keeps its own context in memory until the session is resumed.
_HELD_IN_MEMORY = frozenset({"cli", "tui", "desktop", "acp", "local"})
HELD = "If the session is open in a terminal, the agent goes on with what it has in memory until it is resumed."


@dataclass(frozen=True, slots=True)
class HermesAgent(Agent):
    """Hermes Agent, as far as its store and its settings say."""

    name: str = "Hermes"
    is_known: bool = True

    def threshold(self, model: str, window: int) -> int | None:
        return agent_config.threshold(self.store, model, window)

    def zone(self) -> ZoneInfo | None:
        return agent_config.zone(self.store)

    def sends_otherwise(self) -> str:
        return said_of_engine(agent_config.engine(self.store), agent_config.OWN_ENGINE)

    def resume_command(self, session_id: str) -> str:
        return f"hermes --resume {shell_word(session_id)}"

    def noticing(self, session: Session) -> Noticing:
        if session.source.lower() in _HELD_IN_MEMORY and not self.store.is_managed:
            return Noticing(HELD, must_resume=True, keeps_memory=True)
        return Noticing()


@cached(TTLCache(100, LOOKED_AGAIN), lock=Lock())
def _remarks(store: Store) -> list[str]:
    with suppress(StoreError), database.open_store(store, listed=True) as reader:
        return listing.remarks(reader)
    return []


class Hermes(StoreKind):
    """`state.db` of Hermes Agent, and the same tables in PostgreSQL for a person's own programs."""

    name = "hermes"
    schemes = ("sqlite:///", "postgres://", "postgresql://")
    splits = True

    def discover(self) -> list[tuple[str, str]]:
        home: Path = settings.HERMES_HOME
        named = [("hermes", home / "state.db")]
        profiles = [home / relative for relative in sorted(glob("profiles/*/state.db", root_dir=home))]
        named += [(f"hermes-{path.parent.name}", path) for path in profiles]
        return [(name, f"sqlite:///{path}") for name, path in named if os.path.isfile(path)]

    def is_here(self, store: Store) -> bool:
        return store.is_on_server or os.path.isfile(store.path)  # unlike Path.is_file, never raises

    def open(self, store: Store, *, listed: bool) -> AbstractContextManager[Reader]:
        return open_store(store, listed=listed)

    def identity(self, store: Store) -> tuple[int, int]:
        return database.identity(store)

    def version(self, store: Store, session_id: str | None = None) -> str:
        return database.store_version(store)

    def remarks(self, store: Store) -> list[str]:
        return _remarks(store)

    def writer(self, store: Store) -> Writer:
        return HermesWriter(store)

    def agent(self, store: Store) -> Agent:
        """No known agent writes to PostgreSQL."""
        return HermesAgent(store, "its agent", is_known=False) if store.is_on_server else HermesAgent(store)

    def make_empty(self, store: Store) -> str:
        if not store.is_on_server:
            schema.create(store.path)
            return f"Made {store.place}."
        letters = schema_postgres.create(store.name, store.url)
        without = (
            "" if letters else " Without pg_trgm, scripts without spaces are searched one message after the other."
        )
        return f"Made the tables in {store.place}.{without}"
