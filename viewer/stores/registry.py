"""Which stores exist, and opening one for reading. The only module that knows which kinds of stores there are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from glob import glob
from pathlib import Path

from django.conf import settings

from viewer.errors import NotFound

from .base import Store
from .hermes import opening, schema, schema_postgres
from .hermes.agent import HermesAgent as Agent
from .hermes.reader import HermesReader as Reader
from .hermes.writer import HermesWriter as Writer

__all__ = [
    "Agent",
    "Reader",
    "Writer",
    "agent_of",
    "all_stores",
    "get_store",
    "is_here",
    "open_store",
    "unread_homes",
    "writer_of",
]


def all_stores() -> list[Store]:
    """Every store: the configured ones, else those found under `HERMES_HOME`, and always the demo store last.

    Looked up at every call, so that a store which appears later is found. A configured store is listed even when its
    file is missing.
    """
    configured = [Store(name, url, "configured") for name, url in settings.STORES.items()]
    demo = Store(_own_name("demo"), f"sqlite:///{settings.DEMO_STORE}", "demo")
    return [*(configured or _found()), demo]


def _own_name(name: str) -> str:
    """A name nobody chose, with this machine's where several share the site's database: each has a store called so."""
    return f"{name}.{settings.MACHINE}" if settings.MACHINE else name


def _found() -> list[Store]:
    home: Path = settings.HERMES_HOME
    named = [("hermes", home / "state.db")]
    profiles = [home / found for found in sorted(glob("profiles/*/state.db", root_dir=home))]
    named += [(f"hermes-{path.parent.name}", path) for path in profiles]
    return [Store(_own_name(name), f"sqlite:///{path}", "found") for name, path in named if os.path.isfile(path)]


def get_store(name: str) -> Store:
    """The store of this name. Raises NotFound."""
    for store in all_stores():
        if store.name == name:
            return store
    raise NotFound(f"There is no store named {name!r}.")


def is_here(store: Store) -> bool:
    """Whether this machine can reach the store at all: for SQLite, whether it has the file and may look at it."""
    return not store.is_file or os.path.isfile(store.path)  # unlike Path.is_file, never raises


def unread_homes() -> list[tuple[str, Path]]:
    """Homes of other agents that exist on this machine and that Palimpsest cannot read yet: (agent, directory)."""
    homes = [("Claude Code", ".claude/projects"), ("Codex", ".codex/sessions"), ("OpenClaw", ".openclaw/agents")]
    return [(agent, path) for agent, place in homes if (path := Path.home() / place).is_dir()]


@contextmanager
def open_store(store: Store, *, listed: bool = False) -> Iterator[Reader]:
    """The sessions of a store, for one request. Raises StoreUnavailable, also when its file was replaced meanwhile.

    For a list of several stores (`listed`) a locked one is hardly waited for.
    """
    with opening.open_store(store, listed=listed) as reader:
        yield Reader(reader.store, reader.con, reader.columns)


def writer_of(store: Store) -> Writer:
    """What may be written to a store."""
    return Writer(store)


def agent_of(store: Store) -> Agent:
    """The agent that owns a store."""
    return Agent(store)


def identity(store: Store) -> tuple[int, int]:
    """Two numbers of the file or database that a store is now, others once it is replaced. Raises StoreUnavailable."""
    return opening.identity(store)


def signature(store: Store) -> str:
    """A text that changes whenever the store is written; the store is not opened for it. Raises StoreUnavailable."""
    return opening.signature(store)


def for_list(store: Store) -> AbstractContextManager[None]:
    """What a list asks of a store: one that did not answer is not asked again for seconds. Raises StoreUnavailable."""
    return opening.for_list(store)


def make_empty(store: Store) -> str:
    """Make an empty store where there is none, as a program of one's own may use it; what was made, as a sentence.

    Raises StoreError or OSError.
    """
    if store.is_file:
        schema.create(store.path)
        return f"Made {store.place}."
    letters = schema_postgres.create(store.name, store.url)
    without = "" if letters else " Without pg_trgm, scripts without spaces are searched one message after the other."
    return f"Made the tables in {store.place}.{without}"
