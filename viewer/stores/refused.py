"""What is refused: the actions that a store may refuse, and sentences that several kinds of stores give as the reason.
Those of a single kind are in its own `presence`.
"""

from __future__ import annotations

from typing import Literal

from viewer.stores.errors import SessionEnded, StoreReadOnly

# Compact a session in place; split it: compact it into a new session; prune: shorten its tool output in a compaction;
# branch: make a new session of its messages.
Action = Literal["compact", "split", "prune", "branch"]
Refusal = StoreReadOnly | SessionEnded  # with its sentence, and to be raised by who goes on all the same

READ_ONLY = "Sessions of this kind of store can be read, but not be changed here."
NO_APPENDING = "No message can be added to sessions of this kind of store here, only to those of Hermes Agent."
NOT_SHORTENED = (
    "The agent of this store keeps messages as they are, after a summary: tool output cannot be shortened in its "
    "sessions. Choose a summary."
)
NOT_WRITABLE = "The session's file belongs to another user, or is read-only."


def read_only(reason: str) -> StoreReadOnly | None:
    """The refusal with this reason; None for ""."""
    return StoreReadOnly(reason) if reason else None


def reason_of(refusal: Refusal | None) -> str:
    """Its sentence; "" for none."""
    return refusal.message if refusal else ""


def unknown_form(what: str, client: str) -> str:
    """For a session that has `what`, in few words, in a form that is not known here."""
    return (
        f"This session has {what}, which is not known here; what {client} sends because of it is not known either. It "
        "can be read, and is not changed."
    )


def lost_link(record: str, count: int, client: str) -> str:
    """For a session that continues from a `record`, in few words, which is missing: `count` messages are
    not reached.
    """
    return (
        f"This session goes on from {record}, which is not in its file or cannot be read. {count:,} of its messages "
        f"are not reached from there: {client} does not send them, and a summary would leave them out. It is not "
        "compacted."
    )
