"""What may be written to OpenClaw's sessions: an entry behind the others, and another text in its row, to take it back.

Only sessions in databases are written. A gateway may run meanwhile: it reads a session anew for each turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from viewer.errors import CompactionConflict, NotRedoable, NotUndoable, SessionBusy, StoreReadOnly
from viewer.stores.changes import Commit, Edit, Json, UndoPlan

from . import database, owners, places, refusals, row_writing, undoing
from .places import SessionPlace
from .transaction import writing
from .tree_writer import TreeWriter


@dataclass(frozen=True, slots=True)
class OpenClawWriter(TreeWriter):
    """The writes of a state directory."""

    no_branch: ClassVar[str] = refusals.NO_FORK
    no_rename: ClassVar[str] = refusals.NO_TITLE

    def _place(self, session_id: str) -> SessionPlace:
        """Of a session of which a rewind made a copy, that of the one which its key goes on with."""
        found = places.openclaw_sessions(self.store)
        place = places.find(found, self.store, session_id)
        return found.get(place.newest, place)

    def _require_idle(self, session_id: str) -> SessionPlace:
        place = self._place(session_id)
        if place.row_id:
            held = owners.holder_of(self.store.path, database.status_of(place.path, place.key))
            if held is not None:
                raise SessionBusy(held.says)
        return place

    def _writable(self, session_id: str) -> SessionPlace:
        place = self._require_idle(session_id)
        if reason := refusals.of_row(place):
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
        with writing(place.path) as con:
            return row_writing.commit(con, place, self.store.path, token, edits, now=now)

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        if not isinstance(plan.what, undoing.InertEntry):
            raise NotUndoable(plan.refusal)
        place = self._writable(plan.what.session_id)
        try:
            with writing(place.path) as con:
                return row_writing.undo(con, place, self.store.path, plan.what, now=time.time())
        except CompactionConflict as conflict:
            raise NotUndoable(conflict.message) from conflict

    def redo(self, session_id: str, receipt: Json, *, holder: str) -> None:
        place = self._writable(session_id)
        try:
            with writing(place.path) as con:
                row_writing.redo(con, place, self.store.path, receipt, now=time.time())
        except CompactionConflict as conflict:
            raise NotRedoable(conflict.message) from conflict
