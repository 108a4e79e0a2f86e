"""What the client notes of its compactions, in the boundary and the summary behind it."""

from __future__ import annotations

from typing import Any, BinaryIO

from viewer.stores.message import ReportedCompaction

from .codec import read_value
from .records import MOST_TOKENS
from .transcript import SessionMessages, summary_of

LONGEST_TRIGGER = 40  # characters


def reported(file: BinaryIO, found: SessionMessages, handoff: int) -> ReportedCompaction | None:
    """What is noted of the compaction with this summary; None where nothing is."""
    boundary = next((each.record for each in found.boundaries if each.handoff == handoff), None)
    if boundary is None:
        return None
    facts = _of(read_value(file, boundary), "compactMetadata")
    summary = found.tree.nodes.get(summary_of(found.tree, boundary.uuid))
    chosen = _of(read_value(file, summary) if summary else None, "summarizeMetadata").get("direction")
    trigger = facts.get("trigger")
    made = ReportedCompaction(
        trigger=trigger[:LONGEST_TRIGGER] if isinstance(trigger, str) else "",
        tokens_before=_tokens(facts, "preTokens"),
        tokens_after=_tokens(facts, "postTokens"),
        scope=chosen if chosen in ("up_to", "from") else "",
    )
    return made if made != ReportedCompaction("", None, None, "") else None


def _of(value: dict[str, Any] | None, name: str) -> dict[str, Any]:
    found = (value or {}).get(name)
    return found if isinstance(found, dict) else {}


def _tokens(facts: dict[str, Any], name: str) -> int | None:
    value = facts.get(name)
    return value if isinstance(value, int) and 0 < value < MOST_TOKENS else None
