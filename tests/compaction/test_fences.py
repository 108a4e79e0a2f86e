"""Fences of code blocks: which line opens one, which closes it, what is open at the end."""

from __future__ import annotations

import pytest

from compaction.llm.answers import breaks_off
from compaction.text import fences


@pytest.mark.parametrize(
    ("text", "fence"),
    [
        ("```python\nx = 1\n```", ""),
        ("```\nx = 1", "```"),
        ("~~~\n```\n~~~", ""),
        ("~~~\n```\nx", "~~~"),
        ("````\n```\nx", "````"),
        ("````\n`````", ""),
        ("```\n``` no end", "```"),
        ("```inline``` code", ""),
        ("    ```", ""),
        ("``", ""),
    ],
)
def test_the_fence_that_is_open_at_the_end(text: str, fence: str) -> None:
    assert fences.open_behind(text.splitlines()) == fence


def test_a_summary_that_ends_inside_a_block_breaks_off_whatever_its_fence() -> None:
    assert breaks_off("Run this:\n~~~\nmake test")
    assert not breaks_off("Run this:\n~~~\n```\n~~~\nIt passed.")
