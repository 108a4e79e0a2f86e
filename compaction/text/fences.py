"""Fences of code blocks in Markdown, as CommonMark reads them (section 4.5).

A line that is indented by four blanks or more is no fence; where a model writes one inside a list, strip its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})[ \t]*(.*)")


def fence_of(line: str) -> tuple[str, bool]:
    """The fence that a line is, and whether nothing follows it there; ("", False) for any other line."""
    match = _FENCE.match(line) if "```" in line or "~~~" in line else None
    return (match[1], not match[2].strip()) if match else ("", False)


def closes(line: str, opened: str) -> bool:
    """Whether a line ends the block that the fence `opened` began: with its character, as often or more."""
    fence, bare = fence_of(line)
    return bare and fence.startswith(opened)


def open_behind(lines: Iterable[str], opened: str = "") -> str:
    """The fence that is open behind these lines, "" for none; `opened` is the one before them."""
    for line in lines:
        if not opened:
            opened = fence_of(line)[0]
        elif closes(line, opened):
            opened = ""
    return opened
