"""Kinds of stores that are the home of a client: a directory, in which others have the files of all sessions."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

from viewer.stores.base import Store
from viewer.stores.errors import StoreUnavailable
from viewer.stores.jsonl import links
from viewer.stores.kind import StoreKind


class HomeStores(StoreKind):
    """Such a kind. `client` is the client's name, `room` the directory that has all sessions; `endings` are those of
    their files.
    """

    is_home: ClassVar[bool] = True
    client: ClassVar[str]
    room: ClassVar[str]
    endings: ClassVar[tuple[str, ...]] = (".jsonl",)

    @abstractmethod
    def home(self) -> Path:
        """Where the client keeps its files on this machine."""

    @abstractmethod
    def states(self, store: Store) -> Iterable[object]:
        """A value for each file or database, whose `repr` differs after every write. Raises OSError."""

    def rooms(self, home: Path) -> list[Path]:
        """The directories of a home that have sessions."""
        return [home / self.room]

    def discover(self) -> list[tuple[str, str]]:
        home = self.home()
        return [(self.name, f"{self.schemes[0][:-1]}{home}")] if self.has_room(home) else []

    def is_here(self, store: Store) -> bool:
        return self.has_room(store.path)

    def has_room(self, home: Path) -> bool:
        """Whether a home has a directory of sessions."""
        return any(os.path.isdir(room) for room in self.rooms(home))

    def identity(self, store: Store) -> tuple[int, int]:
        """The numbers of its first room that is there."""
        for room in self.rooms(store.path):
            with suppress(OSError):
                status = os.stat(room)
                return status.st_dev, status.st_ino
        raise StoreUnavailable(f"Store {store.name}: {store.path} has no sessions of {self.client} that can be read.")

    def version(self, store: Store, session_id: str | None = None) -> str:
        self.identity(store)
        with suppress(OSError):
            return blake2b(repr(sorted(map(repr, self.states(store)))).encode(), digest_size=16).hexdigest()
        return ""

    def remarks(self, store: Store) -> list[str]:
        rooms = self.rooms(store.path)
        return [*links.linked(*rooms), *(each for room in rooms for each in links.remarks(str(room), self.endings))]
