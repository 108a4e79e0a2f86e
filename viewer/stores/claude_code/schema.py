"""Lines in a form that no tested client writes: they are read as far as possible, and nothing is appended to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

IN_TREE = ("user", "assistant", "system", "attachment", "progress")
MESSAGE_TYPES = ("user", "assistant")
BOUNDARY = "compact_boundary"  # the subtype of the record that begins a compaction
MICROCOMPACTED = "microcompact_boundary"  # the subtype of a record that old tool results were cleared
# Other subtypes of a "system" record; an unlisted one may be any note, but not a boundary.
_NOTES = (
    None, "turn_duration", "stop_hook_summary", "local_command", "api_error", "away_summary", "informational",
    "bridge_status", "scheduled_task_fire", "agents_killed", MICROCOMPACTED,
)  # fmt: skip
MARK = "palimpsest"  # a key of ours in a boundary's metadata, which the client keeps
# Keys in the metadata of boundaries of 2.0 to 2.1.332; and the keys that name kept messages.
_METADATA = {
    "trigger", "preTokens", "postTokens", "durationMs", "cumulativeDroppedTokens", "messagesSummarized",
    "preCompactDiscoveredTools", "preCompactOrganizationsCoverStart", "runningTurnPrompt", MARK,
}  # fmt: skip
_KEEPS = {
    "preservedMessages": {"anchorUuid", "uuids", "allUuids"},
    "preservedSegment": {"headUuid", "anchorUuid", "tailUuid"},
}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LONGEST_NAME = 60  # characters of a name that are shown


def unknown_in(value: Mapping[str, Any]) -> str:
    """The unknown part of a conversation's record, worded for the middle of a sentence; "" where its form is known."""
    kind, subtype = value.get("type"), value.get("subtype")
    if kind not in IN_TREE:
        return f"a record of the type {_named(kind)}"
    if kind in MESSAGE_TYPES and not _is_message(value.get("message")):
        return f"a record of the type {_named(kind)} without a message"
    if kind != "system":
        return ""
    if subtype == BOUNDARY:
        return next((f"a compaction with {_named(name)}" for name in _unknown_keys(value.get("compactMetadata"))), "")
    is_like_one = "boundary" in str(subtype) or not {"compactMetadata", "logicalParentUuid"}.isdisjoint(value)
    return f"a boundary {_named(subtype)}" if is_like_one and subtype not in _NOTES else ""


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("content"), (str, list))


def _unknown_keys(metadata: Any) -> Iterator[str]:
    """The keys by which a boundary may say, in an unknown way, what it keeps or drops."""
    for name, value in metadata.items() if isinstance(metadata, dict) else ():
        if name in _KEEPS:
            inner = value if isinstance(value, dict) else {name: value}
            yield from _naming((f"{name}.{each}", field) for each, field in inner.items() if each not in _KEEPS[name])
        elif name not in _METADATA:
            yield from _naming([(name, value)])


def _naming(pairs: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Those of these keys whose values name records."""
    return (name for name, value in pairs if _UUID.search(str(value)))


def _named(name: Any) -> str:
    return f"“{name[:LONGEST_NAME]}”" if isinstance(name, str) and name else "that is not named"
