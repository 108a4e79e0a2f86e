"""Items with other words: the engine changes messages of a chat, the client's files contain items of a response."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from compaction import messages as chat

from . import items


def with_changes(item: dict[str, Any], changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An item after the changes of its message: one item, or none where its call was left out."""
    kind = item.get("type")
    if kind in items.OUTPUTS:
        return [{**item, "output": _output(changes["content"])}] if "content" in changes else [item]
    if kind in items.CALLS:
        return _call(item, changes) if "tool_calls" in changes else [item]
    if kind == "message" and item.get("role") != "assistant" and "content" in changes:
        return [{**item, "content": _parts(changes["content"])}]
    return [item]


def _output(content: Any) -> Any:
    return content if isinstance(content, str) else _parts(content)


def _parts(content: Any) -> list[Any]:
    """Text parts in the client's form: it skips a whole line that has any other part."""
    if not isinstance(content, list):
        return [{"type": "input_text", "text": chat.said(content)}]
    return [_part(part) for part in content]


def _part(part: Any) -> Any:
    return (
        {"type": "input_text", "text": part["text"]} if isinstance(part, dict) and part.get("type") == "text" else part
    )


def _call(item: dict[str, Any], changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A call with its new arguments."""
    calls = {call.get("id"): call["function"]["arguments"] for call in changes["tool_calls"] or ()}
    if item.get("call_id") not in calls:
        return []
    arguments = calls[item["call_id"]]
    if item.get("type") == "custom_tool_call":
        return [{**item, "input": arguments}]
    if isinstance(item.get("arguments"), str):
        return [{**item, "arguments": arguments}]
    return [_with_object(item, arguments)]


def _with_object(item: dict[str, Any], arguments: str) -> dict[str, Any]:
    """A call whose arguments are an object; unchanged where the new arguments are not an object."""
    name = "arguments" if "arguments" in item else "action"
    try:
        value = json.loads(arguments)
    except ValueError:
        return item
    return {**item, name: value} if isinstance(value, dict) and name in item else item
