"""What OpenClaw records about a session outside its transcript: named fields of its entry, never the whole entry.

The whole is 20 to 40 kB of skills and a report on the system prompt, of which nothing is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from viewer.stores.changes import Json
from viewer.stores.errors import StoreReadOnly
from viewer.stores.trees.paths import LONGEST_TITLE, SessionFields, SessionLocation
from viewer.stores.trees.records import MOST_TOKENS

MOST_OF_A_FAMILY = 1_000  # sessions
# The fields that are read.
FIELDS = (
    "displayName", "label", "subject", "autoLabel", "modelOverride", "model", "providerOverride", "modelProvider",
    "contextTokens", "totalTokens", "totalTokensFresh", "estimatedCostUsd", "spawnedBy", "parentSessionKey",
    "archivedAt", "pinnedAt", "sessionStartedAt", "updatedAt", "sessionId", "sessionFile", "spawnedCwd", "cwd",
    "usageFamilySessionIds",
)  # fmt: skip


def noted_of(fields: Mapping[str, Any]) -> SessionFields:
    """The values of these fields; a field of a wrong type counts as missing."""
    names = (_text(fields.get(name)) for name in ("label", "displayName", "subject", "autoLabel"))
    total = _number(fields.get("totalTokens"))
    dollars = fields.get("estimatedCostUsd")
    is_number = isinstance(dollars, (int, float)) and not isinstance(dollars, bool) and 0 <= dollars < 10**9
    family = fields.get("usageFamilySessionIds")
    family = family if isinstance(family, list) else []
    return SessionFields(
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


# -- the fields that a branch inherits, as in the client's own forks ---------------------------------------------------

NO_FORK = (
    "OpenClaw restricts this session in ways that only OpenClaw can pass on to a branch of it: fork it there. Nothing "
    "was written."
)
# Fields with which the client restricts a session in ways that are not copied.
RESTRICTIONS = (
    "sandbox", "incognito", "repositoryWorkspaceId", "worktree", "modelSelectionLocked", "pluginOwnerId", "acp",
)  # fmt: skip
# What a person chose for the session; its model only where it was not the client's choice.
CHOICES = (
    "contextWindow", "thinkingLevel", "fastMode", "toolOverrides", "verboseLevel", "traceLevel", "reasoningLevel",
    "elevatedLevel", "spawnedCwd",
)  # fmt: skip
MODEL_CHOICES = (
    "providerOverride", "modelOverride", "modelOverrideSource", "modelOverrideRouteResolution", "agentRuntimeOverride",
    "authProfileOverride", "authProfileOverrideSource",
)  # fmt: skip
BRANCH_FIELDS = (*RESTRICTIONS, *CHOICES, *MODEL_CHOICES)  # all that are read


def choices(entry: Mapping[str, Any]) -> Json:
    """The fields of a session's entry that a branch of it has as well. Raises StoreReadOnly where the session is
    restricted.
    """
    if any(entry.get(name) for name in RESTRICTIONS):
        raise StoreReadOnly(NO_FORK)
    is_own = entry.get("modelOverrideSource") != "auto"
    names = (*CHOICES, *(MODEL_CHOICES if is_own else ()))
    return {name: entry[name] for name in names if entry.get(name) is not None}


def title(location: SessionLocation) -> Json:
    """The name of a branch; no field for a session without a name."""
    return {"displayName": f"{location.fields.title} (branch)"} if location.fields.title else {}


def new_key(location: SessionLocation) -> str:
    """A new key, in the client's form for a conversation that only its own pages use."""
    return f"agent:{location.agent}:dashboard:{uuid4()}".lower()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value < 100 * MOST_TOKENS else 0
