"""Compacting and undoing as an agent asks for it, also in the middle of its own turn."""

from __future__ import annotations

import threading
import time

from django.db import connections

from viewer.history import index_cache
from viewer.runs import job, planning, service
from viewer.runs.models import Run
from viewer.runs.planning import DryRun, Options
from viewer.stores.base import Store
from viewer.stores.errors import NotFound
from viewer.stores.registry import open_store

WAIT = 10.0  # seconds for which an answer waits for the end of a run: an agent's own turn may have to end first
LOOK = 0.2


def plan(store: Store, session_id: str) -> DryRun:
    """What a compaction would do now, as the store is set. Raises StoreError, CompactionError."""
    return planning.draft(store, session_id, Options())


def apply(store: Store, session_id: str, *, here: bool) -> str:
    """Compact the session, as a sentence: `here` in a thread of this process, else by a worker of the site. Raises
    StoreError.
    """
    begin = service.prepare if here else service.start
    run = begin(store, session_id, Options(), apply=True)
    if here:
        threading.Thread(target=_compact, args=(run.pk,)).start()
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        time.sleep(LOOK)
        run = service.get_run(run.pk)
        if not run.is_open:
            break
    return _outcome(run)


def _compact(run: int) -> None:
    try:
        job.compact(run)
    finally:
        connections.close_all()


def _outcome(run: Run) -> str:
    if run.status == "applied":
        return (
            f"Compacted: {run.messages_before:,} -> {run.messages_after:,} messages, {run.tokens_before:,} -> "
            f"{run.tokens_after:,} tokens. undo_compaction takes it back."
        )
    if run.error_message:
        return f"Run {run.pk} is {run.status}: {run.error_message}"
    return f"Run {run.pk} is {run.status}. It is written once the session's turn has ended; nothing else is to be done."


def undo(store: Store, session_id: str) -> str:
    """Take the newest compaction back, as a sentence. Raises StoreError."""
    with open_store(store) as reader:
        boundaries = index_cache.index_of(reader, reader.session(session_id)).compactions
    if not boundaries:
        raise NotFound("There is no compaction in this session.")
    undone = service.undo(store, session_id, boundaries[-1].handoff_id)
    return f"Undone: {undone.context_messages:,} messages are in context again."
