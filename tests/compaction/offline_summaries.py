"""Summaries written without a model, taken apart by their headings."""

from __future__ import annotations

from typing import Any

from compaction import Message, SummaryRequest, offline
from compaction.sections import ALL_TITLES
from tests.compaction.transcripts import count

HEADINGS = [f"## {title}" for title in ALL_TITLES]


def request(turns: list[Message], **changes: Any) -> SummaryRequest:
    values = {"previous_summary": "", "focus": "", "budget_tokens": 2_000, "today": None, "count": count, **changes}
    return SummaryRequest(sources=tuple(turns), **values)


def sections(turns: list[Message], **changes: Any) -> dict[str, list[str]]:
    """The lines of each section of a summary."""
    text = offline.summarize(request(turns, **changes))
    blocks = [block.splitlines() for block in text.split("\n\n")[1:]]
    headings = [block[0] for block in blocks]
    assert headings == [heading for heading in HEADINGS if heading in headings]
    return dict.fromkeys(ALL_TITLES, []) | {block[0].removeprefix("## "): block[1:] for block in blocks}
