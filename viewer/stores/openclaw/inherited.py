"""What of a session's entry in OpenClaw's list goes over to a branch of it, as into the client's own forks."""

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
# What a person chose for the session; its model only where the client did not choose that.
CHOICES = (
    "contextWindow", "thinkingLevel", "fastMode", "toolOverrides", "verboseLevel", "traceLevel", "reasoningLevel",
    "elevatedLevel", "spawnedCwd",
)  # fmt: skip
MODEL_CHOICES = (
    "providerOverride", "modelOverride", "modelOverrideSource", "modelOverrideRouteResolution", "agentRuntimeOverride",
    "authProfileOverride", "authProfileOverrideSource",
)  # fmt: skip
FIELDS = (*RESTRICTIONS, *CHOICES, *MODEL_CHOICES)  # all that is looked at


def choices(entry: Mapping[str, Any]) -> Json:
    """The fields of a session's entry that a branch of it has as well. Raises StoreReadOnly where it is restricted."""
    if any(entry.get(name) for name in RESTRICTIONS):
        raise StoreReadOnly(refusals.NO_FORK)
    is_own = entry.get("modelOverrideSource") != "auto"
    names = (*CHOICES, *(MODEL_CHOICES if is_own else ()))
    return {name: entry[name] for name in names if entry.get(name) is not None}


def title(place: SessionPlace) -> Json:
    """The name of a branch, none of a session without one."""
    return {"displayName": f"{place.noted.title} (branch)"} if place.noted.title else {}


def new_key(place: SessionPlace) -> str:
    """A key as the client makes it for a conversation that nothing but its own pages leads to."""
    return f"agent:{place.agent}:dashboard:{uuid4()}".lower()
