"""The locks of a session, held for the length of a test's own write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from viewer.stores.base import Store
from viewer.stores.hermes.presence import leased
from viewer.stores.lock_owners import new_holder
from viewer.stores.writer import Writer

HOLDER = "pid=1:agent=palimpsest:nonce=1"


@contextmanager
def turn_lease(store: Store, session_id: str) -> Iterator[str]:
    """Hold the turn lease; yields the holder. Raises SessionBusy."""
    holder = new_holder()
    with leased(store, session_id, holder):
        yield holder


def locked(writer: Writer, session_id: str) -> AbstractContextManager[None]:
    """Hold a session, as the site does while it writes."""
    return writer.hold(session_id, HOLDER)
