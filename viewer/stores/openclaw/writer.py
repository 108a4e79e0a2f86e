"""What may be written to pi's sessions: one line behind the end, and the type in that line, to take it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from viewer.errors import CompactionConflict, NotBranchable, NotUndoable, SessionBusy, StoreReadOnly
from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.jsonl.append import appending
from viewer.stores.writer import Writer

from . import clients, commits, facts, places, refusals, undoing
from .places import SessionPlace


@dataclass(frozen=True, slots=True)
class PiWriter(Writer):
    """The writes of a store of pi's. Nobody can keep a client from opening a session, so a lock is a look at whether
    one may have it open.
    """

    refresh_seconds: ClassVar[float] = 3_600.0

    def _place(self, session_id: str) -> SessionPlace:
        return places.find(places.pi_sessions(self.store), self.store, session_id)

    def _require_closed(self, session_id: str) -> SessionPlace:
        place = self._place(session_id)
        held = clients.holder_of(place, facts.facts_of(place, None).cwd)
        if held is not None:
            raise SessionBusy(held.says)
        return place

    def _writable(self, session_id: str) -> SessionPlace:
        place = self._require_closed(session_id)
        if reason := refusals.of_file(place):
            raise StoreReadOnly(reason)
        return place

    def take_lock(self, session_id: str, holder: str) -> None:
        self._require_closed(session_id)

    def refresh_lock(self, session_id: str, holder: str) -> bool:
        return True

    def take_lease(self, session_id: str, holder: str) -> None:
        self._require_closed(session_id)

    def rename(self, session_id: str, title: str) -> None:
        self._place(session_id)
        raise StoreReadOnly(refusals.NO_RENAME)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        self._place(session_id)
        raise NotBranchable(refusals.NO_BRANCH)

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
