"""How OpenClaw classifies an entry: a member of its tree, a leaf that is set, a mere link between others, or nothing.

A member of the tree must have the fields that the client requires for its type. Any other entry that has an id and a
parent is a link: its children become children of its parent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .plain_schema import LONGEST

KNOWN, LEAF_SET, LINK, NOTHING = "known", "leaf", "link", ""
ROLES = ("user", "assistant", "toolResult", "custom", "bashExecution")  # of messages
REASONS = ("new", "reset", "idle", "daily", "cron-stale")  # of a reset

Value = dict[str, Any]


def form_of(value: Value) -> str:
    """The class of an entry: KNOWN, LEAF_SET, LINK or NOTHING."""
    kind = value.get("type")
    if kind == "session" or not _filled(value, "id"):
        return NOTHING
    check = _CHECKS.get(kind) if isinstance(kind, str) else None
    if check is not None and _is_base(value) and check(value):
        return KNOWN
    if not _is_id(value, "parentId"):
        return NOTHING
    if kind != "leaf":
        return LINK
    is_set = _is_id(value, "targetId") and ("appendParentId" not in value or _is_id(value, "appendParentId"))
    return LEAF_SET if is_set and value.get("appendMode", "side") == "side" else NOTHING


def unknown_in(value: Value) -> str:
    """The unknown type, role or field of an entry that is not KNOWN."""
    kind, message = value.get("type"), value.get("message")
    if not isinstance(kind, str) or (kind not in _CHECKS and kind != "leaf"):
        return f"an entry of the type “{str(kind)[:LONGEST]}”"
    role = message.get("role") if isinstance(message, dict) else None
    if kind == "message" and role not in ROLES:
        return f"a message of the role “{str(role)[:LONGEST]}”"
    return f"an entry of the type “{kind}” without all that such a one has"


def _is_base(value: Value) -> bool:
    has_parent = "parentId" not in value or _is_id(value, "parentId")
    return has_parent and isinstance(value.get("timestamp", ""), str)


def _is_id(value: Value, name: str) -> bool:
    """Whether it has a text or null under a name."""
    return name in value and (value[name] is None or isinstance(value[name], str))


def _filled(value: Value, name: str) -> bool:
    return isinstance(value.get(name), str) and bool(value[name])


def _texts(value: Value, *names: str) -> bool:
    return all(isinstance(value.get(name), str) for name in names)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_content(content: Any) -> bool:
    if isinstance(content, list):
        return all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in content)
    return isinstance(content, str)


def _is_message(value: Value) -> bool:
    message = value.get("message")
    if not isinstance(message, dict):
        return False
    role, content = message.get("role"), message.get("content")
    if role in ("user", "assistant"):
        return _is_content(content)
    if role == "toolResult":
        named = _texts(message, "toolCallId", "toolName") and isinstance(message.get("isError"), bool)
        return named and isinstance(content, list)
    if role == "custom":  # one without a type comes from an old hook
        return isinstance(message.get("customType", ""), str) and _is_content(content)
    return role == "bashExecution" and _texts(message, "command", "output")


def _is_compaction(value: Value) -> bool:
    return _texts(value, "summary") and _filled(value, "firstKeptEntryId") and _is_number(value.get("tokensBefore"))


def _is_reset(value: Value) -> bool:
    return value.get("reason") in REASONS and isinstance(value.get("firstKeptEntryId", ""), str)


def _is_custom_message(value: Value) -> bool:
    named = _filled(value, "customType") and isinstance(value.get("display"), bool)
    return named and _is_content(value.get("content"))


_CHECKS: dict[str, Callable[[Value], bool]] = {
    "message": _is_message,
    "thinking_level_change": lambda value: _filled(value, "thinkingLevel"),
    "model_change": lambda value: _filled(value, "provider") and _filled(value, "modelId"),
    "compaction": _is_compaction,
    "reset": _is_reset,
    "branch_summary": lambda value: _texts(value, "fromId", "summary"),
    "custom": lambda value: _filled(value, "customType"),
    "custom_message": _is_custom_message,
    "label": lambda value: _filled(value, "targetId") and isinstance(value.get("label", ""), str),
    "session_info": lambda value: isinstance(value.get("name", ""), str),
}
