"""*Branch from here*: a new session with the context of an earlier moment, or of now. The source is only read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from compaction import tool_groups
from viewer.history import index_cache
from viewer.history.undo import compaction_of
from viewer.stores import counting
from viewer.stores.base import Store
from viewer.stores.errors import NotBranchable, SessionEnded, StoreReadOnly
from viewer.stores.message import StoredMessage, for_model, message_of
from viewer.stores.registry import Reader, open_store, writer_of

from .planning import slow_sentence
from .undoing import threshold_warning


@dataclass(frozen=True, slots=True)
class BranchOutlook:
    """What a branch would hold.

    `refusal` says why there can be none, "" when there can; `warning` what to expect while it is written, and after.
    """

    refusal: str
    messages: int
    tokens: int
    warning: str


def outlook(store: Store, session_id: str, before: int | None) -> BranchOutlook:
    """What a branch of the session would hold: its context before the compaction with this handoff, or as it is now.

    Raises NotFound, StoreUnavailable.
    """
    with open_store(store) as reader:
        session = reader.session(session_id)
        try:
            taken, left_out = _rows(reader, session_id, before)
        except (NotBranchable, SessionEnded, StoreReadOnly) as refused:
            return BranchOutlook(refused.message, 0, 0, "")
    count = counting.counter_for(session.model)
    rows = for_model(taken)
    tokens = sum(counting.row_tokens(row, count) for row in rows)
    slow = slow_sentence(reader.copy_seconds(sum(row.size for row in rows)))
    warnings = filter(None, (_left_out_sentence(left_out), slow, threshold_warning(store, session, tokens)))
    return BranchOutlook("", len(rows), tokens, " ".join(warnings))


def _left_out_sentence(rows: int) -> str:
    if not rows:
        return ""
    newest = "newest message is" if rows == 1 else f"{rows} newest messages are"
    return f"A tool call still waits for its result: the {newest} left out."


def branch(store: Store, session_id: str, before: int | None) -> str:
    """Make the branch; the id of the new session.

    Raises NotFound, NotBranchable, SessionEnded, StoreReadOnly or StoreUnavailable; nothing is written then.
    """
    with open_store(store) as reader:
        rows, _ = _rows(reader, session_id, before)
    return writer_of(store).branch(session_id, [row.id for row in rows], now=time.time())


def _rows(reader: Reader, session_id: str, before: int | None) -> tuple[Sequence[StoredMessage], int]:
    """The rows a branch gets, and how many of the context's newest it leaves out (`settled`)."""
    if (refused := reader.branch_refusal(session_id)) is not None:
        raise refused
    if before is None:
        rows: Sequence[StoredMessage] = reader.live(session_id)
    else:
        rows = _rows_before(reader, session_id, before)
    taken = settled(rows)
    if not taken:
        raise NotBranchable("This session has no message in context that a branch can begin with.")
    return taken, len(rows) - len(taken)


def settled(rows: Sequence[StoredMessage]) -> Sequence[StoredMessage]:
    """Rows of a context without a last group of calls that waits for results: these will go to the session where the
    turn runs, and a branch would wait for them for ever.
    """
    return rows[: tool_groups.loose_ends([message_of(row) for row in rows]).running]


def _rows_before(reader: Reader, session_id: str, handoff_id: int) -> Sequence[StoredMessage]:
    """The rows that were in context before this compaction, in order, those taken back or superseded since included."""
    compaction = compaction_of(reader, session_id, handoff_id, index_cache.of(reader, session_id))
    ids = reader.context_before(session_id, compaction)
    rows = reader.messages(session_id, ids)
    if missing := len(ids) - len(rows):
        raise NotBranchable(
            f"{missing} of the messages from before this compaction no longer exist: the agent rewrote its transcript."
        )
    return [rows[row_id] for row_id in ids]
