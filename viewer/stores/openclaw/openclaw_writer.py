"""What may be written to OpenClaw's sessions: an entry behind the others, and another type in it, to take it back.

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
from viewer.stores.errors import (
    CompactionConflict,
    NotRedoable,
    NotUndoable,
    SessionBusy,
    StoreError,
    StoreReadOnly,
)
from viewer.stores.jsonl.append import appending
from viewer.stores.writer import conflict_as

from . import (
    file_writing,
    new_entries,
    places,
    planned,
    refusals,
    row_branching,
    row_writing,
    session_index,
    turns,
    undoing,
)
from .file_writing import TreeFile
from .places import SessionPlace
from .transaction import writing
from .tree_writer import TreeWriter


@dataclass(frozen=True, slots=True)
class OpenClawWriter(TreeWriter):
    """The writes of a state directory."""

    no_rename: ClassVar[str] = refusals.NO_TITLE

    def _place(self, session_id: str) -> SessionPlace:
        """Of a session of which a rewind made a copy, that of the one which its key goes on with."""
        found = places.openclaw_sessions(self.store)
        place = places.find(found, self.store, session_id)
        return found.get(place.newest, place)

    def _require_idle(self, session_id: str) -> SessionPlace:
        place = self._place(session_id)
        held = turns.holder_at(self.store.path, place)
        if held is not None:
            raise SessionBusy(held.says)
        return place

    def _writable(self, session_id: str) -> SessionPlace:
        place = self._require_idle(session_id)
        if reason := refusals.of_place(place):
            raise StoreReadOnly(reason)
        return place

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        if mode != "in_place":
            raise StoreReadOnly(refusals.NO_SPLIT)
        place = self._writable(session_id)
        if place.id != session_id:
            raise CompactionConflict(refusals.GOES_ON_ELSEWHERE)
        if place.row_id:
            seen = row_writing.looked_at(place, token)
            with writing(place.path) as con:
                return row_writing.commit(con, place, self.store.path, seen, token, edits, now=now)
        with appending(place.path) as opened:
            made = file_writing.commit(self._file(session_id), opened, token, edits, now=now)
        self._count(session_id, compactions=1)
        return made

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        what = plan.what
        if not isinstance(what, undoing.InertEntry):
            raise NotUndoable(plan.refusal)
        place = self._writable(what.session_id)
        with conflict_as(NotUndoable):
            if place.row_id:
                with writing(place.path) as con:
                    return row_writing.undo(con, place, self.store.path, what, now=time.time())
            with appending(place.path) as opened:
                before = file_writing.tokens_before(self._file(what.session_id), what.entry)
                done = file_writing.undo(self._file(what.session_id), opened, what)
        self._count(what.session_id, compactions=-1, least=before)
        return done

    def redo(self, session_id: str, receipt: Json, *, holder: str) -> None:
        place = self._writable(session_id)
        with conflict_as(NotRedoable):
            if place.row_id:
                with writing(place.path) as con:
                    return row_writing.redo(con, place, self.store.path, receipt, now=time.time())
            with appending(place.path) as opened:
                file_writing.redo(self._file(session_id), opened, receipt)
        self._count(session_id, compactions=1)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        place = self._place(session_id)
        if reason := refusals.of_place_to_branch(place):
            raise StoreReadOnly(reason)
        if place.row_id:
            with writing(place.path) as con:
                return row_branching.branch(con, place, self.store.path, message_ids, now=now)
        self._require_idle(session_id)
        made = str(uuid4())
        path = place.path.with_name(f"{made}{places.ENDING}")
        own = new_entries.header(made, now) | {"parentSession": str(place.path)}
        file_writing.branch(self._file(place.id), message_ids, self._file(made), path, own)
        try:
            session_index.add(path, place, made, now=now)
        except StoreError:
            path.unlink()
            raise
        return made

    # -- sessions in files

    def _file(self, session_id: str) -> TreeFile:
        return TreeFile(lambda: self._place(session_id), lambda: self._require_idle(session_id), is_strict=True)

    def _count(self, session_id: str, *, compactions: int, least: int = 0) -> None:
        """Note the tokens in context now, so many at `least`. What stands in the session's file counts either way."""
        with suppress(StoreError):
            place, found = self._file(session_id).now()
            tokens = max(least, planned.tokens_of(found, found.live))
            session_index.count(place.path.parent, place.key, tokens=tokens, compactions=compactions, now=time.time())
