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
VERSIONS_OF_ROWS = (3, 4)  # in the header of a session in a database
FORM = 3  # of files of lines, in pi since November 2025


def of_file(location: SessionPlace) -> str:
    """Why a session in a file can never be compacted here, "" where it can. Raises StoreUnavailable."""
    if reason := _of_form(location):
        return reason
    return "" if os.access(location.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE


def of_pi(location: SessionPlace) -> str:
    """Why nothing can be written to a session of pi, "" where it can. Raises StoreUnavailable."""
    if reason := _of_pi_form(location):
        return reason
    if reason := of_links(sources.messages_of(location, None, is_strict=False)):
        return reason
    return "" if os.access(location.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE


def of_pi_branch(location: SessionPlace) -> str:
    """Why no branch can be made from a session of pi, "" where one can. Raises StoreUnavailable."""
    return _of_pi_form(location) or _of_room(location)


def _of_pi_form(location: SessionPlace) -> str:
    """The unknown part of a file of pi, as a sentence (`pi_forms`)."""
    with sources.opened(location, None) as source:
        messages = sources.messages_of(location, None, is_strict=False)
        return _of_header(source, messages) or _of_unknown(source, messages)


def _of_header(source: EntrySource, messages: EntryMessages) -> str:
    if not messages.entries:
        return EMPTY
    if source.start(messages.entries[0], 3) == "\ufeff":
        return BYTE_ORDER_MARK
    header = header_of(messages.entries)
    if header is None or header.version is None or header.has_no_id:
        return NO_HEADER
    return _of_version(header.version, VERSION)


def _of_unknown(source: EntrySource, messages: EntryMessages) -> str:
    """For an entry of an unknown form that is on the path, or names another entry; entries on abandoned branches do not
    matter.
    """
    on_path = {entry.offset for entry in messages.tree.path}
    for entry in messages.entries:
        has_say = entry.offset in on_path or (
            entry.is_in_tree and entry.names_any and entry.offset not in messages.left
        )
        if entry.is_unknown and has_say:
            return refused.unknown_form(unknown_in(source.value(entry) or {}), "pi")
    return ""


def of_links(messages: EntryMessages) -> str:
    """Why the context may be incomplete, "" where it is complete."""
    if messages.tree.is_cyclic or any(entry.parent == entry.id for entry in messages.tree.path):
        return CIRCLE if messages.tree.is_strict else additions.ENDLESS
    if not messages.is_cut:
        return ""
    client = "OpenClaw" if messages.tree.is_strict else "pi"
    return refused.lost_link(f"the entry {messages.tree.missing[:80].lstrip(NO_ID)}", messages.unlinked, client)


def of_branch(location: SessionPlace) -> str:
    """Why no branch can be made from a session in a file, "" where one can. Raises StoreUnavailable."""
    return _of_form(location) or _of_entries(location, to_branch=True) or _of_room(location)


def _of_room(location: SessionPlace) -> str:
    room = location.path.parent
    return "" if os.access(room, os.W_OK | os.X_OK) else NO_ROOM.format(path=room)


def _of_form(location: SessionPlace) -> str:
    entries, _ = sources.entries_of(location, None)
    if not entries:
        return EMPTY
    version = next((each.version for each in entries if each.version is not None), None)
    return _of_version(version, FORM)


def _of_version(version: float | None, known: float) -> str:
    """For the version in a header, None where there is no header."""
    if version is None or math.isnan(version):
        return NO_FORM
    if version > known:
        return NEW_FORM.format(version=version, known=known)
    return "" if version == known else OLD_FORM


def of_place(location: SessionPlace) -> str:
    """Why a session of OpenClaw can never be compacted here, "" where it can. Raises StoreUnavailable."""
    if location.is_cold:
        return COLD
    if not location.is_current:
        return PUT_AWAY if location.ended else ENDED if location.goes_on else NOT_NAMED
    reason = of_database(location.path) if location.row_id else of_file(location)
    return reason or _of_entries(location, to_branch=False)


def of_place_to_branch(location: SessionPlace) -> str:
    """Why no branch can be made from a session of OpenClaw, "" where one can. Raises StoreUnavailable."""
    if location.is_cold or not location.is_current:
        return of_place(location)
    if location.row_id:
        return of_database(location.path) or _of_entries(location, to_branch=True)
    return of_branch(location)


def _of_entries(location: SessionPlace, *, to_branch: bool) -> str:
    """What in OpenClaw's entries is unknown or missing, as a sentence; for a branch only what is unknown."""
    with ExitStack() as opened:
        con = opened.enter_context(database.connected(location.path)) if location.row_id else None
        source = opened.enter_context(sources.opened(location, con))
        messages = sources.messages_of(location, con, is_strict=True)
        version = next((each.version for each in messages.entries if each.version is not None), None)
        if location.row_id and version is not None and version not in VERSIONS_OF_ROWS:
            return _of_version(version, max(VERSIONS_OF_ROWS))
        if location.row_id and (broken := next((each for each in messages.entries if not each.id), None)) is not None:
            return additions.NO_OBJECT.format(number=broken.offset)
        unknown = next((each for each in messages.entries if _has_a_say(messages, each)), None)
        if unknown is not None:
            return refused.unknown_form(forms.unknown_in(source.value(unknown) or {}), "OpenClaw")
        return "" if to_branch else of_links(messages)


def _has_a_say(messages: EntryMessages, entry: TreeEntry) -> bool:
    """Whether an entry of an unknown form may influence what is sent: not if it follows an abandoned entry."""
    is_damaged = not entry.type and not entry.is_unknown  # the client does not read it, so its links are missing
    if entry.form in (KNOWN, LEAF_SET) or is_damaged or entry.type == HEADER:
        return False
    before = messages.tree.known_before(entry.parent)
    return not before or messages.tree.nodes[before].offset not in messages.left


def of_database(path: Path) -> str:
    """Why nothing in a database can be compacted, "" where it can. Raises StoreUnavailable."""
    version, _ = database.schema(path, database.state_text(path))
    if version not in database.KNOWN_SCHEMAS:
        return UNKNOWN.format(version=version)
    is_writable = os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
    return "" if is_writable else NO_WRITE.format(path=path)
