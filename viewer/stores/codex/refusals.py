"""Why a session cannot be compacted or branched, as a sentence."""

from __future__ import annotations

import os
import sys

from viewer.stores import refused
from viewer.stores.base import Store
from viewer.stores.jsonl.compressed import ENDING
from viewer.stores.jsonl.files import readable

from . import clients, places
from .facts import head_of
from .lineage import lineage_of
from .places import ThreadFile, Threads

NO_SPLIT = "Codex' sessions are compacted in place; one session does not go on in another."
NO_RENAME = "The names of these sessions are in Codex' own database, which is not written to here. Rename it in Codex."
NOT_LINUX = "Codex' sessions are compacted on Linux alone: elsewhere it was not tried with the client."
SUB_AGENT = "This is the session of a sub-agent: the client does not go on with it."
ARCHIVED = "This session is archived. Take it out of Codex' archive first: codex unarchive {session}."
COMPRESSED = "This session's file is compressed. It can be compacted once Codex has gone on with it."
MISSING = "This session goes on from another file, {file}, that is not here: Codex cannot go on with it either."
NO_START = "The first line of this session's file is damaged or not there: Codex cannot go on with it."
NO_TEXT = "There are bytes in this session's file that are no text (UTF-8): Codex cannot go on with it."
TOO_LONG = (
    "There is a line of {size:,} bytes in this session that is too long, or nested too deep, to be held here as a "
    "whole: what it says is shown in part, and the session is not written to."
)
TOO_OLD = "This session was written by a Codex from before its files had a first line of their own."


def of_store(store: Store) -> str:
    """Why nothing in the store can be compacted, "" where it can."""
    if sys.platform != "linux":
        return NOT_LINUX
    locks = clients.directory(store)
    for directory in (store.path / places.ROOMS[0], locks if locks.is_dir() else store.path):
        if directory.is_dir() and not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
            return f"This user may not write to {directory}."
    return ""


def refusal(store: Store, file: ThreadFile, threads: Threads) -> str:
    """Why this session can never be compacted here, "" where it can. Raises StoreUnavailable."""
    return of_store(store) or _of_file(file) or _of_lineage(file, threads)


def of_branch(store: Store, file: ThreadFile, threads: Threads) -> str:
    """Why no branch of this session can be made, "" where one can: its own file is only read. Raises
    StoreUnavailable.
    """
    return of_store(store) or _of_head(file) or _of_lineage(file, threads)


def _of_lineage(file: ThreadFile, threads: Threads) -> str:
    lineage = lineage_of(file, threads)
    records = lineage.current.records
    if lineage.missing:
        return MISSING.format(file=lineage.missing[:80])
    if not records or records[0].type != "session_meta" or records[0].is_bare:
        return TOO_OLD if lineage.current.is_bare else NO_START
    if any(not part.is_numbered and not record.is_text for part in lineage.parts for record in part.records):
        return NO_TEXT
    cut = (record.length for part in lineage.parts if part.is_sent for record in part.sent() if record.is_cut)
    if (size := next(cut, None)) is not None:
        return TOO_LONG.format(size=size)
    unknown = (record.unknown for part in lineage.parts if part.is_sent for record in part.sent())
    return next((refused.unknown_form(each, "Codex") for each in unknown if each), "")


def _of_file(file: ThreadFile) -> str:
    if file.rollout.is_archived:
        return ARCHIVED.format(session=file.id)
    if file.rollout.path.endswith(ENDING):
        return COMPRESSED
    return _of_head(file) or ("" if os.access(file.path, os.R_OK | os.W_OK) else refused.NOT_WRITABLE)


def _of_head(file: ThreadFile) -> str:
    with readable(file.path):
        head = head_of(file.rollout.path)
    return SUB_AGENT if head.is_sub_agent else ""
