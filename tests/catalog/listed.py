"""The sessions of a store that a list would show, found without the catalog."""

from __future__ import annotations

from viewer.stores.hermes import sessions
from viewer.stores.hermes.reader import HermesReader as Reader


def tips(reader: Reader) -> list[str]:
    """Ids of all sessions that no part follows."""
    ids = [row[0] for row in reader.con.execute("SELECT id FROM sessions").fetchall()]
    return [session_id for session_id in ids if sessions.tip(reader, session_id) == session_id]
