"""Writing to a store of Hermes Agent: each write is one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from compaction.handoff import PUT_BACK_START
from viewer.stores.base import Store
from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.clean_text import sanitized
from viewer.stores.errors import NotFound, NotManaged, NotUndoable, SessionBusy, SessionEnded, StoreReadOnly
from viewer.stores.writer import Writer

from . import branch, commit, encode, plan, presence, undo
from .codec import number
from .columns import Columns, marks, quoted
from .database import OpenStore, columns_of
from .dialect import StoreConnection
from .encode import count_live, insert_message
from .paths import CONTINUED, chain, tip
from .presence import append_reason, create_reason
from .tally import Tally
from .transaction import write


@dataclass(frozen=True, slots=True)
class HermesWriter(Writer):
    """The writes of one store of Hermes Agent."""

    # -- sessions

    def create(
        self,
        *,
        now: float,
        title: str,
        source: str,
        model: str,
        cwd: str,
        messages: Sequence[Mapping[str, Any]],
    ) -> str:
        return create(self.store, now=now, title=title, source=source, model=model, cwd=cwd, messages=messages)

    def append(self, session_id: str, messages: Sequence[Mapping[str, Any]], *, now: float) -> list[int]:
        return append(self.store, session_id, messages, now=now)

    def take_back(self, session_id: str, message_id: int) -> None:
        take_back(self.store, session_id, message_id)

    def rename(self, session_id: str, title: str) -> None:
        rename(self.store, session_id, title)

    def set_archived(self, session_id: str, archived: bool) -> None:
        set_archived(self.store, session_id, archived)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        return branch.branch(self.store, session_id, message_ids, now=now)

    def delete(self, session_id: str) -> list[str]:
        return delete(self.store, session_id)

    # -- holding a session

    def hold(self, session_id: str, holder: str) -> AbstractContextManager[None]:
        return presence.locked(self.store, session_id, holder)

    def hold_turn(self, session_id: str, holder: str) -> AbstractContextManager[None]:
        return presence.leased(self.store, session_id, holder)

    def release(self, session_id: str, holder: str) -> None:
        presence.release_lock(self.store, session_id, holder)
        presence.release_lease(self.store, session_id, holder)

    def release_dead(self) -> None:
        presence.release_dead(self.store)

    # -- compactions

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        planned, steps = plan.snapshot_of(session_id, token), encode.steps_of(token, edits)
        write = branch.split if mode == "split" else commit.commit
        done = write(self.store, planned, steps, lock_holder=holder, lease_holder=holder, now=now)
        return commit.commit_of(planned, steps, done)

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        outlook = undo.undo(self.store, plan.what, lock_holder=holder, lease_holder=holder)
        return undo.undo_receipt(plan.what, outlook)


SOURCE = "api"  # of a session without another source


def create(
    store: Store,
    *,
    now: float,
    title: str = "",
    source: str = SOURCE,
    model: str = "",
    cwd: str = "",
    messages: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Make a session with these first messages, in one transaction; returns its id.

    `now` is in epoch seconds; the messages are those of `appending.append`. Raises TitleTaken, StoreReadOnly,
    StoreUnavailable or WriteDisturbed: then nothing is written.
    """
    with write(store) as con:
        reader = OpenStore(store, con, columns_of(store, con))
        if reason := create_reason(reader):
            raise StoreReadOnly(f"{reason} Nothing was written.")
        tally = Tally(con, reader.columns)
        title = branch.cleaned(sanitized(title))
        branch.check_free(con, title)
        session_id, source = _new_id(con, now), branch.cleaned(sanitized(source)) or SOURCE
        values = {
            "id": session_id,
            "source": source,
            "created_source": source,
            "model": sanitized(model) or None,
            "cwd": sanitized(cwd) or None,
            "title": title or None,
            "title_source": "user" if title else None,
            "started_at": now,
        }
        present = {name: value for name, value in values.items() if name in reader.columns.sessions}
        names = ", ".join(map(quoted, present))
        con.execute(f"INSERT INTO sessions ({names}) VALUES ({', '.join('?' * len(present))})", list(present.values()))
        tally.check(messages=len(insert(con, reader.columns, session_id, messages, now)), sessions=1)
    return session_id


