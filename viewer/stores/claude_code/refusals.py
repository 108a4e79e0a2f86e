"""Why a session cannot be compacted, as a sentence."""

from __future__ import annotations

import os

from viewer.stores.base import Store

from . import conversations, places
from .places import SessionFile
from .transcript import SessionMessages

NO_SPLIT = "Claude Code's sessions are compacted in place; one session does not go on in another."
SUB_AGENT = "This is the transcript of a sub-agent: the client does not go on with it."
UNKNOWN = (
    "The session has {what}. What Claude Code makes of it is not known here, so nothing is written to this session."
)
NOT_WRITABLE = "The session's file belongs to another user, or is read-only."


def of_store(store: Store) -> str:
    """Why nothing in the store can be compacted, "" where it can."""
    if os.access(places.projects(store), os.R_OK | os.W_OK | os.X_OK):
        return ""
    return "This user may not write to the directory of these sessions."


def refusal(store: Store, file: SessionFile) -> str:
    """Why this session can never be compacted here, "" where it can."""
    if file.parent:
        return SUB_AGENT
    reason = of_store(store) or ("" if os.access(file.path, os.R_OK | os.W_OK) else NOT_WRITABLE)
    return reason or of_forms(conversations.of(file))


def of_forms(found: SessionMessages) -> str:
    """Why nothing is written to a session of which not all forms are known, "" where they are."""
    return UNKNOWN.format(what=found.unknown) if found.unknown else ""
