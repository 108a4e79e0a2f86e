"""The common part of kinds of stores whose sessions are trees of entries in a directory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import suppress

from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.home import HomeStores

from . import paths
from .paths import Locations


class TreeStores(HomeStores):
    """The common part of both kinds."""

    @abstractmethod
    def locations(self, store: Store) -> Locations:
        """Every session of a store by its id. Raises StoreUnavailable."""

    def states(self, store: Store) -> Iterable[tuple[str, str, str]]:
        return ((each.id, str(each.path), each.text) for each in self.locations(store).values())

    def version(self, store: Store, session_id: str | None = None) -> str:
        if session_id is None:
            return super().version(store)
        with suppress(NotFound):
            location = paths.find(self.locations(store), store, session_id)
            return f"{location.path} {location.state.text}"
        return ""
