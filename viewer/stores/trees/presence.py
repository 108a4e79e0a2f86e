"""Why a session cannot be compacted, as a sentence; what both clients have in common."""

from __future__ import annotations

import math
import os

from viewer.stores import refused

from . import codec
from .messages import EntryMessages
from .paths import SessionLocation
from .records import NO_ID

NO_SPLIT = "These sessions are compacted in place; one session does not go on in another."
EMPTY = "There is nothing in this session yet."
OLD_FORM = (
    "This session's file has an older form, which its client rewrites when it opens the session. It can be changed "
    "once the client has gone on with it."
)
NEW_FORM = (
    "This session's file names the version {version:g} of its form, which is newer than those that are known here (up "
    "to {known}): it can be read as far as it is understood, and is not changed."
)
NO_FORM = "This session's file names no version of its form that is known: it can be read, and is not changed."
CIRCLE = (
    "The entries of this session name one another as their parents, so that they have no beginning. It is not changed."
)
NO_ROOM = "{path} cannot be written by this user."
GOES_ON_ELSEWHERE = "This conversation goes on in another session since, by a reset or a rewind. Nothing was written."
ANOTHER_LEAF = (
    "OpenClaw would go on from another entry than its index says. Nothing was written. Send it a message, and try "
    "again."
)


def of_links(messages: EntryMessages) -> str:
    """Why the context may be incomplete, "" where it is complete."""
    if messages.tree.is_cyclic or any(entry.parent == entry.id for entry in messages.tree.path):
        return CIRCLE if messages.tree.is_strict else codec.ENDLESS
    if not messages.is_cut:
        return ""
    client = "OpenClaw" if messages.tree.is_strict else "pi"
    return refused.lost_link(f"the entry {messages.tree.missing[:80].lstrip(NO_ID)}", messages.unlinked, client)


def of_room(location: SessionLocation) -> str:
    """Why no file can be made next to a session's, "" where one can."""
    room = location.path.parent
    return "" if os.access(room, os.W_OK | os.X_OK) else NO_ROOM.format(path=room)


def of_version(version: float | None, known: float) -> str:
    """For the version in a header, None where there is no header."""
    if version is None or math.isnan(version):
        return NO_FORM
    if version > known:
        return NEW_FORM.format(version=version, known=known)
    return "" if version == known else OLD_FORM
