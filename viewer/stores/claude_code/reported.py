"""What the client notes of its compactions, in the boundary and the summary behind it."""

from __future__ import annotations

from typing import Any, BinaryIO

from viewer.stores.message import ReportedCompaction

from .codec import read_value
from .records import MOST_TOKENS, object_in
from .transcript import SessionMessages, summary_of

LONGEST_TRIGGER = 40  # characters


def reported(file: BinaryIO, found: SessionMessages, handoff: int) -> ReportedCompaction | None:
    """What is noted of the compaction with this summary; None where nothing is."""
    boundary = next((each.record for each in found.boundaries if each.handoff == handoff), None)
    if boundary is None:
        return None
    facts = object_in(read_value(file, boundary) or {}, "compactMetadata")
    summary = found.tree.nodes.get(summary_of(found.tree, boundary.uuid))
    noted = read_value(file, summary) if summary else None
    chosen = object_in(noted or {}, "summarizeMetadata").get("direction")
    trigger = facts.get("trigger")
    made = ReportedCompaction(
        trigger=trigger[:LONGEST_TRIGGER] if isinstance(trigger, str) else "",
        tokens_before=_tokens(facts, "preTokens"),
        tokens_after=_tokens(facts, "postTokens"),
        scope=chosen if chosen in ("up_to", "from") else "",
    )
    return made if made != ReportedCompaction("", None, None, "") else None


def _tokens(facts: dict[str, Any], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and 0 < value < MOST_TOKENS else None
