"""What may be written to a store of Hermes Agent. Each is one transaction, and leaves the store as it was where it
raises: StoreReadOnly, StoreUnavailable, NotFound, or what its function says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from viewer.stores.base import Store

from . import appending, branching, creating, deleting, editing, guards, titles, writing
from .undoing import Outlook, Undoing
from .writing import Commit, Snapshot, Step


@dataclass(frozen=True, slots=True)
class HermesWriter:
    """The writes of one store. Times are in epoch seconds; a holder is a name as `holders.new_holder` makes it."""

    store: Store

    longest_title: ClassVar[int] = titles.LONGEST  # characters
    refresh_seconds: ClassVar[float] = guards.REFRESH_EVERY  # between two signs of whoever holds a lock

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
        """Make a session with these first messages; its id. Raises TitleTaken."""
        return creating.create(self.store, now=now, title=title, source=source, model=model, cwd=cwd, messages=messages)

    def append(self, session_id: str, messages: Sequence[Mapping[str, Any]], *, now: float) -> list[int]:
        """Append messages in OpenAI chat shape behind the live context; their ids. Raises SessionEnded, SessionBusy."""
        return appending.append(self.store, session_id, messages, now=now)

    def rename(self, session_id: str, title: str) -> None:
        """Give a session another title, "" for none. Raises TitleTaken."""
        editing.rename(self.store, session_id, title)

    def set_archived(self, session_id: str, archived: bool) -> None:
        """Put a session into the agent's own archive, or take it out."""
        editing.set_archived(self.store, session_id, archived)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        """Make a session whose context is these messages; its id. Raises NotBranchable."""
        return branching.branch(self.store, session_id, message_ids, now=now)

    def delete(self, session_id: str) -> list[str]:
        """Delete a conversation; ids of the sessions that are gone. Raises NotOurs but in a store of this site."""
        return deleting.delete(self.store, session_id)

    # -- holding a session

    def take_lock(self, session_id: str, holder: str) -> None:
        """Keep others from compacting the session. Raises SessionBusy."""
        guards.take_lock(self.store, session_id, holder)

    def refresh_lock(self, session_id: str, holder: str) -> bool:
        """Prolong it; False when `holder` does not have it any more."""
        return guards.refresh_lock(self.store, session_id, holder)

    def take_lease(self, session_id: str, holder: str) -> None:
        """Keep the agent from beginning a turn, where it tells its turns. Raises SessionBusy."""
        guards.take_lease(self.store, session_id, holder)

    def release_lock(self, session_id: str, holder: str) -> None:
        guards.release_lock(self.store, session_id, holder)

    def release_lease(self, session_id: str, holder: str) -> None:
        guards.release_lease(self.store, session_id, holder)

    def let_go(self, session_id: str, holder: str) -> None:
        """Release lease and lock after the work. Never raises: what cannot be released expires by itself."""
        guards.let_go(self.store, session_id, holder)

    def release_dead(self) -> None:
        """Release what processes of ours held when they were killed."""
        guards.release_dead(self.store)

    # -- compactions

    def commit(self, planned: Snapshot, steps: Sequence[Step], *, holder: str, now: float) -> Commit:
        """Replace the live context as `steps` say; `holder` has lock and lease.

        Raises CompactionConflict, SessionBusy.
        """
        return writing.commit(self.store, planned, steps, lock_holder=holder, lease_holder=holder, now=now)

    def split(self, planned: Snapshot, steps: Sequence[Step], *, holder: str, now: float) -> Commit:
        """The same into a new session, which continues the planned one and ends it."""
        return branching.split(self.store, planned, steps, lock_holder=holder, lease_holder=holder, now=now)

    def undo(self, undoing: Undoing, *, holder: str) -> Outlook:
        """Take a compaction back. Raises NotUndoable with the reason."""
        return writing.undo(self.store, undoing, lock_holder=holder, lease_holder=holder)
