"""Which fields of a session's entry in OpenClaw's list a branch inherits, as in the client's own forks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from viewer.stores.changes import Json
from viewer.stores.errors import StoreReadOnly

from . import refusals
from .places import SessionPlace

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
FIELDS = (*RESTRICTIONS, *CHOICES, *MODEL_CHOICES)  # all that are read


def choices(entry: Mapping[str, Any]) -> Json:
    """The fields of a session's entry that a branch of it has as well. Raises StoreReadOnly where the session is
    restricted.
    """
    if any(entry.get(name) for name in RESTRICTIONS):
        raise StoreReadOnly(refusals.NO_FORK)
    is_own = entry.get("modelOverrideSource") != "auto"
    names = (*CHOICES, *(MODEL_CHOICES if is_own else ()))
    return {name: entry[name] for name in names if entry.get(name) is not None}


def title(location: SessionPlace) -> Json:
    """The name of a branch; no field for a session without a name."""
    return {"displayName": f"{location.noted.title} (branch)"} if location.noted.title else {}


def new_key(location: SessionPlace) -> str:
    """A new key, in the client's form for a conversation that only its own pages use."""
    return f"agent:{location.agent}:dashboard:{uuid4()}".lower()
