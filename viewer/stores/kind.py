"""A kind of store, and the agent that owns one: what a folder of this package must provide."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import ClassVar
from zoneinfo import ZoneInfo

from viewer.stores.errors import StoreReadOnly, StoreUnanswered

from .base import Session, Store
from .reader import Reader
from .writer import Writer

ENGINE = "The context engine {name} decides what is sent; this page shows the transcript."
LONGEST_ENGINE = 80  # characters of an engine's name
REMEMBERED = 3.0  # seconds for which lists skip a store that did not answer in time; longer if it took long


@dataclass(frozen=True, slots=True)
class OwnRules:
    """What an agent itself does with the file of rules.

    `reads` is the file that it reads anew for each context, however short, worded for the middle of a sentence, "" for
    none. `sections` are those that its settings repeat after a compaction, none where that is switched off; None where
    the settings do not say. `repeats` says in sentences what it does after a compaction of ours, "" for unknown.
    """

    reads: str = ""
    sections: tuple[str, ...] | None = None
    repeats: str = ""


@dataclass(frozen=True, slots=True)
class Noticing:
    """When an agent starts to use a compaction of a session, in sentences. `must_resume`: a client has to resume the
    session first; `keeps_memory`: until then an open process keeps using the context in its memory.
    """

    sentence: str = "The agent reads the new context with its next message."
    must_resume: bool = False
    keeps_memory: bool = False


@dataclass(frozen=True, slots=True)
class Agent:
    """The agent that owns a store, as far as its store and its settings say. `name` is used within a sentence;
    `is_known`: it is known which agent it is, and how to resume a session.
    """

    store: Store
    name: str = "its agent"
    is_known: bool = False

    def threshold(self, model: str, window: int) -> int | None:
        """Tokens in context at which it compacts a session of this model by itself; None if it never does."""
        return None

    def zone(self) -> ZoneInfo | None:
        """The time zone of its dates; None for that of its machine."""
        return None

    def own_rules(self) -> OwnRules:
        """What the agent itself does with the file of rules."""
        return OwnRules()

    def passes_over(self, directory: str, name: str) -> bool:
        """Whether it does not read this file of rules, though it reads what `own_rules` says."""
        return False

    def sends_otherwise(self) -> str:
        """Why, by its settings, a model is sent something else than its sessions say, in sentences; "" where nothing is
        known.
        """
        return ""

    def untried_version(self, session_id: str) -> str:
        """A sentence that a newer version of the agent than the tested ones wrote to the session (`newer_than`); ""
        where none did, or the version is unknown.
        """
        return ""

    def resume_command(self, session_id: str) -> str:
        """What to type into a terminal to continue this session."""
        return ""

    def open_sessions(self) -> Collection[str] | None:
        """Ids of the sessions that a client has open now; None if the agent does not say."""
        return None

    def noticing(self, session: Session) -> Noticing:
        """When the agent starts to use a compaction of the session."""
        return Noticing()


def said_of_engine(name: object, own: str) -> str:
    """A sentence that an engine of this name, in an agent's settings, decides what is sent; "" for the
    agent's `own`.
    """
    named = " ".join(name.split())[:LONGEST_ENGINE] if isinstance(name, str) else ""
    return ENGINE.format(name=named) if named and named != own else ""


def newer_than(tried: str, version: str, agent: str) -> str:
    """`Agent.untried_version` for a session that this version wrote; "" for a version up to `tried`, and for none."""
    if _numbers(version) <= _numbers(tried):
        return ""
    written = ".".join(map(str, _numbers(version)))
    return f"Written by {agent} {written}; this site was tried with versions up to {tried}."


def _numbers(version: str) -> tuple[int, ...]:
    """The first one to three numbers of a version."""
    match = re.match(r"\d{1,9}(\.\d{1,9}){0,2}", version)
    return tuple(map(int, match[0].split("."))) if match else ()


class StoreKind(ABC):
    """One kind. `schemes` are the schemes of its addresses in PALIMPSEST_STORES; with `is_home` an address names the
    home of an agent, in which there may be no session yet.
    """

    name: str
    schemes: tuple[str, ...]
    is_home: ClassVar[bool] = False
    splits: ClassVar[bool] = False  # whether a compaction can put its result into a new session that goes on

    @abstractmethod
    def discover(self) -> list[tuple[str, str]]:
        """(name, address) of the stores of this kind on this machine that nobody configured."""

    @abstractmethod
    def is_here(self, store: Store) -> bool:
        """Whether this machine can reach the store at all."""

    @abstractmethod
    def open(self, store: Store, *, listed: bool) -> AbstractContextManager[Reader]:
        """The store, for one request; with `listed`, waiting as little as possible. Raises StoreUnavailable."""

    @abstractmethod
    def identity(self, store: Store) -> tuple[int, int]:
        """Two numbers that identify the file or database of a store, and change once it is replaced.

        Raises StoreUnavailable.
        """

    @abstractmethod
    def version(self, store: Store, session_id: str | None = None) -> str:
        """A text that changes whenever the store is written, found without opening it; with a session, whenever
        something is written that its messages depend on. Raises StoreUnavailable.
        """

    def remarks(self, store: Store) -> list[str]:
        """What a person should know about an open store: what is left out, and where links are followed; a sentence
        each.
        """
        return []

    def writer(self, store: Store) -> Writer:
        """The object that writes to the store."""
        return Writer(store)

    def agent(self, store: Store) -> Agent:
        """The agent that owns the store."""
        return Agent(store)

    def make_empty(self, store: Store) -> str:
        """Make an empty store if there is none; returns a sentence about what was made. Raises
        StoreError or OSError.
        """
        raise StoreReadOnly("Stores of this kind are made by their agent.")


# By address: the time until which lists skip a store that was slow, and the message they show instead.
_slow: dict[str, tuple[float, str]] = {}


def forget_slow() -> None:
    """Let lists ask every store again."""
    _slow.clear()


@contextmanager
def for_list(store: Store) -> Iterator[None]:
    """Guards a list's question to a store: one that did not answer in time is not asked again for some seconds. Raises
    StoreUnavailable.
    """
    until, message = _slow.get(store.url, (0.0, ""))
    if time.monotonic() < until:
        raise StoreUnanswered(message)
    began = time.monotonic()
    try:
        yield
    except StoreUnanswered as refused:
        waited = time.monotonic() - began
        _slow[store.url] = (time.monotonic() + max(REMEMBERED, 4 * waited), refused.message)
        raise
    _slow.pop(store.url, None)
