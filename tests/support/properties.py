"""How often properties are tried, and what a compaction leaves out."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from compaction import Message
from compaction import messages as m

# Half of the transcripts have nothing to compact and are passed over.
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]

SETTINGS = settings(max_examples=90, deadline=None, suppress_health_check=SLOW)


def left_out(index: int, row: Message) -> str:
    """What the report says of a row that is left out wholly: a result, or a call that is a row of its own."""
    what = "a tool call without a result" if m.is_call_item(row) else "a tool result without its call"
    return f"Message {index + 1}: {what} was left out."
