"""The common part of kinds of stores whose sessions are trees of entries in a directory."""

from __future__ import annotations

import os
from abc import abstractmethod
from contextlib import suppress
from hashlib import blake2b
from typing import ClassVar

from viewer.stores.base import Store
from viewer.stores.errors import NotFound, StoreUnavailable
from viewer.stores.kind import StoreKind

from . import paths
from .paths import Places


class TreeStores(StoreKind):
    """The common part of both kinds."""

    is_home: ClassVar[bool] = True
    room: str  # the directory that a store of this kind has

    @abstractmethod
    def places(self, store: Store) -> Places:
        """Every session of a store by its id. Raises StoreUnavailable."""

    def is_here(self, store: Store) -> bool:
        return os.path.isdir(store.path / self.room)

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
            location = paths.find(self.places(store), store, session_id)
            return f"{location.path} {location.state.text}"
        return ""
