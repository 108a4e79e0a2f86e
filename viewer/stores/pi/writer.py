"""Writing to pi's sessions: a line at the end, and another type in that line, to take it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from uuid import uuid4

from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.errors import NotRedoable, NotUndoable, StoreReadOnly
from viewer.stores.jsonl.append import appending
from viewer.stores.jsonl.files import readable
from viewer.stores.lock_owners import Holder
from viewer.stores.trees import encode as tree_encode
from viewer.stores.trees import facts
from viewer.stores.trees import paths as tree_paths
from viewer.stores.trees import presence as tree_presence
from viewer.stores.trees import undo as tree_undo
from viewer.stores.trees.paths import SessionLocation
from viewer.stores.trees.writer import TreeWriter
from viewer.stores.writer import conflict_as

from . import paths, presence


@dataclass(frozen=True, slots=True)
class PiWriter(TreeWriter):
    """The writes of a store of pi's."""

    no_rename: ClassVar[str] = presence.NO_RENAME
    is_strict: ClassVar[bool] = False

    def location_of(self, session_id: str) -> SessionLocation:
        return tree_paths.find(paths.pi_sessions(self.store), self.store, session_id)

    def _holder_at(self, location: SessionLocation) -> Holder | None:
        with readable(location.path):
            cwd = facts.facts_of(location).cwd
        return presence.holder_of(location, cwd)

    def _reason_at(self, location: SessionLocation) -> str:
        return presence.of_pi(location)

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        if mode != "in_place":
            raise StoreReadOnly(tree_presence.NO_SPLIT)
        with appending(self._writable(session_id).path) as opened:
            return self._file(session_id).commit(opened, token, edits, now=now)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        location, new_id = self.location_of(session_id), str(uuid4())
        if reason := presence.of_pi_branch(location):
            raise StoreReadOnly(reason)
        own = tree_encode.header(new_id, now) | {"parentSession": str(location.path)}
        time = own["timestamp"].replace(":", "-").replace(".", "-")
        path = location.path.with_name(f"{time}_{new_id}{tree_paths.ENDING}")
        self._file(session_id).branch(message_ids, self._file(new_id), path, own)
        return new_id

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        if not isinstance(plan.what, tree_undo.InertEntry):
            raise NotUndoable(plan.refusal)
        session_id = plan.what.session_id
        with conflict_as(NotUndoable), appending(self._writable(session_id).path) as opened:
            return self._file(session_id).undo(opened, plan.what)

    def redo(self, session_id: str, receipt: Json, *, holder: str) -> None:
        with conflict_as(NotRedoable), appending(self._writable(session_id).path) as opened:
            self._file(session_id).redo(opened, receipt)
