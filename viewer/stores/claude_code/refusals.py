"""Why a session cannot be compacted, as a sentence."""

from __future__ import annotations

import os

from viewer.stores.base import Store

from . import places
from .places import SessionFile

NO_SPLIT = "Claude Code's sessions are compacted in place; one session does not go on in another."
SUB_AGENT = "This is the transcript of a sub-agent: the client does not go on with it."
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
    return of_store(store) or ("" if os.access(file.path, os.R_OK | os.W_OK) else NOT_WRITABLE)
