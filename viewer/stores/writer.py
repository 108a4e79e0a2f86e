"""What may be written to a store of any kind. A kind overrides what it can do; the rest is refused with a sentence.

Each write is atomic: where it raises StoreReadOnly, StoreUnavailable, NotFound, or what its function names, the store
is unchanged. Times are in epoch seconds; a holder is a name from `lock_owners.new_holder`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from viewer.stores.errors import CompactionConflict, NotRedoable, NotUndoable, StoreReadOnly

from .base import Store
from .changes import Commit, Edit, Json, UndoPlan

LONGEST_TITLE = 100  # characters


@dataclass(frozen=True, slots=True)
class Writer:
    """The writes of one store."""

    store: Store

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
        """Make a session with these first messages; returns its id. Raises TitleTaken."""
        raise _read_only(self.store)

    def append(self, session_id: str, messages: Sequence[Mapping[str, Any]], *, now: float) -> list[int]:
        """Append messages in OpenAI chat shape to the live context; returns their ids. Raises SessionEnded,
        SessionBusy.
        """
        raise _read_only(self.store)

    def take_back(self, session_id: str, message_id: int) -> None:
        """Take a message that was put back out of the live context again. Raises NotUndoable with the reason,
        SessionBusy.
        """
        raise _read_only(self.store)

    def rename(self, session_id: str, title: str) -> None:
        """Give a session another title, "" for none. Raises TitleTaken."""
        raise _read_only(self.store)

    def set_archived(self, session_id: str, archived: bool) -> None:
        """Put a session into the agent's own archive, or take it out."""
        raise _read_only(self.store)

    def branch(self, session_id: str, message_ids: Sequence[int], *, now: float) -> str:
        """Make a session whose context is these messages; returns its id. Raises NotBranchable."""
        raise _read_only(self.store)

    def delete(self, session_id: str) -> list[str]:
        """Delete a conversation; returns the ids of the deleted sessions. Raises NotManaged except in a store of this
        site.
        """
        raise _read_only(self.store)

    # -- holding a session

    def hold(self, session_id: str, holder: str) -> AbstractContextManager[None]:
        """Keeps others from compacting the session, for as long as it takes. Entering raises SessionBusy; leaving
        raises nothing: what cannot be released expires.
        """
        raise _read_only(self.store)

    def hold_turn(self, session_id: str, holder: str) -> AbstractContextManager[None]:
        """Within `hold`, keeps the agent from beginning a turn, if it says when it runs one. Raises as `hold` does."""
        return self.hold(session_id, holder)

    def release(self, session_id: str, holder: str) -> None:
        """Release what another process, or thread, of ours holds of a session."""

    def release_dead(self) -> None:
        """Release what processes of ours held when they were killed."""

    # -- compactions

    def apply(
        self, session_id: str, token: Json, edits: Sequence[Edit], *, mode: str, holder: str, now: float
    ) -> Commit:
        """Replace the live context, as it was when a basis had this token, by the result of `edits`, with `now` as the
        handoff's time; messages that were added since stay after it. With the `mode` "split" it goes into a new
        session, which continues this one and ends it. `holder` holds the session and its turn. Raises
        CompactionConflict, SessionBusy.
        """
        raise _read_only(self.store)

    def undo(self, plan: UndoPlan, *, holder: str) -> Json:
        """Take a compaction back; returns the receipt. `holder` holds the session and its turn. Raises NotUndoable
        with the reason.
        """
        raise _read_only(self.store)

    @property
    def redoes(self) -> bool:
        """Whether this kind of store has a `redo`: what was undone can be applied again."""
        return type(self).redo is not Writer.redo

    def redo(self, session_id: str, receipt: Json, *, holder: str) -> None:
        """Apply the undone commit with this receipt again. `holder` holds the session and its turn. Raises
        NotRedoable with the reason.
        """
        raise _read_only(self.store)


def _read_only(store: Store) -> StoreReadOnly:
    return StoreReadOnly(f"Store {store.name} can be read, but not be changed here.")


@contextmanager
def conflict_as(refusal: Callable[[str], NotUndoable | NotRedoable]) -> Iterator[None]:
    """Raise this refusal, with the message, where an undo or a redo hits a CompactionConflict."""
    try:
        yield
    except CompactionConflict as conflict:
        raise refusal(conflict.message) from conflict
