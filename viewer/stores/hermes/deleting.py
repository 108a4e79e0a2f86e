"""Delete a session from a store of this site. Sessions of an agent are never deleted here."""

from __future__ import annotations

from viewer.stores.base import Store
from viewer.stores.errors import NotFound, NotManaged, SessionBusy, SessionEnded

from . import guards
from .columns import marks
from .opening import OpenStore, columns_of
from .sessions import chain, tip
from .transaction import write

_OF_A_SESSION = {  # table -> the column that names the session
    "messages": "session_id", "compression_locks": "session_id", "session_turn_leases": "conversation_id",
    "session_model_usage": "session_id",
}  # fmt: skip


def delete(store: Store, session_id: str) -> list[str]:
    """Delete a conversation: the session and the parts it continues, with all their rows; returns the deleted ids.

    Its branches stay, without a parent. One transaction. Raises NotManaged, NotFound, SessionEnded for an earlier part,
    SessionBusy, StoreReadOnly or StoreUnavailable: then nothing is deleted.
    """
    if not store.is_managed:
        raise NotManaged(f"Store {store.name} belongs to its agent: delete this session there. Nothing was deleted.")
    with write(store) as con:
        reader = OpenStore(store, con, columns_of(store, con))
        if con.execute("SELECT 1 FROM sessions WHERE id = ?", [session_id]).fetchone() is None:
            raise NotFound(f"Store {store.name} has no session {session_id!r}.")
        if tip(reader, session_id) != session_id:
            raise SessionEnded("The conversation goes on in another session: delete that one. Nothing was deleted.")
        _check_idle(reader, session_id)
        parts = chain(reader, session_id)
        named = marks(parts)
        if "parent_session_id" in reader.columns.sessions:
            con.execute(f"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN ({named})", parts)
        for table, column in _OF_A_SESSION.items():
            if table in reader.columns.tables:
                con.execute(f"DELETE FROM {table} WHERE {column} IN ({named})", parts)
        con.execute(f"DELETE FROM sessions WHERE id IN ({named})", parts)
    return parts


def _check_idle(reader: OpenStore, session_id: str) -> None:
    guards.check_no_turn(reader, session_id)
    holder = guards.lock_of(reader, session_id)
    if holder is not None:
        raise SessionBusy("This session is being compacted. Nothing was deleted.")
