"""Which lines the client reads. Each field of each kind of line was tested with 0.171.0: the client silently skips a
line in which a field has another type than it expects, and ignores fields that it does not know.

A line, or an item, of a kind that is unknown here may come from a later client: its meaning is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from viewer.stores.jsonl.lines import Line, Place

Check = Callable[[Any], bool]

# The places of an object in a line that the client reads.
READS: tuple[Place, ...] = ("alone", "cut")
KINDS = frozenset(
    {
        "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state", "token_usage_record",
        "inter_agent_communication", "inter_agent_communication_metadata", "security_risk_score", "realtime_item",
        "xompacted", "xorld_state", "xurn_context", "xvent_msg",  # ours, of an undone compaction
    }
)  # fmt: skip
MODES = ("legacy", "paginated")  # of a file's history; a missing mode means the first
MOST = 2**64


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _count(value: Any) -> bool:
    return type(value) is int and 0 <= value < MOST


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _anything(value: Any) -> bool:
    return True


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _fields(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these fields; optional ones may be missing."""
    others = optional or {}

    def check(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and each(value[name]) for name, each in required.items())
            and all(each(value[name]) for name, each in others.items() if name in value)
        )

    return check


def _by_type(known: Mapping[str, Check]) -> Check:
    """An object that the check for its type accepts."""
    return lambda value: isinstance(value, dict) and known.get(str(value.get("type")), _nothing)(value)


def _nothing(value: Any) -> bool:
    return False


_PARTS = {
    "input_text": _fields({"text": _text}),
    "output_text": _fields({"text": _text}),
    "input_image": _fields({"image_url": _text}, {"detail": _or_none(_text)}),
    "input_audio": _anything,
    "input_file": _anything,
}
_CONTENT = _list_of(_by_type(_PARTS))
_OUTPUT: Check = lambda value: _text(value) or _CONTENT(value)  # noqa: E731
_AROUND = _fields({}, {"turn_id": _or_none(_text), "create_time": _or_none(_number)})
_NAMED: dict[str, Check] = {
    "id": _or_none(_text),
    "internal_chat_message_metadata_passthrough": lambda value: value in (None, []) or _AROUND(value),
}
_THOUGHTS = _list_of(_fields({"type": _text, "text": _text}))
ITEMS: dict[str, Check] = {
    "message": _fields({"role": _text, "content": _CONTENT}, {**_NAMED, "phase": _or_none(_text)}),
    "reasoning": _fields(
        {"summary": _THOUGHTS}, {**_NAMED, "content": _or_none(_THOUGHTS), "encrypted_content": _or_none(_text)}
    ),
    "function_call": _fields(
        {"name": _text, "arguments": _text, "call_id": _text}, {**_NAMED, "namespace": _or_none(_text)}
    ),
    "function_call_output": _fields({"call_id": _text, "output": _OUTPUT}, _NAMED),
    "custom_tool_call": _fields(
        {"name": _text, "input": _text, "call_id": _text}, {**_NAMED, "status": _or_none(_text)}
    ),
    "custom_tool_call_output": _fields({"call_id": _text, "output": _OUTPUT}, _NAMED),
    "agent_message": _fields({"author": _text, "recipient": _text, "content": _list_of(_anything)}, _NAMED),
    "additional_tools": _fields({"tools": _list_of(_anything)}, _NAMED),
    "compaction": _fields({"encrypted_content": _text}, _NAMED),
    "compaction_summary": _fields({"encrypted_content": _text}, _NAMED),
    **dict.fromkeys(
        (
            "context_compaction", "local_shell_call", "web_search_call", "image_generation_call", "tool_search_call",
            "tool_search_output", "mcp_tool_call_output", "ghost_snapshot", "compaction_trigger",
        ),
        _fields({}, _NAMED),
    ),
}  # fmt: skip
_SPOKEN = ("message", "function_call_output", "custom_tool_call_output")
_SOURCE = _fields(
    {"id": _fields({"message_id": _text, "turn_id": _text, "role": _text}), "revision": _text, "complete": _flag}
)
_COUNTS = dict.fromkeys(("history_sequence", "sampled_through_sequence", "user_input_order"), _or_none(_count))
_BESIDE = _fields(
    {},
    {**_COUNTS, "client_authored": _flag, "model_search_state": _or_none(_text), "retained_source": _or_none(_SOURCE)},
)
_LINE = _fields({"timestamp": _text, "type": _text, "payload": _anything}, {"ordinal": _or_none(_count)})
_META = _fields({"id": _text, "timestamp": _text, "cwd": _text, "originator": _text, "cli_version": _text})
_COMPACTED = _fields(
    {},
    {
        "message": _text,
        "window_number": _or_none(_count),
        **dict.fromkeys(("window_id", "first_window_id", "previous_window_id"), _or_none(_text)),
    },
)


