"""Writing to Claude Code's sessions: only lines at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.errors import NotUndoable, SessionBusy, StoreReadOnly
from viewer.stores.jsonl.append import appending
from viewer.stores.writer import Writer, conflict_as

from . import branch, commit, encode, paths, presence, undo
from .messages import messages_of


@dataclass(frozen=True, slots=True)
class ClaudeWriter(Writer):
    """The writes of a store. A client records that it has a session open and cannot be kept from that, so holding it
    is a check whether one has.
    """

    def _require_closed(self, session_id: str) -> None:
        for client in presence.clients_of(self.store, session_id):
            raise SessionBusy(client.holder.says)

    @contextmanager
    def hold(self, session_id: str, holder: str) -> Iterator[None]:
        self._require_closed(session_id)
        yield

    def rename(self, session_id: str, title: str) -> None:
        file = self._writable(session_id)
        with appending(file.path) as opened:
            opened.append(encode.encoded([encode.title(session_id, title)]), opened.state)

    def _writable(self, session_id: str) -> paths.SessionFile:
        file = paths.find(self.store, session_id)
        if reason := presence.session_refusal(self.store, file):
            raise StoreReadOnly(reason)
        return file

    def branch(self, session_id: str, ids: Sequence[int], *, now: float) -> str:
        return branch.branch(paths.find(self.store, session_id), ids, now=now)

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        if mode != "in_place":
            raise StoreReadOnly(presence.NO_SPLIT)
        file = self._writable(session_id)
        self._require_closed(session_id)
        if reason := presence.context_refusal(messages_of(file)):
            raise StoreReadOnly(reason)
        with appending(file.path) as opened:
            return commit.commit(self.store, file, opened, token, edits, now=now)

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        if not isinstance(plan.what, undo.AppendedUndo):
            raise NotUndoable(plan.refusal)
        file = self._writable(plan.what.session_id)
        self._require_closed(file.id)
        with appending(file.path) as opened, conflict_as(NotUndoable):
            return undo.undo(self.store, file, opened, plan.what)
