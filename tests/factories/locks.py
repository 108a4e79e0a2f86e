"""The locks of a session, held for the length of a test's own write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from viewer.stores.base import Store
from viewer.stores.hermes.presence import release_lease, take_lease
from viewer.stores.lock_owners import new_holder
from viewer.stores.writer import Writer

HOLDER = "pid=1:agent=palimpsest:nonce=1"


@contextmanager
def turn_lease(store: Store, session_id: str) -> Iterator[str]:
    """Hold the turn lease; yields the holder. Raises SessionBusy."""
    holder = new_holder()
    take_lease(store, session_id, holder)
    try:
        yield holder
    finally:
        release_lease(store, session_id, holder)


@contextmanager
def locked(writer: Writer, session_id: str) -> Iterator[None]:
    """Hold the lock of a session, as the site does while it writes."""
    writer.take_lock(session_id, HOLDER)
    try:
        yield
    finally:
        writer.release_lock(session_id, HOLDER)
