"""Why a session cannot be compacted or branched, as a sentence."""

from __future__ import annotations

import os
import sys

from viewer.stores.base import Store
from viewer.stores.jsonl.compressed import ENDING
from viewer.stores.jsonl.files import readable

from . import clients, places
from .codec import ItemReader
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
NOT_WRITABLE = "The session's file belongs to another user, or is read-only."
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


def refusal(store: Store, file: ThreadFile, known: Threads) -> str:
    """Why this session can never be compacted here, "" where it can. Raises StoreUnavailable."""
    return of_store(store) or _of_file(file) or _of_lineage(file, known)


def of_branch(store: Store, file: ThreadFile, known: Threads) -> str:
    """Why no branch of this session can be made, "" where one can: its own file is only read. Raises
    StoreUnavailable.
    """
    return of_store(store) or _of_head(file) or _of_lineage(file, known)


def _of_lineage(file: ThreadFile, known: Threads) -> str:
    lineage = lineage_of(file, known)
    records = lineage.current.records
    if lineage.missing:
        return MISSING.format(file=lineage.missing)
    with ItemReader() as reader:
        first = reader.value(lineage.current, records[0]) if records else None
    return "" if first is not None and first.get("type") == "session_meta" and "payload" in first else TOO_OLD


def _of_file(file: ThreadFile) -> str:
    if file.rollout.is_archived:
        return ARCHIVED.format(session=file.id)
    if file.rollout.path.endswith(ENDING):
        return COMPRESSED
    return _of_head(file) or ("" if os.access(file.path, os.R_OK | os.W_OK) else NOT_WRITABLE)


def _of_head(file: ThreadFile) -> str:
    with readable(file.path):
        head = head_of(file.rollout.path)
    return SUB_AGENT if head.is_sub_agent else ""
