"""Sessions of Claude Code as messages."""

from __future__ import annotations

import json
from pathlib import Path

from compaction import Message
from tests.compaction.shared_data import DATA

SESSIONS = DATA / "claude-code"


def session(path: Path) -> list[Message]:
    """The messages of a Claude Code session, an answer of several rows as one; its own summaries are left out."""
    found: list[Message] = []
    answer = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("type") not in ("user", "assistant") or row.get("isMeta") or row.get("isCompactSummary"):
            continue
        content, id_ = row["message"].get("content"), row["message"].get("id") or ""
        if row["type"] == "assistant" and id_ and id_ == answer:
            found[-1]["content"].extend(content)
            continue
        answer = id_ if row["type"] == "assistant" else ""
        content = content if isinstance(content, str) else list(content)
        found.append({"role": row["type"], "content": content, "timestamp": row.get("timestamp")})
    return found
