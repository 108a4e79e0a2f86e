"""What this site wrote into sessions and undid: which messages, with which receipts."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from viewer.stores.changes import Commit, Json
from viewer.stores.errors import AlreadyUndone, NotFound, StoreError
from viewer.stores.recorded import Recorded, Written
from viewer.stores.registry import Reader

from .models import Compaction


def recorded(reader: Reader, session_id: str) -> Recorded:
    """Our records of the compactions of a session and of the parts it continues."""
    compactions = Compaction.objects.filter(store=reader.store.name, session_id__in=reader.parts(session_id)).order_by(
        "run"
    )
    rows = list(compactions.values_list("run", "receipt", "undone", "handoff_id", "undo"))
    return Recorded(
        [Written(run, receipt, undone) for run, receipt, undone, *_ in rows if run is not None],
        {handoff_id: undo for *_, handoff_id, undo in rows if undo},
    )


def note_written(run: int, store: str, session_id: str, commit: Commit) -> None:
    """Record that this run wrote a compaction of this session."""
    written = {
        "store": store,
        "session_id": session_id,
        "handoff_id": commit.handoff_id,
        "receipt": commit.receipt,
        "first_id": commit.first_id,
        "last_id": commit.last_id,
    }
    Compaction.objects.update_or_create(run=run, defaults=written)


def note_undone(store: str, session_id: str, handoff_id: int, receipt: Json, cut_id: int | None = None) -> None:
    """Record that this compaction, which was before the message `cut_id`, was undone now, with this receipt."""
    undone = {"undone": True, "undone_at": timezone.now(), "undo": receipt, "cut_id": cut_id}
    records = Compaction.objects.filter(store=store, session_id=session_id, handoff_id=handoff_id)
    if not records.filter(run__isnull=False, undone=False).update(**undone):
        records.update_or_create(store=store, session_id=session_id, handoff_id=handoff_id, run=None, defaults=undone)


def note_redone(run: int) -> None:
    """Record that this run's compaction, which was undone, is in effect again."""
    Compaction.objects.filter(run=run).update(undone=False, undone_at=None, undo={}, cut_id=None)


def not_there(store: str, session_id: str, handoff_id: int) -> StoreError:
    """The exception for a handoff without a compaction in History: it was undone, or never existed."""
    undone = Compaction.objects.filter(store=store, session_id=session_id, handoff_id=handoff_id, undone=True)
    latest = undone.order_by("-undone_at").only("undone_at", "cut_id").first()
    if latest is None:
        return NotFound(f"This session has no compaction with the id {handoff_id}.")
    return AlreadyUndone(_sentence(latest.undone_at), store, session_id, handoff_id, latest.undone_at, latest.cut_id)


def _sentence(at: datetime | None) -> str:
    if at is None:  # before this was noted
        return "Already undone."
    here, now = timezone.localtime(at), timezone.localtime()
    day = (
        ""
        if here.date() == now.date()
        else f" on {here.day} {here:%b}" + (f" {here:%Y}" if here.year != now.year else "")
    )
    return f"Already undone{day} at {here:%H:%M}."
