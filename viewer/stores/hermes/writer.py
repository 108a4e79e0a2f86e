"""Writing to a store of Hermes Agent: each write is one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from viewer.stores.changes import Commit, Edit, Json, UndoPlan
from viewer.stores.writer import Writer

from . import appending, branching, creating, deleting, editing, guards, receipts, titles, writing


@dataclass(frozen=True, slots=True)
class HermesWriter(Writer):
    """The writes of one store of Hermes Agent."""

    longest_title: ClassVar[int] = titles.LONGEST
    refresh_seconds: ClassVar[float] = guards.REFRESH_EVERY

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
        return creating.create(self.store, now=now, title=title, source=source, model=model, cwd=cwd, messages=messages)

    def append(self, session_id: str, messages: Sequence[Mapping[str, Any]], *, now: float) -> list[int]:
        return appending.append(self.store, session_id, messages, now=now)

    def rename(self, session_id: str, title: str) -> None:
        editing.rename(self.store, session_id, title)

    def set_archived(self, session_id: str, archived: bool) -> None:
        editing.set_archived(self.store, session_id, archived)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        return branching.branch(self.store, session_id, message_ids, now=now)

    def delete(self, session_id: str) -> list[str]:
        return deleting.delete(self.store, session_id)

    # -- holding a session

    def take_lock(self, session_id: str, holder: str) -> None:
        guards.take_lock(self.store, session_id, holder)

    def refresh_lock(self, session_id: str, holder: str) -> bool:
        return guards.refresh_lock(self.store, session_id, holder)

    def take_lease(self, session_id: str, holder: str) -> None:
        guards.take_lease(self.store, session_id, holder)

    def release_lock(self, session_id: str, holder: str) -> None:
        guards.release_lock(self.store, session_id, holder)

    def release_lease(self, session_id: str, holder: str) -> None:
        guards.release_lease(self.store, session_id, holder)

    def release_quietly(self, session_id: str, holder: str) -> None:
        guards.release_quietly(self.store, session_id, holder)

    def release_dead(self) -> None:
        guards.release_dead(self.store)

    # -- compactions

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        planned, steps = receipts.snapshot_of(session_id, token), receipts.steps_of(token, edits)
        write = branching.split if mode == "split" else writing.commit
        done = write(self.store, planned, steps, lock_holder=holder, lease_holder=holder, now=now)
        return receipts.commit_of(planned, steps, done)

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        outlook = writing.undo(self.store, plan.what, lock_holder=holder, lease_holder=holder)
        return receipts.undo_receipt(plan.what, outlook)
