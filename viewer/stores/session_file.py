"""The file of one session, as an agent wrote it, without its surroundings: which messages are in context.

The agent's own kind of store reads the file, in a directory that holds nothing else. What other files of the agent
would add (settings, sub-agents, the session that a fork began in) is missing.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from compaction.messages import Message
from viewer.stores.errors import StoreError

from .base import Store
from .message import message_of
from .registry import open_store

IN_QWEN = "0" * 32  # the id that a file of Qwen Code gets here: its own is only in the file's name
FIRST = 50  # lines that are read to find out which agent wrote the file
UNKNOWN = (
    "no list of messages, and no session of an agent that is known (Claude Code, Codex, Gemini CLI, OpenClaw, pi, Qwen "
    "Code)"
)
IN_TWO = "This file of Codex goes on from another one, without which it says little: compact the session where it lies."


def messages_of(data: bytes) -> list[Message]:
    """The messages in context, oldest first, as a model is sent them. Raises ValueError with a sentence for people."""
    kind, relative_path, session_id = _whose(data)
    with TemporaryDirectory() as home:
        path = Path(home, relative_path)
        path.parent.mkdir(parents=True)
        path.write_bytes(data)
        try:
            with open_store(Store("file", f"{kind}://{home}", "configured")) as reader:
                return [message_of(row) for row in reader.live(session_id)]
        except StoreError as problem:
            raise ValueError(str(problem)) from problem


def _whose(data: bytes) -> tuple[str, str, str]:
    """The kind of store, the relative path at which such a file is stored, and the session's id."""
    for entry in _entries(data):
        payload = entry.get("payload")
        if entry.get("type") == "session_meta" and isinstance(payload, dict) and _is_name(payload.get("id")):
            session = payload["id"]
            if payload.get("history_base"):
                raise ValueError(IN_TWO)
            return "codex", f"sessions/rollout-2026-01-01T00-00-00-{session}.jsonl", session
        if entry.get("type") == "session" and _is_name(entry.get("id")):
            session = entry["id"]
            if entry.get("version") in (1, 2, 3):  # pi's; OpenClaw's older files are in the same form
                return "pi", f"sessions/a/{session}.jsonl", session
            return "openclaw", f"agents/main/sessions/{session}.jsonl", session
        if _is_name(entry.get("sessionId")) and "projectHash" in entry:
            return "gemini", "tmp/a/chats/session-a.jsonl", entry["sessionId"]
        message = entry.get("message")
        if _is_name(entry.get("sessionId")) and isinstance(message, dict) and "parts" in message and "uuid" in entry:
            return "qwen", f"projects/a/chats/{IN_QWEN}.jsonl", IN_QWEN
        if _is_name(entry.get("sessionId")) and "parentUuid" in entry:
            session, agent = entry["sessionId"], entry.get("agentId")
            if entry.get("isSidechain") and _is_name(agent):
                return "claude-code", f"projects/a/{session}/subagents/agent-{agent}.jsonl", f"{session}/agent-{agent}"
            return "claude-code", f"projects/a/{session}.jsonl", session
    raise ValueError(f"This is {UNKNOWN}.")


def _entries(data: bytes) -> list[dict[str, Any]]:
    entries = []
    for line in data.split(b"\n", FIRST)[:FIRST]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        entries += [value] if isinstance(value, dict) else []
    return entries


def _is_name(value: object) -> bool:
    """Whether an id may be a part of a file's name."""
    return isinstance(value, str) and 0 < len(value) <= 100 and value.replace("-", "").replace("_", "").isalnum()
