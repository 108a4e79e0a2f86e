"""Sessions that the client wrote, which are kept in `tests/data/claude_code`, and what it sent of them.

`python -m tests.interop.claude_code.record` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.base import Block

RECORDED = Path(__file__).parents[2] / "data" / "claude_code"


def sent_of(recorded: Path) -> list[Block]:
    """What was sent of a session that was written down."""
    blocks = json.loads(recorded.with_suffix(f"{recorded.suffix}.sent.json").read_text(encoding="utf-8"))
    return [Block(**block) for block in blocks]
