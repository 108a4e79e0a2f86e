"""Transcripts of real agents beside the project, where they are."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

from compaction import Message
from compaction.handoff import FLAG

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def message(row: sqlite3.Row) -> Message:
    """A row of Hermes' `messages` as the engine reads it."""
    found: Message = {"role": row["role"], "content": row["content"]}
    if isinstance(row["content"], str) and row["content"].startswith("\0json:"):
        found["content"] = json.loads(row["content"][6:])
    if row["tool_calls"]:
        found["tool_calls"] = json.loads(row["tool_calls"])
    if row["tool_call_id"]:
        found["tool_call_id"] = row["tool_call_id"]
    if FLAG in row.keys() and row[FLAG]:  # noqa: SIM118  (a sqlite3.Row iterates over values)
        found[FLAG] = True
    return found
