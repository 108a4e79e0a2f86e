"""Deleting a session from a store of ours, with all its data in this site's own database."""

from __future__ import annotations

from viewer.catalog import sync
from viewer.history import index_cache
from viewer.history.models import Compaction, PackedHistory
from viewer.runs.models import OPEN_STATUSES, Run
from viewer.stores.base import Store
from viewer.stores.errors import SessionBusy
from viewer.stores.registry import open_store, writer_of


def remove(store: Store, session_id: str) -> list[str]:
    """Delete the session with its parts, runs and lines; returns the deleted ids.

    Raises what `deleting.delete` raises, and SessionBusy while a run is open: then nothing is deleted.
    """
    if store.is_managed:
        _check_no_run(store, session_id)
    gone = writer_of(store).delete(session_id)
    Run.objects.filter(store=store.name, session_id__in=gone).delete()
    for of_sessions in (PackedHistory.objects, Compaction.objects):
        of_sessions.filter(store=store.name, session_id__in=gone).delete()
    index_cache.forget()
    sync.bring(store, gone)
    return gone


def _check_no_run(store: Store, session_id: str) -> None:
    with open_store(store) as reader:
        parts = reader.parts(reader.session(session_id).id)
    run = Run.objects.filter(store=store.name, session_id__in=parts, status__in=OPEN_STATUSES).first()
    if run is not None:
        raise SessionBusy(f"Run {run.pk} is compacting this session: cancel it first. Nothing was deleted.")