def is_taken(line: Line) -> bool:
    """Whether the client reads the object of a line."""
    if line.place not in READS or not _LINE(line.object) or not is_text(line) or _has_halves(line.data or b""):
        return False
    assert line.object is not None
    kind, payload = line.object["type"], line.object["payload"]
    if not isinstance(payload, dict):
        return False
    if kind == "response_item":
        metadata = line.object.get("metadata")
        return is_sound(payload) and (metadata in (None, []) or _BESIDE(metadata))
    if kind == "compacted":
        history, metadata = payload.get("replacement_history"), payload.get("replacement_history_metadata")
        return _COMPACTED(payload) and (history is None or are_sound(history, metadata))
    return _META(payload) if kind == "session_meta" else True


def is_sound(item: Any) -> bool:
    """Whether the client reads an item. For an unknown type it sends something."""
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        return False
    return ITEMS.get(item["type"], _fields({}, _NAMED))(item)


def are_sound(history: Any, metadata: Any) -> bool:
    """Whether the client reads the history of a compaction's line, with its metadata."""
    if not isinstance(history, list) or not all(map(is_sound, history)):
        return False
    return metadata is None or (isinstance(metadata, list) and len(metadata) == len(history))


def is_text(line: Line) -> bool:
    """Whether a line is UTF-8."""
    try:
        (line.data or b"").decode()
    except ValueError:
        return False
    return True


def _has_halves(data: bytes) -> bool:
    """Whether a line has an escaped lone surrogate, which the client does not accept."""
    if b"\\ud" not in data and b"\\uD" not in data:
        return False
    try:
        json.dumps(json.loads(data), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return True
    return False


# -- what is not known -------------------------------------------------------------------------------------------------


def unknown_in(line: Line) -> str:
    """What in a line a later client may understand differently, in few words; "" for nothing."""
    if line.place not in READS or line.object is None:
        return ""
    kind, payload = line.object.get("type"), line.object.get("payload")
    if not isinstance(payload, dict):
        return ""
    if isinstance(kind, str) and kind not in KINDS:
        return f"a line “{kind[:60]}”"
    mode = payload.get("history_mode")
    if kind == "session_meta" and mode is not None and mode not in MODES:
        return f"the history mode “{str(mode)[:60]}”"
    history = payload.get("replacement_history") if kind == "compacted" else [payload]
    listed = history if kind in ("response_item", "compacted") and isinstance(history, list) else []
    return next(filter(None, map(_unknown_item, listed)), "")


def _unknown_item(item: Any) -> str:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(kind, (str, int)):
        return ""
    if kind not in ITEMS:
        return f"an item “{str(kind)[:60]}”"
    parts = item.get("content", item.get("output")) if kind in _SPOKEN else None
    named = [each.get("type") for each in parts if isinstance(each, dict)] if isinstance(parts, list) else []
    return next((f"a part “{each[:60]}”" for each in named if isinstance(each, str) and each not in _PARTS), "")
