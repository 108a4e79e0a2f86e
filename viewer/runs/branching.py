"""*Branch from here*: a new session with the context of now or of an earlier moment. The source is only read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from compaction import tool_groups
from viewer.history import index_cache
from viewer.history.undo import compaction_of
from viewer.stores.base import Store
from viewer.stores.errors import NotBranchable, SessionEnded, StoreReadOnly
from viewer.stores.message import StoredMessage, for_model, message_of, row_tokens
from viewer.stores.registry import Reader, open_store, writer_of
from viewer.usage import counting

from .undoing import threshold_warning


@dataclass(frozen=True, slots=True)
class BranchOutlook:
    """What a branch would contain.

    `refusal` says why there can be none, "" if there can; `warning` what to expect during the writing and after it.
    """

    refusal: str
    messages: int
    tokens: int
    warning: str


def outlook(store: Store, session_id: str, before: int | None) -> BranchOutlook:
    """What a branch of the session would contain: the context before the compaction with this handoff, or the present
    one.

    Raises NotFound, StoreUnavailable.
    """
    with open_store(store) as reader:
        session = reader.session(session_id)
        try:
            context, left_out = _rows(reader, session_id, before)
        except (NotBranchable, SessionEnded, StoreReadOnly) as refusal:
            return BranchOutlook(refusal.message, 0, 0, "")
    count = counting.counter_for(session.model)
    rows = for_model(context)
    tokens = sum(row_tokens(row, count) for row in rows)
    warnings = filter(None, (_left_out_sentence(left_out), threshold_warning(store, session, tokens)))
    return BranchOutlook("", len(rows), tokens, " ".join(warnings))


def _left_out_sentence(rows: int) -> str:
    if not rows:
        return ""
    newest = "newest message is" if rows == 1 else f"{rows} newest messages are"
    return f"A tool call still waits for its result: the {newest} left out."


def branch(store: Store, session_id: str, before: int | None) -> str:
    """Create the branch; returns the id of the new session.

    Raises NotFound, NotBranchable, SessionEnded, StoreReadOnly or StoreUnavailable; nothing is written then.
    """
    with open_store(store) as reader:
        rows, _ = _rows(reader, session_id, before)
    return writer_of(store).branch(session_id, [row.id for row in rows], now=time.time())


def _rows(reader: Reader, session_id: str, before: int | None) -> tuple[Sequence[StoredMessage], int]:
    """The rows that a branch gets, and how many of the newest rows in context it leaves out (`settled`)."""
    if (refusal := reader.refusal(session_id, "branch")) is not None:
        raise refusal
    if before is None:
        rows: Sequence[StoredMessage] = reader.live(session_id)
    else:
        rows = _rows_before(reader, session_id, before)
    settled_rows = settled(rows)
    if not settled_rows:
        raise NotBranchable("This session has no message in context that a branch can start with.")
    return settled_rows, len(rows) - len(settled_rows)


def settled(rows: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
    """Rows of a context without a last group of calls that wait for results: the results go to the session that runs
    the turn, and a branch would never get them.
    """
    return rows[: tool_groups.loose_ends([message_of(row) for row in rows]).running]


def _rows_before(reader: Reader, session_id: str, handoff_id: int) -> Sequence[StoredMessage]:
    """The rows in context before this compaction, in order, including those taken back or superseded since."""
    compaction = compaction_of(reader, session_id, handoff_id, index_cache.of(reader, session_id))
    ids = reader.context_before(session_id, compaction)
    rows = reader.messages(session_id, ids)
    if missing := len(ids) - len(rows):
        raise NotBranchable(
            f"{missing} of the messages from before this compaction no longer exist: the agent rewrote its transcript."
        )
    return [rows[row_id] for row_id in ids]
