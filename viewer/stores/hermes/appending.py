"""Append messages to a session, as the agent that owns the store appends its own (`docs/hermes.md` section 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from viewer.stores.base import Store
from viewer.stores.errors import NotFound, SessionEnded, StoreReadOnly

from . import guards
from .codec import number
from .columns import Columns
from .dialect import StoreConnection
from .opening import OpenStore, append_reason, columns_of
from .sessions import CONTINUED
from .tally import Tally
from .transaction import write
from .writing import insert_message

STEP = 1e-6  # seconds between two messages of one call, as in the agent's batches
_OURS = {"id", "session_id", "active", "compacted", "display_order", "display_identity", "message_uid", "api_content"}
_SAID = (
    "tool_calls",
    "tool_call_id",
)  # in addition to the columns of every store; all others are metadata of a message
_REASONING = ("reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items", "codex_message_items")


def append(store: Store, session_id: str, messages: Sequence[Mapping[str, Any]], *, now: float) -> list[int]:
    """Append messages in OpenAI chat shape to the live context, in one transaction; returns their row ids.

    A key that names a column of the store is stored; `name` of a tool result is its `tool_name`. `timestamp` and `now`
    are epoch seconds; messages without a timestamp get `now`, a millionth apart. A compression lock does not prevent
    it: rows that arrive while a summary is made stay live after it.

    Raises NotFound, SessionEnded, SessionBusy (a turn is running), StoreReadOnly, StoreUnavailable or WriteDisturbed:
    then nothing is written.
    """
    with write(store) as con:
        reader = OpenStore(store, con, columns_of(store, con))
        if reason := append_reason(reader):
            raise StoreReadOnly(f"{reason} Nothing was written.")
        tally = Tally(con, reader.columns)
        ended = con.execute("SELECT end_reason FROM sessions WHERE id = ?", [session_id]).fetchone()
        if ended is None:
            raise NotFound(f"Store {store.name} has no session {session_id!r}.")
        if ended[0] == CONTINUED:
            raise SessionEnded("A compaction ended this session and the agent goes on in another; nothing was written.")
        guards.check_no_turn(reader, session_id)
        ids = insert(con, reader.columns, session_id, messages, now)
        tally.check(messages=len(ids))
    return ids


def insert(
    con: StoreConnection, columns: Columns, session_id: str, messages: Sequence[Mapping[str, Any]], now: float
) -> list[int]:
    """Inside a transaction: insert messages after the existing ones, and count them; returns their row ids.

    Raises StoreReadOnly for a store without a column for the content or the calls of one of them.
    """
    for name in _SAID:
        if name not in columns.messages and any(message.get(name) for message in messages):
            raise StoreReadOnly(f"The messages of this store have no “{name}”; nothing was written.")
    ids = []
    for message in messages:
        at = number(message.get("timestamp")) or now
        ids.append(insert_message(con, columns, session_id, _row_of(message), at))
        now = max(now, at) + STEP
    _count(con, columns, session_id, messages)
    return ids


def _row_of(message: Mapping[str, Any]) -> dict[str, Any]:
    """The stored values of a message, column name -> value, without those that the agent derives."""
    row = {name: value for name, value in message.items() if name not in _OURS and value is not None}
    if row.get("role") == "tool" and "name" in row:
        row.setdefault("tool_name", row["name"])
    if row.get("role") != "assistant":
        row = {name: value for name, value in row.items() if name not in _REASONING}
    return row


def _count(con: StoreConnection, columns: Columns, session_id: str, messages: Sequence[Mapping[str, Any]]) -> None:
    """Raise the session's counters by the appended messages, as the agent does."""
    added = {
        "message_count": len(messages),
        "tool_call_count": sum(len(message.get("tool_calls") or ()) for message in messages),
    }
    for name in added.keys() & set(columns.sessions):
        con.execute(f"UPDATE sessions SET {name} = COALESCE({name}, 0) + ? WHERE id = ?", [added[name], session_id])
