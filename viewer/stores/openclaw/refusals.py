"""Why a session cannot be compacted, as a sentence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from . import database, sources
from .places import SessionPlace

NO_SPLIT = "These sessions are compacted in place; one session does not go on in another."
NO_BRANCH = "A branch of this session is made by pi itself: /tree or /fork."
NO_RENAME = "pi gives its sessions their names: /name."
EMPTY = "There is nothing in this session yet."
OLD_FORM = (
    "This session's file has an older form, which pi rewrites when it opens the session. It can be compacted once pi "
    "has gone on with it."
)
NOT_WRITABLE = "The session's file belongs to another user, or is read-only."
OPENCLAW = "OpenClaw's sessions can be read here, but not be changed yet."
UNKNOWN = (
    "The database of this OpenClaw has schema {version}, which is not known here: its sessions can be read as far as "
    "they are understood, and are not changed."
)
COLD = "This session is in a cold archive of OpenClaw's. It can be changed again once OpenClaw has restored it."
FORM = 3  # of pi's files, since November 2025


def of_file(place: SessionPlace) -> str:
    """Why a session of pi can never be compacted here, "" where it can. Raises StoreUnavailable."""
    with sources.opened(place, None) as source:
        entries, _ = sources.entries_of(place, None)
        header = source.value(entries[0]) if entries else None
    if header is None:
        return EMPTY
    if header.get("type") != "session" or header.get("version") != FORM:
        return OLD_FORM
    return "" if os.access(place.path, os.R_OK | os.W_OK) else NOT_WRITABLE


def of_databases(paths: Sequence[Path]) -> str:
    """Why nothing in these databases can be compacted."""
    for path in paths:
        version, _ = database.schema(path, database.state_text(path))
        if version not in database.KNOWN_SCHEMAS:
            return UNKNOWN.format(version=version)
    return OPENCLAW
