"""Sentences that several kinds of stores give as the reason of a refusal; those of a single kind are in its own
`presence`, or `refusals`.
"""

from __future__ import annotations

NOT_WRITABLE = "The session's file belongs to another user, or is read-only."


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