def _new_id(con: StoreConnection, now: float) -> str:
    """An id in the form of the agent's gateway: local time and eight hexadecimal digits."""
    while True:
        new_id = f"{datetime.fromtimestamp(now):%Y%m%d_%H%M%S}_{secrets.token_hex(4)}"
        if con.execute("SELECT 1 FROM sessions WHERE id = ?", [new_id]).fetchone() is None:
            return new_id


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
        presence.check_no_turn(reader, session_id)
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


def take_back(store: Store, session_id: str, message_id: int) -> None:
    """Take a row that was put back (`PUT_BACK_START`) out of the live context, as the agent's own rewind does with a
    row and those after it: it stays in the store, and no list of the agent shows it. One transaction.

    Raises NotFound, NotUndoable, SessionBusy, StoreReadOnly, StoreUnavailable or WriteDisturbed: then nothing is
    written.
    """
    with write(store) as con:
        reader = OpenStore(store, con, columns_of(store, con))
        if (refusal := presence.to_append(reader, session_id)) is not None:
            raise refusal
        tally = Tally(con, reader.columns)
        _check_idle(reader, session_id)
        row = con.execute(
            "SELECT active, content FROM messages WHERE id = ? AND session_id = ? AND role = 'user'",
            [message_id, session_id],
        ).fetchone()
        if row is None or not str(row[1]).startswith(PUT_BACK_START):
            raise NotUndoable(f"Message {message_id} was not put back here.")
        if not row[0]:
            raise NotUndoable("It was taken back already, or a compaction was made since. Nothing was written.")
        con.execute(f"UPDATE messages SET {_taken_back(reader.columns)} WHERE id = ?", [message_id])
        count_live(con, reader.columns, session_id)
        if "rewind_count" in reader.columns.sessions:
            rewinds = "UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?"
            con.execute(rewinds, [session_id])
        tally.check()


def _taken_back(columns: Columns) -> str:
    return "active = 0, compacted = 0" if "compacted" in columns.messages else "active = 0"


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


def rename(store: Store, session_id: str, title: str) -> None:
    """Give a session another title (at most 100 characters, unique in the store; "" for none). Raises TitleTaken."""
    new_title = branch.cleaned(title) or None
    _set(store, session_id, "title", new_title, title_source="user" if new_title else None)


def set_archived(store: Store, session_id: str, archived: bool) -> None:
    """Put a session into the archive or take it out: a flag of the agent's own; nothing is deleted."""
    _set(store, session_id, "archived", int(archived))


def _set(store: Store, session_id: str, column: str, value: Any, **other_columns: Any) -> None:
    """Set one column, and those of `other_columns` that the store has."""
    with write(store) as con:
        columns = columns_of(store, con)
        present, tally = columns.sessions, Tally(con, columns)
        if column not in present:
            raise StoreReadOnly(f"The sessions of store {store.name} have no “{column}”.")
        if column == "title":
            branch.check_free(con, value or "", but=session_id)
        values = {column: value} | {name: given for name, given in other_columns.items() if name in present}
        assignments = ", ".join(f"{name} = ?" for name in values)
        if con.execute(f"UPDATE sessions SET {assignments} WHERE id = ?", [*values.values(), session_id]).rowcount == 0:
            raise NotFound(f"Store {store.name} has no session {session_id!r}.")
        tally.check()


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
    presence.check_no_turn(reader, session_id)
    holder = presence.lock_of(reader, session_id)
    if holder is not None:
        raise SessionBusy("This session is being compacted. Nothing was changed.")
