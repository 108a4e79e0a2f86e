"""Why a session cannot be compacted, as a sentence."""

from __future__ import annotations

import math
import os
from contextlib import ExitStack
from pathlib import Path

from viewer.stores import refused

from . import additions, database, forms, sources
from .codec import EntrySource
from .entries import HEADER, NO_ID, TreeEntry
from .forms import KNOWN, LEAF_SET
from .messages import EntryMessages
from .pi_forms import VERSION, unknown_in
from .pi_versions import header_of
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
NEW_FORM = (
    "This session's file names the version {version:g} of its form, which is newer than those that are known here (up "
    "to {known}): it can be read as far as it is understood, and is not changed."
)
NO_FORM = "This session's file names no version of its form that is known: it can be read, and is not changed."
NO_HEADER = "pi does not open this file: the first line that it can read is no header of a session. It is not changed."
BYTE_ORDER_MARK = (
    "This session's file begins with a byte order mark, which programs for Windows put there. pi has not opened such "
    "files since version 0.87. It can be compacted once these three bytes are gone."
)
CIRCLE = (
    "The entries of this session name one another as their parents, so that they have no beginning. It is not changed."
)
NO_FORK = (
    "OpenClaw restricts this session in ways that only OpenClaw can pass on to a branch of it: fork it there. Nothing "
    "was written."
)
NO_ROOM = "{path} cannot be written by this user."
NO_TITLE = "OpenClaw gives its sessions their names."
GOES_ON_ELSEWHERE = "This conversation goes on in another session since, by a reset or a rewind. Nothing was written."
ENDED = "This conversation goes on in another session since, by a reset or a rewind."
NOT_NAMED = (
    "OpenClaw's own list of sessions does not name this one, so that it would not go on with it. It can be read, and "
    "is not changed."
)
PUT_AWAY = "A reset put this transcript away, and OpenClaw does not go on with it. It can be read, and is not changed."
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
VERSIONS_OF_ROWS = (3, 4)  # that a header in a database names
FORM = 3  # of files of lines, in pi since November 2025


