"""Whether a compaction, ours or an agent's, can be undone, and what that would do. `runs.undoing` does it."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

from cachetools import LRUCache

from viewer.stores.base import Session
from viewer.stores.changes import Json, UndoPlan
from viewer.stores.errors import NotFound, StoreError
from viewer.stores.registry import Reader, get_store, open_store
from viewer.stores.transcript import Boundary, TranscriptIndex

from . import index_cache, records
from .models import Compaction

REMEMBERED = 1_000  # sentences

_refusals: LRUCache[tuple[str, str, str, int], tuple[index_cache.IndexBasis, str]] = LRUCache(REMEMBERED)
_lock = Lock()


def compaction_of(reader: Reader, session_id: str, handoff_id: int, index: TranscriptIndex) -> Json | Boundary:
    """What is needed to undo a compaction: the receipt of our commit, or for an agent's the boundary in the index.

    Raises NotFound, or AlreadyUndone.
    """
    ours = Compaction.objects.filter(
        store=reader.store.name, session_id=session_id, handoff_id=handoff_id, run__isnull=False, undone=False
    )
    receipt: Json | None = ours.order_by("-run").values_list("receipt", flat=True).first()
    if receipt and reader.commit_state(session_id, receipt).is_written:
        return receipt
    boundary = index.boundary_at(handoff_id)
    if boundary is None:
        raise records.not_there(reader.store.name, session_id, handoff_id)
    return boundary


def plan(reader: Reader, session_id: str, handoff_id: int, index: TranscriptIndex) -> UndoPlan:
    """What undoing a compaction would do now, or why it cannot be undone. Raises NotFound, or AlreadyUndone."""
    return reader.undo_plan(session_id, compaction_of(reader, session_id, handoff_id, index))


def refusal(reader: Reader, session: Session, handoff_id: int) -> str:
    """Why a compaction cannot be undone, as a sentence; "" if it can. Cached while the session is unchanged. Raises
    NotFound, or AlreadyUndone.
    """
    if (problem := reader.refusal(session.id)) is not None:
        return problem.message
    key = (reader.store.name, reader.store.url, session.id, handoff_id)
    mark, index = index_cache.marked(reader, session)
    with _lock:
        remembered = _refusals.get(key)
    if remembered is None or remembered[0] != mark:
        remembered = mark, plan(reader, session.id, handoff_id, index).refusal
        with _lock:
            _refusals[key] = remembered
    return remembered[1]


def undoable_among(runs: Iterable[int]) -> set[int]:
    """Those of these runs whose compaction can be undone now; none of a store that cannot be read.

    Each store is opened once, and the receipt of at most one run per session is read: the one in effect.
    """
    written = Compaction.objects.filter(run__in=list(runs), undone=False).defer("receipt", "undo")
    by_store: dict[str, dict[str, list[Compaction]]] = {}
    for each in written:
        by_store.setdefault(each.store, {}).setdefault(each.session_id, []).append(each)
    return {run for store, sessions in by_store.items() for run in _undoable_of(store, sessions)}


def _undoable_of(store: str, sessions: dict[str, list[Compaction]]) -> list[int]:
    try:
        with open_store(get_store(store)) as reader:
            in_effect = [
                each
                for session_id, compactions in sessions.items()
                for each in _in_effect(reader, session_id, compactions)
            ]
            return [each.run for each in in_effect if each.run is not None and _is_undoable(reader, each)]
    except StoreError:
        return []


def _in_effect(reader: Reader, session_id: str, compactions: list[Compaction]) -> list[Compaction]:
    """Those whose handoff is in context: a later compaction removes it."""
    rows = reader.messages(session_id, [each.handoff_id for each in compactions])
    return [each for each in compactions if (row := rows.get(each.handoff_id)) is not None and row.state == "live"]


def _is_undoable(reader: Reader, record: Compaction) -> bool:
    try:
        if reader.refusal(record.session_id) is not None:
            return False
        is_written = reader.commit_state(record.session_id, record.receipt).is_written
        return is_written and not reader.undo_plan(record.session_id, record.receipt).refusal
    except NotFound:  # its session is gone
        return False
