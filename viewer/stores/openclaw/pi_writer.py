"""What may be written to pi's sessions: one line behind the end, and the type in that line, to take it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from viewer.errors import CompactionConflict, NotRedoable, NotUndoable, SessionBusy, StoreReadOnly
from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.jsonl.append import appending

from . import clients, commits, facts, places, redoing, refusals, undoing
from .places import SessionPlace
from .tree_writer import TreeWriter


@dataclass(frozen=True, slots=True)
class PiWriter(TreeWriter):
    """The writes of a store of pi's."""

    no_branch: ClassVar[str] = refusals.NO_BRANCH
    no_rename: ClassVar[str] = refusals.NO_RENAME

    def _place(self, session_id: str) -> SessionPlace:
        return places.find(places.pi_sessions(self.store), self.store, session_id)

    def _require_idle(self, session_id: str) -> SessionPlace:
        place = self._place(session_id)
        held = clients.holder_of(place, facts.facts_of(place, None).cwd)
        if held is not None:
            raise SessionBusy(held.says)
        return place

    def _writable(self, session_id: str) -> SessionPlace:
        place = self._require_idle(session_id)
        if reason := refusals.of_file(place):
            raise StoreReadOnly(reason)
        return place

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        if mode != "in_place":
            raise StoreReadOnly(refusals.NO_SPLIT)
        place = self._writable(session_id)
        with appending(place.path) as opened:
            return commits.append(self.store, session_id, opened, token, edits, now=now)

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        if not isinstance(plan.what, undoing.InertEntry):
            raise NotUndoable(plan.refusal)
        place = self._writable(plan.what.session_id)
        with appending(place.path) as opened:
            try:
                place, found = commits.messages_now(self.store, plan.what.session_id)
                return undoing.overwrite(found, place, opened, plan.what)
            except CompactionConflict as conflict:
                raise NotUndoable(conflict.message) from conflict

    def redo(self, session_id: str, receipt: Json, *, holder: str) -> None:
        with appending(self._writable(session_id).path) as opened:
            place, found = commits.messages_now(self.store, session_id)
            what = redoing.planned(place, found, receipt)
            try:
                redoing.overwrite(opened, what)
            except CompactionConflict as conflict:
                raise NotRedoable(conflict.message) from conflict
            _, read = commits.messages_now(self.store, session_id)
            if not read.compactions or read.compactions[-1].entry.id != what.entry:
                redoing.take_off(opened, what)
                raise NotRedoable(redoing.NOT_AS_MEANT)
