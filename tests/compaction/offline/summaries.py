"""Summaries written without a model, taken apart by their headings."""

from __future__ import annotations

import json
from typing import Any

from compaction import Message, SummaryRequest, offline
from compaction.sections import DONE, TITLES
from tests.compaction.transcripts import count, reply, result, user


def request(turns: list[Message], **changes: Any) -> SummaryRequest:
    values = {"previous_summary": "", "focus": "", "budget_tokens": 2_000, "today": None, "count": count, **changes}
    return SummaryRequest(sources=tuple(turns), **values)


def sections(turns: list[Message], **changes: Any) -> dict[str, list[str]]:
    """The lines of each section of a summary."""
    return taken_apart(offline.summarize(request(turns, **changes)))


def taken_apart(text: str) -> dict[str, list[str]]:
    blocks = [block.splitlines() for block in f"\n{text}".split("\n## ")[1:]]
    titles = [block[0] for block in blocks]
    assert titles == [title for title in TITLES if title in titles], "in their order, none twice"
    return dict.fromkeys(TITLES, []) | {block[0]: [line for line in block[1:] if line] for block in blocks}


def step(id_: str, name: str, arguments: dict[str, Any], output: str | None = "ok", **more: Any) -> list[Message]:
    """A call and, unless it is None, its result."""
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    made: Message = {**reply(""), "tool_calls": [call], **more}
    return [made] if output is None else [made, {**result(id_, output), **more}]


def done(*steps: list[Message]) -> list[str]:
    """What is told of these calls as done."""
    return sections([user("Work on it."), *(row for each in steps for row in each)])[DONE]
