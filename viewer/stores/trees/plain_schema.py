"""The known forms of pi's entries.

**The rule for unknown forms**: where an entry of another type, a message of another role, or an entry without an id may
influence what is sent, nothing is written to its file, nor to one with a newer header. Known are the forms of pi 0.73
to 1.6, whose files have version 3.
"""

from __future__ import annotations

import math
from typing import Any

VERSION, FIRST = 3, 1  # of files: the version that is written now, and that of a file whose header names none
TREE = 2  # the first version in which entries are a tree
TYPES = frozenset((
    "message", "thinking_level_change", "model_change", "usage", "compaction", "branch_summary", "custom",
    "custom_message", "context_edit", "label", "session_info",
))  # fmt: skip
# Roles that messages have, and the role of a chat that each is sent in; pi's own words about itself are no message.
ROLES = {
    "user": "user", "assistant": "assistant", "toolResult": "tool", "bashExecution": "user", "custom": "user",
    "branchSummary": "user",
}  # fmt: skip
HOOK = "hookMessage"  # the role of messages of extensions before they were called `custom`
LONGEST = 80  # characters that are said of a name


def unknown_in(value: dict[str, Any]) -> str:
    """The unknown part of an entry, "" where all of it is known."""
    kind = value.get("type")
    if kind == "session":
        return ""
    if not isinstance(kind, str) or kind not in TYPES:
        return f"an entry of the type “{str(kind)[:LONGEST]}”"
    if not isinstance(value.get("id"), str) or not value["id"]:
        return "an entry without an id"
    if not isinstance(value.get("parentId"), (str, type(None))):
        return "an entry whose parent is no id"
    if kind == "compaction" and not all(isinstance(value.get(each), str) for each in ("summary", "firstKeptEntryId")):
        return "a compaction that does not say what it keeps"
    if kind == "context_edit" and not _is_edit(value):
        return "an edit that does not say of what, or how"
    if kind != "message":
        return ""
    message = value.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not (role == "system" or (isinstance(role, str) and role in ROLES)):
        return f"a message of the role “{str(role)[:LONGEST]}”"
    return "" if isinstance(message.get("content"), (str, list, type(None))) else "a message whose content is no text"


def _is_edit(value: dict[str, Any]) -> bool:
    new = value.get("replacement", 0)
    has_words = isinstance(new, dict) and isinstance(new.get("content"), (str, list))
    return isinstance(value.get("targetId"), str) and (new is None or has_words)


def version_in(header: dict[str, Any]) -> float:
    """The version in a header, as pi compares it: NaN where it is something else."""
    version = header.get("version")
    if version is None:
        return FIRST
    return float(version) if isinstance(version, (int, float)) and abs(version) < 1e9 else math.nan
