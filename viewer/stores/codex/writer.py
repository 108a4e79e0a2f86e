"""Writing to Codex' sessions: lines at the end, and, to take ours back, bytes of our own lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.errors import NotRedoable, NotUndoable, SessionBusy, StoreReadOnly
from viewer.stores.jsonl.append import appending
from viewer.stores.writer import Writer, conflict_as

from . import branch, commit, paths, presence, undo
from .messages import messages_now
from .paths import ThreadFile


@dataclass(frozen=True, slots=True)
class CodexWriter(Writer):
    """The writes of a store. A session is held here by the client's own lock, in this process: the lock always ends
    with the process.
    """

    @contextmanager
    def hold(self, session_id: str, holder: str) -> Iterator[None]:
        presence.take_lock(self.store, session_id, paths.find(self.store, session_id).path, holder)
        try:
            yield
        finally:
            presence.release_lock(self.store, session_id, holder)

    @contextmanager
    def hold_turn(self, session_id: str, holder: str) -> Iterator[None]:
        """No turn can begin while the session is locked."""
        self._require_held(session_id, holder)
        yield

    def release(self, session_id: str, holder: str) -> None:
        presence.release_lock(self.store, session_id, holder)

    def _require_held(self, session_id: str, holder: str) -> ThreadFile:
        file = paths.find(self.store, session_id)
        if presence.own_holder(self.store, session_id) != holder:
            raise SessionBusy("The lock on this session was lost. Nothing was written. Try again.")
        presence.require_closed(file.path)
        return file

    def _writable(self, session_id: str, holder: str) -> ThreadFile:
        file = self._require_held(session_id, holder)
        if reason := presence.session_refusal(self.store, file, paths.threads(self.store)):
            raise StoreReadOnly(reason)
        return file

    def rename(self, session_id: str, title: str) -> None:
        paths.find(self.store, session_id)
        raise StoreReadOnly(presence.NO_RENAME)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        if reason := presence.branch_refusal(self.store, paths.find(self.store, session_id), paths.threads(self.store)):
            raise StoreReadOnly(reason)
        return branch.branch(self.store, session_id, message_ids, now=now)

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        if mode != "in_place":
            raise StoreReadOnly(presence.NO_SPLIT)
        file = self._writable(session_id, holder)
        with appending(file.path) as opened:
            return commit.commit(self.store, session_id, opened, token, edits, now=now)

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        if not isinstance(plan.what, undo.OverwrittenUndo):
            raise NotUndoable(plan.refusal)
        file, what = self._writable(plan.what.session_id, holder), plan.what
        with appending(Path(what.path)) as opened, conflict_as(NotUndoable):
            done = undo.undo(self.store, opened, what)
        self._show_change(what.path, file)
        return done

    def redo(self, session_id: str, receipt: Json, *, holder: str) -> None:
        file = self._writable(session_id, holder)
        what = undo.plan_redo(messages_now(self.store, session_id), receipt)
        with appending(Path(what.path)) as opened, conflict_as(NotRedoable):
            undo.redo(self.store, session_id, opened, what)
        self._show_change(what.path, file)

    def _show_change(self, path: str, current: ThreadFile) -> None:
        """Let lists look again; they watch the session's current file."""
        if path != current.rollout.path:
            with appending(current.path) as opened:
                opened.touch(opened.state)
