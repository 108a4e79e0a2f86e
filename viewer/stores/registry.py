"""Which stores exist, and what one of them can be asked. The only module that knows all kinds of stores."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from django.conf import settings

from viewer.stores.errors import NotFound

from .base import Store
from .claude_code.kind import ClaudeCodeStores
from .codex.kind import CodexStores
from .gemini.kind import GeminiStores
from .hermes.kind import Hermes
from .kind import Agent, StoreKind, for_list
from .openclaw.kind import OpenClawStores
from .opencode.kind import OpenCodeStores
from .pi.kind import PiStores
from .qwen.kind import QwenStores
from .reader import Reader
from .writer import Writer

__all__ = [
    "KINDS", "Agent", "Reader", "Writer", "agent_of", "all_stores", "for_list", "get_store", "identity", "is_here",
    "is_named_rightly", "is_of_a_kind", "remarks", "make_empty", "open_store", "splits", "version_of",
    "writer_of",
]  # fmt: skip

KINDS: list[StoreKind] = [
    Hermes(), ClaudeCodeStores(), CodexStores(), OpenClawStores(), PiStores(), GeminiStores(), QwenStores(),
    OpenCodeStores(),
]  # fmt: skip


def all_stores() -> list[Store]:
    """Every store: the configured ones, else those found on this machine, and always the demo store last.

    Looked up at every call, so that a store which appears later is found. A configured store is listed even when its
    file is missing.
    """
    configured = [Store(name, url, "configured") for name, url in settings.STORES.items()]
    return [*(configured or _discovered()), Store(_own_name("demo"), f"sqlite:///{settings.DEMO_STORE}", "demo")]


def _discovered() -> list[Store]:
    return [Store(_own_name(name), url, "found") for kind in KINDS for name, url in kind.discover()]


def _own_name(name: str) -> str:
    """A default name; with this machine's name in it where several machines share the site's database, because each has
    a store of this name.
    """
    return f"{name}.{settings.MACHINE}" if settings.MACHINE else name


def get_store(name: str) -> Store:
    """The store of this name. Raises NotFound."""
    for store in all_stores():
        if store.name == name:
            return store
    raise NotFound(f"There is no store named {name!r}.")


# -- one store -------------------------------------------------------------------------------------------------------


def kind_of(store: Store) -> StoreKind:
    """The kind of a store, by its address. Raises NotFound."""
    for kind in KINDS:
        if store.url.startswith(kind.schemes):
            return kind
    raise NotFound(f"Store {store.name}: no kind of store has such an address.")


def is_of_a_kind(store: Store) -> bool:
    """Whether there is a kind for its address."""
    return any(store.url.startswith(kind.schemes) for kind in KINDS)


def splits(store: Store) -> bool:
    """Whether a compaction can put its result into a new session here (`changes.MODES`). Raises NotFound."""
    return kind_of(store).splits


def open_store(store: Store, *, listed: bool = False) -> AbstractContextManager[Reader]:
    """The sessions of a store, for one request. Raises StoreUnavailable, also when its file was replaced meanwhile.

    For a list of several stores (`listed`) a locked one is hardly waited for.
    """
    return kind_of(store).open(store, listed=listed)


def is_here(store: Store) -> bool:
    """Whether this machine can reach the store at all."""
    return kind_of(store).is_here(store)


def is_named_rightly(store: Store) -> bool:
    """Whether its address names something that exists, even if it has no session yet."""
    return is_here(store) or (kind_of(store).is_home and os.path.isdir(store.path))


def identity(store: Store) -> tuple[int, int]:
    """Two numbers that identify the file or database of a store, and change once it is replaced. Raises
    StoreUnavailable.
    """
    return kind_of(store).identity(store)


def version_of(store: Store, session_id: str | None = None) -> str:
    """A text that changes whenever the store is written, or what the session's messages depend on, found without
    opening it. Raises StoreUnavailable.
    """
    return kind_of(store).version(store, session_id)


def remarks(store: Store) -> list[str]:
    """What a person should know about an open store: what is left out, and where links are followed; a
    sentence each.
    """
    return kind_of(store).remarks(store)


def writer_of(store: Store) -> Writer:
    """The object that writes to a store."""
    return kind_of(store).writer(store)


def agent_of(store: Store) -> Agent:
    """The agent that owns a store."""
    return kind_of(store).agent(store)


def make_empty(store: Store) -> str:
    """Make an empty store if there is none; returns a sentence about what was made. Raises StoreError or OSError."""
    return kind_of(store).make_empty(store)
