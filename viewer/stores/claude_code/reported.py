"""What the client records about its compactions, in the boundary and the summary after it."""

from __future__ import annotations

from typing import Any, BinaryIO

from viewer.stores.message import ReportedCompaction

from .codec import read_value
from .records import MOST_TOKENS, object_in
from .transcript import SessionMessages, summary_of

LONGEST_TRIGGER = 40  # characters


def reported(file: BinaryIO, conversation: SessionMessages, handoff: int) -> ReportedCompaction | None:
    """What is recorded about the compaction with this summary; None for nothing."""
    boundary = next((each.record for each in conversation.compactions if each.handoff == handoff), None)
    if boundary is None:
        return None
    facts = object_in(read_value(file, boundary) or {}, "compactMetadata")
    summary = conversation.tree.nodes.get(summary_of(conversation.tree, boundary.uuid))
    summary_value = read_value(file, summary) if summary else None
    chosen = object_in(summary_value or {}, "summarizeMetadata").get("direction")
    trigger = facts.get("trigger")
    result = ReportedCompaction(
        trigger=trigger[:LONGEST_TRIGGER] if isinstance(trigger, str) else "",
        tokens_before=_tokens(facts, "preTokens"),
        tokens_after=_tokens(facts, "postTokens"),
        scope=chosen if chosen in ("up_to", "from") else "",
    )
    return result if result != ReportedCompaction("", None, None, "") else None


def _tokens(facts: dict[str, Any], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and 0 < value < MOST_TOKENS else None
