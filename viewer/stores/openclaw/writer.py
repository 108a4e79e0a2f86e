"""Writing to OpenClaw's sessions: a new entry at the end, and another type in it, to take it back.

A gateway may run meanwhile: it reads a session anew for each turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar
from uuid import uuid4

from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.errors import CompactionConflict, NotRedoable, NotUndoable, StoreError, StoreReadOnly
from viewer.stores.jsonl.append import appending
from viewer.stores.lock_owners import Holder
from viewer.stores.sqlite.writing import writing
from viewer.stores.trees import encode as tree_encode
from viewer.stores.trees import paths as tree_paths
from viewer.stores.trees import plan
from viewer.stores.trees import presence as tree_presence
from viewer.stores.trees import undo as tree_undo
from viewer.stores.trees.paths import SessionLocation
from viewer.stores.trees.writer import TreeWriter
from viewer.stores.writer import conflict_as

from . import branch, commit, database, paths, presence, session_index, undo


@dataclass(frozen=True, slots=True)
class OpenClawWriter(TreeWriter):
    """The writes of a state directory."""

    no_rename: ClassVar[str] = presence.NO_TITLE
    is_strict: ClassVar[bool] = True

    def location_of(self, session_id: str) -> SessionLocation:
        """The session's location; where a rewind made a copy of it, that of the session in which its key continues."""
        sessions = paths.openclaw_sessions(self.store)
        location = tree_paths.find(sessions, self.store, session_id)
        return sessions.get(location.newest, location)

    def _holder_at(self, location: SessionLocation) -> Holder | None:
        return presence.holder_at(self.store.path, location)

    def _reason_at(self, location: SessionLocation) -> str:
        return presence.of_location(location)

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        if mode != "in_place":
            raise StoreReadOnly(tree_presence.NO_SPLIT)
        location = self._writable(session_id)
        if location.id != session_id:
            raise CompactionConflict(tree_presence.GOES_ON_ELSEWHERE)
        if location.row_id:
            messages = commit.looked_at(location, token)
            with writing(location.path, prepare=database.prepared) as con:
                return commit.commit(con, location, self.store.path, messages, token, edits, now=now)
        with appending(location.path) as opened:
            result = self._file(session_id).commit(opened, token, edits, now=now)
        self._count(session_id, compactions=1)
        return result

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        what = plan.what
        if not isinstance(what, tree_undo.InertEntry):
            raise NotUndoable(plan.refusal)
        location = self._writable(what.session_id)
        with conflict_as(NotUndoable):
            if location.row_id:
                with writing(location.path, prepare=database.prepared) as con:
                    return undo.undo(con, location, self.store.path, what, now=time.time())
            with appending(location.path) as opened:
                before = self._file(what.session_id).tokens_before(what.entry)
                receipt = self._file(what.session_id).undo(opened, what)
        self._count(what.session_id, compactions=-1, least=before)
        return receipt

    def redo(self, session_id: str, receipt: Json, *, holder: str) -> None:
        location = self._writable(session_id)
        with conflict_as(NotRedoable):
            if location.row_id:
                with writing(location.path, prepare=database.prepared) as con:
                    return undo.redo(con, location, self.store.path, receipt, now=time.time())
            with appending(location.path) as opened:
                self._file(session_id).redo(opened, receipt)
        self._count(session_id, compactions=1)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        location = self.location_of(session_id)
        if reason := presence.of_location_to_branch(location):
            raise StoreReadOnly(reason)
        if location.row_id:
            with writing(location.path, prepare=database.prepared) as con:
                return branch.branch(con, location, self.store.path, message_ids, now=now)
        self.require_idle(session_id)
        new_id = str(uuid4())
        path = location.path.with_name(f"{new_id}{tree_paths.ENDING}")
        own = tree_encode.header(new_id, now) | {"parentSession": str(location.path)}
        self._file(location.id).branch(message_ids, self._file(new_id), path, own)
        try:
            session_index.add(path, location, new_id, now=now)
        except StoreError:
            path.unlink()
            raise
        return new_id

    # -- sessions in files

    def _count(self, session_id: str, *, compactions: int, least: int = 0) -> None:
        """Record the tokens in context now, at least `least`, in the index. The content of the session's file counts in
        any case.
        """
        with suppress(StoreError):
            location, messages = self._file(session_id).now()
            tokens = max(least, plan.tokens_of(messages, messages.live))
            session_index.count(
                location.path.parent, location.key, tokens=tokens, compactions=compactions, now=time.time()
            )
