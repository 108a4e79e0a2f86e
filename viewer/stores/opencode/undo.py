"""Taking a compaction of ours back, and applying it again: its rows are removed, and added as they were."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace

from viewer.stores.changes import COVERED, IN_EFFECT, Json, UndoPlan
from viewer.stores.errors import CompactionConflict, NotRedoable
from viewer.stores.transcript import Boundary

from . import encode
from .commit import NOT_AS_MEANT
from .records import with_rows
from .replay import CompactedPair, OpenCodeMessages

GONE = "This compaction is no longer in the session."
NOT_OURS = (
    "OpenCode made this compaction. What it wrote is not removed here: go back to before it in OpenCode (/undo, /fork)."
)
WRITTEN_TO = "The session was written to meanwhile. Look at it, then try again."
LEFT = "The session went on from before this compaction, or was compacted since: compact again."


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """What an undo writes: the messages that it removes, and the messages in context after that."""

    session_id: str
    ids: Sequence[str]
    live: Sequence[int]
    handoff: int


def refused(reason: str) -> UndoPlan:
    return UndoPlan((), (), (), reason)


def taken(messages: OpenCodeMessages, compaction: Json | Boundary) -> CompactedPair | None:
    """A compaction that is in the session, by its receipt or its boundary."""
    if isinstance(compaction, Boundary):
        return next((each for each in messages.compactions if each.handoff == compaction.handoff_id), None)
    return next((each for each in messages.compactions if each.summary.id == compaction["summary"]), None)


def plan(session_id: str, messages: OpenCodeMessages, compaction: Json | Boundary) -> UndoPlan:
    """What taking a compaction back would do now, or why it cannot be done."""
    in_effect = taken(messages, compaction)
    if in_effect is None:
        return refused(GONE)
    if isinstance(compaction, Boundary):
        return refused(NOT_OURS)
    if in_effect is not messages.compactions[-1]:
        return refused(COVERED)
    ids = (in_effect.request.id, in_effect.summary.id)
    after = _without(messages, ids)
    before, now = set(messages.live), set(after.live)
    return UndoPlan(
        restored=tuple(each for each in after.live if each not in before),
        hidden=tuple(each for each in messages.live if each not in now),
        later=tuple(each for each in after.live if each > in_effect.handoff and each in before),
        refusal="",
        what=RemovedRows(session_id, ids, after.live, in_effect.handoff),
    )


def undo(con: sqlite3.Connection, messages: OpenCodeMessages, what: RemovedRows) -> Json:
    """Remove the rows; returns the receipt. Raises CompactionConflict where the context would not be the one meant."""
    if not messages.compactions or messages.compactions[-1].summary.id != what.ids[1]:
        raise CompactionConflict(WRITTEN_TO)
    if _without(messages, what.ids).live != what.live or encode.delete(con, what.ids) != len(what.ids):
        raise CompactionConflict(WRITTEN_TO)
    return {"handoff": what.handoff}


def _without(messages: OpenCodeMessages, ids: Sequence[str]) -> OpenCodeMessages:
    return replace(messages, records=[record for record in messages.records if record.id not in ids])


def check_redo(messages: OpenCodeMessages, receipt: Json) -> None:
    """Raise NotRedoable where the undone commit with this receipt cannot be applied again."""
    if taken(messages, receipt) is not None:
        raise NotRedoable(IN_EFFECT)
    before = receipt["before"]
    if messages.live[: len(before)] != before:
        raise NotRedoable(LEFT)


def redo(con: sqlite3.Connection, messages: OpenCodeMessages, receipt: Json) -> None:
    """Add the rows again, at their former place. Raises NotRedoable, CompactionConflict."""
    check_redo(messages, receipt)
    encode.insert(con, receipt["rows"])
    after = OpenCodeMessages(with_rows(con, messages.records, encode.messages_of(receipt["rows"])))
    if after.live != [*receipt["after"], *messages.live[len(receipt["before"]) :]]:
        raise CompactionConflict(NOT_AS_MEANT)
