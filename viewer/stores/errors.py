"""What a store refuses, and why: one class for each reason, with a stable `code`, its HTTP status and a sentence."""

from __future__ import annotations

from datetime import datetime


class StoreError(Exception):
    """A store could not do what was asked. `code` is stable; `message` says what is wrong and what to do. Its HTTP
    `status` is 409 where the same may be granted once the session, the run or the store is in another state.
    """

    code = "store_error"
    status = 409

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotFound(StoreError):
    """No such store, session, message or compaction."""

    code = "not_found"
    status = 404


class StoreUnavailable(StoreError):
    """The file is missing, locked, damaged, replaced, or no database of sessions."""

    code = "store_unavailable"
    status = 503


class StoreUnanswered(StoreUnavailable):
    """It did not answer in time: another program has it locked, or its server cannot be reached."""


class StoreReadOnly(StoreError):
    """The store can be read but not written: old schema, missing rights, a tokenizer that is missing."""

    code = "store_read_only"


class WriteDisturbed(StoreError):
    """A trigger of the store adds or removes rows as we write, and it is neither ours nor a known one of the agent."""

    code = "write_disturbed"

    def __init__(self) -> None:
        super().__init__(
            "A trigger of this store adds or removes rows while others are written, so that it would not hold what was "
            "asked for. Nothing was written. Find out who put it there: agents have none that do this."
        )


class SessionBusy(StoreError):
    """Somebody else holds the session's compression lock, or a turn is running."""

    code = "session_busy"


class SessionEnded(StoreError):
    """The session was split off by an older compaction: only the newest part of a conversation can continue."""

    code = "session_ended"


class CompactionConflict(StoreError):
    """Planned rows are no longer live, or were changed, since the plan was made."""

    code = "compaction_conflict"


class NotUndoable(StoreError):
    """This compaction cannot be taken back any more; the message says why."""

    code = "not_undoable"


class AlreadyUndone(NotUndoable):
    """The compaction was undone here before, `at` where that is known; its boundary was before the message `cut_id`."""

    def __init__(
        self,
        message: str,
        store: str,
        session_id: str,
        handoff_id: int,
        at: datetime | None = None,
        cut_id: int | None = None,
    ) -> None:
        super().__init__(message)
        self.store, self.session_id, self.handoff_id = store, session_id, handoff_id
        self.at, self.cut_id = at, cut_id


class TitleTaken(StoreError):
    """Another session of the store has this title."""

    code = "title_taken"


class NotManaged(StoreError):
    """Sessions are created and deleted only in a store of this site; those of an agent are the agent's to delete."""

    code = "not_ours"


class NotBranchable(StoreError):
    """There is no such context to branch from any more; the message says why."""

    code = "not_branchable"


class NotRedoable(StoreError):
    """This compaction cannot be applied again; the message says why."""

    code = "not_redoable"
