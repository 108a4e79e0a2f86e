"""Sessions of OpenClaw's made of entries, in a file or in a database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.contract.openclaw import OpenClawByHand
from tests.contract.pi import said

Value = dict[str, Any]
HEADER: Value = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-07-01T10:00:00.000Z", "cwd": "/w"}


def talked(count: int) -> list[Value]:
    """So many requests and replies, each of which hangs on the one before it."""
    made = []
    for at in range(count):
        role = "assistant" if at % 2 else "user"
        entry = {"type": "message", "id": f"e{at}", "parentId": f"e{at - 1}" if at else None}
        stamp = f"2026-07-01T10:00:{at:02}.000Z"
        made.append(entry | {"timestamp": stamp, "message": said({"role": role, "content": f"words{at}"})})
    return made


def stored(root: Path, form: str, entries: Sequence[Value], header: Value = HEADER) -> OpenClawByHand:
    """A store with one session of these entries."""
    agent = OpenClawByHand(root)
    if form == "database":
        agent.begin("agent:main:s", "s", {"sessionId": "s"})
        agent.sql("DELETE FROM transcript_events")
        for at, entry in enumerate([header, *entries]):
            agent.sql("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', ?, ?, 1)",
                      at, json.dumps(entry))  # fmt: skip
        return agent
    directory = root / "agents" / "main" / "sessions"
    directory.mkdir()
    (directory / "s.jsonl").write_text("".join(json.dumps(each) + "\n" for each in [header, *entries]))
    (directory / "sessions.json").write_text(json.dumps({"agent:main:s": {"sessionId": "s"}}))
    return agent
