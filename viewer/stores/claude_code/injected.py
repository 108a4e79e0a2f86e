"""Texts in a user's role that nobody typed: what the client adds of itself, by their first words."""

from __future__ import annotations

import re
from typing import Any

from compaction import messages as chat

KIND = "added by Claude Code"
_STARTS = re.compile(
    r"\s*(<(command-name|command-message|local-command-|session-start-hook|task-notification|system-reminder|bash-)"
    r"|\[Request interrupted by user|Continue from where you left off\.$)"
)


def is_injected(value: dict[str, Any]) -> bool:
    """Whether a user's line was written by the client itself."""
    message = value.get("message")
    if not isinstance(message, dict):
        return False
    return bool(value.get("isMeta")) or _STARTS.match(chat.said(message.get("content"))[:200]) is not None