def of_file(place: SessionPlace) -> str:
    """Why a session in a file can never be compacted here, "" where it can. Raises StoreUnavailable."""
    if reason := _of_form(place):
        return reason
    return "" if os.access(place.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE


def of_pi(place: SessionPlace) -> str:
    """Why nothing is written to a session of pi's, "" where it can be. Raises StoreUnavailable."""
    if reason := _of_pi_form(place):
        return reason
    if reason := of_links(sources.messages_of(place, None, is_strict=False)):
        return reason
    return "" if os.access(place.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE


def of_pi_branch(place: SessionPlace) -> str:
    """Why no branch can be made of a session of pi's, "" where one can. Raises StoreUnavailable."""
    return _of_pi_form(place) or _of_room(place)


def _of_pi_form(place: SessionPlace) -> str:
    """What of a file of pi's is not known here, as a sentence (`pi_forms`)."""
    with sources.opened(place, None) as source:
        found = sources.messages_of(place, None, is_strict=False)
        return _of_header(source, found) or _of_unknown(source, found)


def _of_header(source: EntrySource, found: EntryMessages) -> str:
    if not found.entries:
        return EMPTY
    if source.start(found.entries[0], 3) == "\ufeff":
        return BYTE_ORDER_MARK
    header = header_of(found.entries)
    if header is None or header.version is None or header.has_no_id:
        return NO_HEADER
    return _of_version(header.version, VERSION)


def _of_unknown(source: EntrySource, found: EntryMessages) -> str:
    """An entry of no known form that is on the path, or names another one; on a branch that was left it may be any."""
    on_path = {entry.offset for entry in found.tree.path}
    for entry in found.entries:
        has_say = entry.offset in on_path or (entry.is_in_tree and entry.names_any and entry.offset not in found.left)
        if entry.is_unknown and has_say:
            return refused.unknown_form(unknown_in(source.value(entry) or {}), "pi")
    return ""


def of_links(found: EntryMessages) -> str:
    """Why what is in context may not be all that should be, "" where it is."""
    if found.tree.is_cyclic or any(entry.parent == entry.id for entry in found.tree.path):
        return CIRCLE if found.tree.is_strict else additions.ENDLESS
    if not found.is_cut:
        return ""
    client = "OpenClaw" if found.tree.is_strict else "pi"
    return refused.lost_link(f"the entry {found.tree.missing[:80].lstrip(NO_ID)}", found.unreached, client)


def of_branch(place: SessionPlace) -> str:
    """Why no branch can be made of a session in a file, "" where one can. Raises StoreUnavailable."""
    return _of_form(place) or _of_entries(place, to_branch=True) or _of_room(place)


def _of_room(place: SessionPlace) -> str:
    room = place.path.parent
    return "" if os.access(room, os.W_OK | os.X_OK) else NO_ROOM.format(path=room)


def _of_form(place: SessionPlace) -> str:
    entries, _ = sources.entries_of(place, None)
    if not entries:
        return EMPTY
    version = next((each.version for each in entries if each.version is not None), None)
    return _of_version(version, FORM)


def _of_version(version: float | None, known: float) -> str:
    """Of the version that a header names, None where there is no header."""
    if version is None or math.isnan(version):
        return NO_FORM
    if version > known:
        return NEW_FORM.format(version=version, known=known)
    return "" if version == known else OLD_FORM


def of_place(place: SessionPlace) -> str:
    """Why a session of OpenClaw can never be compacted here, "" where it can. Raises StoreUnavailable."""
    if place.is_cold:
        return COLD
    if not place.is_current:
        return PUT_AWAY if place.ended else ENDED if place.goes_on else NOT_NAMED
    reason = of_database(place.path) if place.row_id else of_file(place)
    return reason or _of_entries(place, to_branch=False)


def of_place_to_branch(place: SessionPlace) -> str:
    """Why no branch can be made of a session of OpenClaw, "" where one can. Raises StoreUnavailable."""
    if place.is_cold or not place.is_current:
        return of_place(place)
    if place.row_id:
        return of_database(place.path) or _of_entries(place, to_branch=True)
    return of_branch(place)


def _of_entries(place: SessionPlace, *, to_branch: bool) -> str:
    """What of OpenClaw's entries is not known here, or not there, as a sentence; a branch is of what is."""
    with ExitStack() as opened:
        con = opened.enter_context(database.connected(place.path)) if place.row_id else None
        source = opened.enter_context(sources.opened(place, con))
        found = sources.messages_of(place, con, is_strict=True)
        version = next((each.version for each in found.entries if each.version is not None), None)
        if place.row_id and version is not None and version not in VERSIONS_OF_ROWS:
            return _of_version(version, max(VERSIONS_OF_ROWS))
        if place.row_id and (broken := next((each for each in found.entries if not each.id), None)) is not None:
            return additions.NO_OBJECT.format(number=broken.offset)
        unknown = next((each for each in found.entries if _has_a_say(found, each)), None)
        if unknown is not None:
            return refused.unknown_form(forms.unknown_in(source.value(unknown) or {}), "OpenClaw")
        return "" if to_branch else of_links(found)


def _has_a_say(found: EntryMessages, entry: TreeEntry) -> bool:
    """Whether an entry of no known form may tell what is sent: not one that hangs on what was left by going back."""
    is_damaged = not entry.type and not entry.is_unknown  # the client does not read it, and its links are missed
    if entry.form in (KNOWN, LEAF_SET) or is_damaged or entry.type == HEADER:
        return False
    before = found.tree.known_before(entry.parent)
    return not before or found.tree.nodes[before].offset not in found.left


def of_database(path: Path) -> str:
    """Why nothing in a database can be compacted, "" where it can. Raises StoreUnavailable."""
    version, _ = database.schema(path, database.state_text(path))
    if version not in database.KNOWN_SCHEMAS:
        return UNKNOWN.format(version=version)
    is_writable = os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
    return "" if is_writable else NO_WRITE.format(path=path)
