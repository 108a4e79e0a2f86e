"""Writing to OpenCode's sessions: two messages are added at the end, or removed, in one short transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.errors import NotRedoable, NotUndoable, SessionBusy, StoreReadOnly
from viewer.stores.sqlite.reading import BUSY_SECONDS, read_any_text
from viewer.stores.sqlite.writing import writing
from viewer.stores.writer import Writer, conflict_as

from . import commit, paths, presence, undo
from .reader import messages_now, text_of_rows
from .replay import OpenCodeMessages


@dataclass(frozen=True, slots=True)
class OpenCodeWriter(Writer):
    """The writes of a store. A client locks nothing and cannot be kept from a session, so holding one is a check."""

    @contextmanager
    def hold(self, session_id: str, holder: str) -> Iterator[None]:
        with self._reading(session_id):
            pass
        yield

    def _free(self, con: sqlite3.Connection, session_id: str) -> OpenCodeMessages:
        """The messages of a session that nobody is at. Raises NotFound, SessionBusy."""
        row = paths.session_row(con, self.store, session_id)
        messages = messages_now(con, row)
        if (busy := presence.holder_of(self.store, row, messages)) is not None:
            raise SessionBusy(busy.says)
        if reason := presence.of_store(self.store, con) or presence.of_session(row, messages):
            raise StoreReadOnly(reason)
        return messages

    @contextmanager
    def _reading(self, session_id: str) -> Iterator[tuple[sqlite3.Connection, OpenCodeMessages]]:
        """A connection, and the messages of a session that nobody is at."""
        with paths.connected(self.store, BUSY_SECONDS) as con:
            yield con, self._free(con, session_id)

    @contextmanager
    def _writing(
        self, session_id: str, before: OpenCodeMessages | None = None
    ) -> Iterator[tuple[sqlite3.Connection, OpenCodeMessages]]:
        """A transaction, and the session's messages in it: those of `before`, where they are unchanged. They are read
        before it begins: a client waits for 5 s at most.
        """
        if before is None:
            with self._reading(session_id) as (_, before):
                pass
        with writing(paths.database(self.store), prepare=read_any_text) as con:
            text = text_of_rows(con, paths.session_row(con, self.store, session_id))
            yield con, before if text == before.text else self._free(con, session_id)

    def rename(self, session_id: str, title: str) -> None:
        self._refuse(session_id, presence.NO_RENAME)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        return self._refuse(session_id, presence.NO_BRANCH)

    def _refuse(self, session_id: str, reason: str) -> str:
        with paths.connected(self.store, BUSY_SECONDS) as con:
            paths.session_row(con, self.store, session_id)
        raise StoreReadOnly(reason)

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        if mode != "in_place":
            raise StoreReadOnly(presence.NO_SPLIT)
        with self._reading(session_id) as (con, before):
            prepared = commit.prepared(con, before, session_id, token, edits, now)
        with self._writing(session_id, before) as (con, messages):
            if messages is not before:
                prepared = commit.prepared(con, messages, session_id, token, edits, now)
            return commit.commit(con, prepared)

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        what = plan.what
        if not isinstance(what, undo.RemovedRows):
            raise NotUndoable(plan.refusal)
        with conflict_as(NotUndoable), self._writing(what.session_id) as (con, messages):
            return undo.undo(con, messages, what)

    def redo(self, session_id: str, receipt: Json, *, holder: str) -> None:
        with conflict_as(NotRedoable), self._writing(session_id) as (con, messages):
            undo.redo(con, messages, receipt)
