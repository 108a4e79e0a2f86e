"""Why a session cannot be compacted, as a sentence."""

from __future__ import annotations

import os
from pathlib import Path

from . import database, sources
from .places import SessionPlace

NO_SPLIT = "These sessions are compacted in place; one session does not go on in another."
NO_RENAME = "pi gives its sessions their names: /name."
NO_EDITS = (
    "Tool output can be shortened in sessions of pi from version 0.87 on: an older one sends it whole all the same. "
    "Its settings name no such version as the one that was used last. Choose a summary."
)
EMPTY = "There is nothing in this session yet."
OLD_FORM = (
    "This session's file has an older form, which its client rewrites when it opens the session. It can be changed "
    "once the client has gone on with it."
)
NOT_WRITABLE = "The session's file belongs to another user, or is read-only."
NO_FORK = (
    "OpenClaw restricts this session in ways that only OpenClaw can pass on to a branch of it: fork it there. Nothing "
    "was written."
)
NO_ROOM = "{path} cannot be written by this user."
NO_TITLE = "OpenClaw gives its sessions their names."
GOES_ON_ELSEWHERE = "This conversation goes on in another session since, by a reset or a rewind. Nothing was written."
ENDED = "This conversation goes on in another session since, by a reset or a rewind."
UNSETTLED = (
    "OpenClaw has not brought its own index of this session up to date yet. It does when it starts, or with the next "
    "message. Nothing was written; try again then."
)
QUEUED = "A message waits in OpenClaw to be answered in this session. Try again once it is answered."
ANOTHER_LEAF = (
    "OpenClaw would go on from another entry than its index says. Nothing was written. Send it a message, and try "
    "again."
)
NO_WRITE = "{path} or its directory cannot be written by this user."
UNKNOWN = (
    "The database of this OpenClaw has schema {version}, which is not known here: its sessions can be read as far as "
    "they are understood, and are not changed."
)
COLD = "This session is in a cold archive of OpenClaw's. It can be changed again once OpenClaw has restored it."
FORM = 3  # of files of lines, in pi since November 2025


def of_file(place: SessionPlace) -> str:
    """Why a session in a file can never be compacted here, "" where it can. Raises StoreUnavailable."""
    if reason := _of_form(place):
        return reason
    return "" if os.access(place.path, os.R_OK | os.W_OK) else NOT_WRITABLE


def of_branch(place: SessionPlace) -> str:
    """Why no branch can be made of a session in a file, "" where one can. Raises StoreUnavailable."""
    if reason := _of_form(place):
        return reason
    room = place.path.parent
    return "" if os.access(room, os.W_OK | os.X_OK) else NO_ROOM.format(path=room)


def _of_form(place: SessionPlace) -> str:
    with sources.opened(place, None) as source:
        entries, _ = sources.entries_of(place, None)
        header = source.value(entries[0]) if entries else None
    if header is None:
        return EMPTY
    return "" if header.get("type") == "session" and header.get("version") == FORM else OLD_FORM


def of_place(place: SessionPlace) -> str:
    """Why a session of OpenClaw can never be compacted here, "" where it can. Raises StoreUnavailable."""
    if place.is_cold:
        return COLD
    if not place.is_current:
        return ENDED
    return of_database(place.path) if place.row_id else of_file(place)


def of_place_to_branch(place: SessionPlace) -> str:
    """Why no branch can be made of a session of OpenClaw, "" where one can. Raises StoreUnavailable."""
    return of_place(place) if place.is_cold or not place.is_current or place.row_id else of_branch(place)


def of_database(path: Path) -> str:
    """Why nothing in a database can be compacted, "" where it can. Raises StoreUnavailable."""
    version, _ = database.schema(path, database.state_text(path))
    if version not in database.KNOWN_SCHEMAS:
        return UNKNOWN.format(version=version)
    is_writable = os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
    return "" if is_writable else NO_WRITE.format(path=path)
