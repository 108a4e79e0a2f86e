"""What a run refuses beyond what its store does, in the same shape: a stable `code` and a sentence for people."""

from __future__ import annotations

from viewer.store.errors import StoreError


class NothingToDo(StoreError):
    """The rules leave no message that a summary could replace."""

    code = "nothing_to_compact"


class SessionEnded(StoreError):
    """The session was split off by an older compaction: only the newest part of a conversation goes on."""

    code = "session_ended"


class UnknownChoice(StoreError):
    """A strategy or summariser of this name does not exist."""

    code = "unknown_choice"


class BadSummary(StoreError):
    """The summary (edited, or as it came from the summariser) cannot be used; the message says why."""

    code = "summary_rejected"


class NothingToEdit(StoreError):
    """The run's strategy makes no summary, so none can be put in its place."""

    code = "nothing_to_edit"


class WrongStatus(StoreError):
    """The run is not in a status in which this can be done."""

    code = "wrong_status"
