"""A row of `messages` and its message: Hermes' NUL-json content form, tool calls, reasoning, flags.

Formats: `docs/hermes.md` section 1. Decoding never fails: what cannot be decoded stays text.
"""

from __future__ import annotations

import json
from typing import Any

from viewer import times
from viewer.stores.clean_text import sanitized
from viewer.stores.message import State, StoredMessage, Withheld

from .envelopes import ENVELOPES

JSON_MARK = "\x00json:"  # content that is a list or an object is stored as this mark and its JSON


def decode_content(stored: Any) -> Any:
    """The content of a stored value: text, or the value after the JSON mark; anything else stays unchanged."""
    if isinstance(stored, bytes):
        stored = stored.decode("utf-8", "replace")
    if not isinstance(stored, str) or not stored.startswith(JSON_MARK):
        return stored
    try:
        return _loads(stored[len(JSON_MARK) :])
    except (ValueError, RecursionError):
        return stored


def encode_content(content: Any) -> str | None:
    """The stored form of a content: the inverse of `decode_content`, lone surrogates replaced as the agent does."""
    if content is None:
        return None
    return sanitized(content) if isinstance(content, str) else JSON_MARK + json.dumps(content)


def decode_calls(stored: Any) -> list[dict[str, Any]]:
    """The tool calls in a stored JSON text; [] for none and for anything but a list of objects."""
    if not stored:
        return []
    try:
        calls = _loads(stored)
    except (ValueError, TypeError, RecursionError):
        return []
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _loads(text: str) -> Any:
    """JSON with lone surrogates replaced, which no database and no encoder accepts. Raises ValueError,
    RecursionError.
    """
    value = json.loads(text)
    if "\\ud" in text.lower():
        return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def state_of(active: Any, compacted: Any) -> State:
    """Live, under or out by the two flags; an unset `active` counts as 1, as the agent repairs it at its next start."""
    if active or active is None:
        return "live"
    return "under" if compacted else "out"


_PLAIN = {
    "id", "session_id", "role", "content", "active", "compacted", "timestamp", "tool_calls", "tool_call_id",
    "tool_name", "finish_reason", "_compressed_summary",
}  # fmt: skip
_WITHHELD = {"api_content": "It may hold memory meant for the model's provider alone."}
_REASONING = ("reasoning", "reasoning_content")


def decode_row(row: dict[str, Any]) -> StoredMessage:
    """A row from the database, column name -> value, as a message. Unknown columns are in `extra`."""
    return StoredMessage(
        id=row["id"],
        session_id=str(row.get("session_id") or ""),
        role=str(row.get("role") or ""),
        content=decode_content(row.get("content")),
        state=state_of(row.get("active", 1), row.get("compacted", 0)),
        timestamp=times.known(row.get("timestamp")),
        tool_calls=decode_calls(row.get("tool_calls")),
        tool_call_id=str(row.get("tool_call_id") or ""),
        tool_name=str(row.get("tool_name") or ""),
        reasoning=next((str(row[name]) for name in _REASONING if row.get(name)), ""),
        finish_reason=str(row.get("finish_reason") or ""),
        flagged=bool(row.get("_compressed_summary")),
        extra={
            name: _extra(name, value)
            for name, value in row.items()
            if value is not None and (name not in _PLAIN or (name == "timestamp" and times.known(value) != value))
        },
        envelopes=ENVELOPES if row.get("role") == "user" else None,
    )


def _extra(name: str, value: Any) -> Any:
    return Withheld(len(str(value)), _WITHHELD[name]) if name in _WITHHELD else value


def number(value: Any) -> float:
    """A stored number, 0.0 if it is not a number: SQLite columns contain any type, PostgreSQL's also NaN."""
    return float(value) if isinstance(value, (int, float)) and value == value else 0.0
