"""How properties are tried, what a compaction leaves out, and what it must not."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, settings

from compaction import Message
from compaction import messages as m

# Half of the transcripts have nothing to compact and are passed over.
UNHURRIED = [HealthCheck.too_slow, HealthCheck.filter_too_much]


SETTINGS = settings(suppress_health_check=UNHURRIED)


def left_out(index: int, row: Message) -> str:
    """What the report says of a row that is left out wholly: a result, or a call that is a row of its own."""
    what = "a tool call without a result" if m.is_call_item(row) else "a tool result without its call"
    return f"Message {index + 1}: {what} was left out."


def unpaired(messages: list[Message]) -> int:
    """Calls and results without partner, every id read where any of the shapes has it."""
    waiting: list[str] = []
    orphans = 0
    for row in messages:
        calls = row.get("tool_calls") or []
        calls = json.loads(calls) if isinstance(calls, str) else calls
        blocks = [b for b in row["content"] if isinstance(b, dict)] if isinstance(row.get("content"), list) else []
        waiting += [c.get("call_id") or c["id"] for c in calls] + [b["id"] for b in blocks if b["type"] == "tool_use"]
        named = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        named += [row.get("tool_call_id") or row["call_id"]] if row["role"] == "tool" else []
        for id_ in named:
            if id_ in waiting:
                waiting.remove(id_)
            else:
                orphans += 1
    return orphans + len(waiting)
