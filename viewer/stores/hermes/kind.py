"""Hermes Agent's databases as a kind of store: where they are, how one is opened."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from glob import glob
from pathlib import Path

from django.conf import settings

from viewer.stores.base import Store
from viewer.stores.kind import Agent, StoreKind
from viewer.stores.reader import Reader
from viewer.stores.writer import Writer

from . import opening, schema, schema_postgres
from .agent import HermesAgent
from .reader import open_store
from .writer import HermesWriter


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
        return opening.identity(store)

    def store_version(self, store: Store) -> str:
        return opening.store_version(store)

    def writer(self, store: Store) -> Writer:
        return HermesWriter(store)

    def agent(self, store: Store) -> Agent:
        return HermesAgent(store)

    def make_empty(self, store: Store) -> str:
        if not store.is_on_server:
            schema.create(store.path)
            return f"Made {store.place}."
        letters = schema_postgres.create(store.name, store.url)
        without = (
            "" if letters else " Without pg_trgm, scripts without spaces are searched one message after the other."
        )
        return f"Made the tables in {store.place}.{without}"
