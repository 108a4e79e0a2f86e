"""Pictures, and references to files, that OpenClaw no longer sends: those before the newest completed turns.

The transcript keeps them. A turn is a person's message and everything up to the next one; it is completed once the
model has replied and the next one begins. The rule is that of 2026.7 and 2026.9.6, which apply it to each request.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viewer.stores.message import StoredMessage
from viewer.stores.trees.messages import EntryMessages
from viewer.stores.trees.records import MESSAGE, OWN_RECORD

TURNS = 3  # completed turns whose pictures are sent
PICTURE = "[image data removed - already processed by model]"
FILE = "[media reference removed - already processed by model]"
_MARKS = (
    re.compile(r"\[media attached(?:\s+\d+/\d+)?:\s*[^\]]+\]", re.IGNORECASE),
    re.compile(r"\[Image:\s*source:\s*[^\]]+\]", re.IGNORECASE),
    re.compile(r"\bmedia://inbound/[^\]\s/\\]+", re.ASCII),
)


def as_sent(messages: EntryMessages, rows: Mapping[int, StoredMessage]) -> dict[int, StoredMessage]:
    """Messages in context as the next request contains them."""
    changed = {
        each: replace(row, content=content)
        for each, row in rows.items()
        if row.role in ("user", "tool") and not row.flagged and (content := _without(row.content)) != row.content
    }
    if not changed:
        return dict(rows)
    aged = set(messages.live[: _kept_from(messages)])
    return {each: changed[each] if each in changed and each in aged else row for each, row in rows.items()}


def _kept_from(messages: EntryMessages) -> int:
    """The position in the context from which on pictures are sent."""
    completed: list[int] = []
    begun, has_reply, role = -1, False, ""
    for at, each in enumerate(messages.live):
        unit = messages.units[each]
        if unit.type != MESSAGE or messages.role_of(each) == OWN_RECORD and not unit.is_broken_off:
            continue
        role = unit.message_role
        if role == "user":
            completed += [begun] if has_reply else []
            begun, has_reply = at, False
        elif role == "toolResult" and begun < 0:
            begun = at
        elif role == "assistant" and begun >= 0:
            has_reply = True
    if has_reply and role == "assistant" and not messages.units[messages.live[-1]].calls:
        completed.append(begun)  # the next request begins another turn
    return completed[-TURNS] if len(completed) > TURNS else 0


def _without(content: Any) -> Any:
    """A content without pictures and references to files."""
    if isinstance(content, str):
        for mark in _MARKS:
            content = mark.sub(FILE, content)
        return content
    return [_part_without(part) for part in content] if isinstance(content, list) else content


def _part_without(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    if part.get("type") == "image":
        return {"type": "text", "text": PICTURE}
    is_text = part.get("type") == "text" and isinstance(part.get("text"), str)
    return part | {"text": _without(part["text"])} if is_text else part
