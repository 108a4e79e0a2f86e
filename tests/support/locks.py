"""Writing to a session as the site does: with its lock held."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from viewer.stores.writer import Writer

HOLDER = "pid=1:agent=palimpsest:nonce=1"


@contextmanager
def locked(writer: Writer, session_id: str) -> Iterator[None]:
    writer.take_lock(session_id, HOLDER)
    try:
        yield
    finally:
        writer.release_lock(session_id, HOLDER)
