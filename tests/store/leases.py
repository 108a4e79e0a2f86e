"""The turn lease for the length of a test's own write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from viewer.holders import new_holder
from viewer.stores.base import Store
from viewer.stores.hermes.guards import release_lease, take_lease


@contextmanager
def turn_lease(store: Store, session_id: str) -> Iterator[str]:
    """Hold the turn lease; yields the holder. Raises SessionBusy."""
    holder = new_holder()
    take_lease(store, session_id, holder)
    try:
        yield holder
    finally:
        release_lease(store, session_id, holder)
