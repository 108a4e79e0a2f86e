"""What OpenClaw records about a session outside its transcript: named fields of its entry, never the whole entry.

The whole is 20 to 40 kB of skills and a report on the system prompt, of which nothing is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .entries import MOST_TOKENS

LONGEST_TITLE = 300  # characters
MOST_OF_A_FAMILY = 1_000  # sessions
# The fields that are read.
FIELDS = (
    "displayName", "label", "subject", "autoLabel", "modelOverride", "model", "providerOverride", "modelProvider",
    "contextTokens", "totalTokens", "totalTokensFresh", "estimatedCostUsd", "spawnedBy", "parentSessionKey",
    "archivedAt", "pinnedAt", "sessionStartedAt", "updatedAt", "sessionId", "sessionFile", "spawnedCwd", "cwd",
    "usageFamilySessionIds",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NotedEntry:
    """The fields of a session entry. `tokens` are those in context and `window` the model's, None and 0 for unknown;
    `dollars` is the cost that the client estimates; `spawned_by` and `parent_key` are keys of sessions; `began` in
    epoch seconds, 0.0 for unknown; `family` are the earlier sessions of the conversation, oldest first, as far as
    clients before 2026.8 record them.
    """

    title: str = ""
    model: str = ""
    provider: str = ""
    cwd: str = ""
    window: int = 0
    tokens: int | None = None
    dollars: float | None = None
    spawned_by: str = ""
    parent_key: str = ""
    is_archived: bool = False
    is_pinned: bool = False
    began: float = 0.0
    session_id: str = ""
    file_name: str = ""
    family: tuple[str, ...] = ()


def noted_of(fields: Mapping[str, Any]) -> NotedEntry:
    """The values of these fields; a field of a wrong type counts as missing."""
    names = (_text(fields.get(name)) for name in ("label", "displayName", "subject", "autoLabel"))
    total = _number(fields.get("totalTokens"))
    dollars = fields.get("estimatedCostUsd")
    is_number = isinstance(dollars, (int, float)) and not isinstance(dollars, bool) and 0 <= dollars < 10**9
    family = fields.get("usageFamilySessionIds")
    family = family if isinstance(family, list) else []
    return NotedEntry(
        title=next((" ".join(each.split())[:LONGEST_TITLE] for each in names if each.strip()), ""),
        model=_text(fields.get("modelOverride")) or _text(fields.get("model")),
        provider=_text(fields.get("providerOverride")) or _text(fields.get("modelProvider")),
        cwd=_text(fields.get("spawnedCwd")) or _text(fields.get("cwd")),
        window=_number(fields.get("contextTokens")),
        tokens=total if total and fields.get("totalTokensFresh") not in (False, 0) else None,
        dollars=float(dollars) if is_number else None,  # type: ignore[arg-type]
        spawned_by=_text(fields.get("spawnedBy")),
        parent_key=_text(fields.get("parentSessionKey")),
        is_archived=bool(_number(fields.get("archivedAt"))),
        is_pinned=bool(_number(fields.get("pinnedAt"))),
        began=_number(fields.get("sessionStartedAt")) / 1000,
        session_id=_text(fields.get("sessionId")),
        file_name=_text(fields.get("sessionFile")).replace("\\", "/").rpartition("/")[2],
        family=tuple(each for each in family if isinstance(each, str))[-MOST_OF_A_FAMILY:],
    )


def source_of(agent: str, key: str) -> str:
    """The agent and the channel of a session, such as "main:telegram"."""
    parts = key.split(":")
    if len(parts) > 2 and parts[0] == "agent":
        return f"{parts[1]}:{parts[2]}"
    return f"{agent}:{parts[0]}" if parts[0] else agent


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value < 100 * MOST_TOKENS else 0
