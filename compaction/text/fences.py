"""Fences of code blocks in Markdown, as CommonMark reads them (section 4.5).

A line indented by four or more spaces is not a fence. Models write such fences inside lists: strip the lines first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)")


def fence_of(line: str) -> tuple[str, bool]:
    """The fence on this line, and whether nothing follows it; ("", False) if the line is not a fence."""
    match = _FENCE.match(line) if "```" in line or "~~~" in line else None
    return (match[1], not match[2].strip()) if match else ("", False)


def closes(line: str, opened: str) -> bool:
    """Whether a line closes the block that the fence `opened` began: the same character, at least as often."""
    fence, bare = fence_of(line)
    return bare and fence.startswith(opened)


def open_behind(lines: Iterable[str], opened: str = "") -> str:
    """The fence that is still open after these lines, "" if none is; `opened` is the fence open before them."""
    for line in lines:
        if not opened:
            opened = fence_of(line)[0]
        elif closes(line, opened):
            opened = ""
    return opened
