"""What a store says for lists."""

from __future__ import annotations

from viewer.stores.listing import HIGHEST, Activity
from viewer.stores.reader import Reader


def newest_ids(reader: Reader, messages: int = 100) -> list[str]:
    """The sessions of the newest messages, newest first."""
    found = reader.listing.changed("", messages, messages)
    assert found is not None
    return list(found.ids)


def all_ids(reader: Reader, limit: int = 100) -> list[str]:
    """The sessions by their numbers, the highest first."""
    return [session_id for _, session_id in reader.listing.page(HIGHEST, limit) if session_id is not None]


def activity_of(reader: Reader, session_id: str) -> Activity:
    """What lists show of a session's messages."""
    return reader.listing.activity(reader.listing.sessions([session_id])[session_id], None)
