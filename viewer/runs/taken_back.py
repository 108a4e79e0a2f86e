"""Which compactions were undone here, and when: for whoever asks for it again, in a second tab or by a program."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from viewer.errors import NotFound, StoreError
from viewer.stores.changes import Json

from .errors import AlreadyUndone
from .models import Run, TakenBack


def note(store: str, session_id: str, handoff_id: int, receipt: Json, cut_id: int | None = None) -> None:
    """This compaction, which stood before the message `cut_id`, was undone just now, with this receipt."""
    TakenBack.objects.update_or_create(
        store=store,
        session_id=session_id,
        handoff_id=handoff_id,
        defaults={"receipt": receipt, "cut_id": cut_id, "at": timezone.now()},
    )


def not_there(store: str, session_id: str, handoff_id: int) -> StoreError:
    """What to raise where History knows no compaction of this handoff: it was undone, or there was none."""
    known = TakenBack.objects.filter(store=store, session_id=session_id, handoff_id=handoff_id).first()
    if known is not None:
        return AlreadyUndone(_sentence(known.at), store, session_id, handoff_id, known.at, known.cut_id)
    if Run.objects.filter(store=store, session_id=session_id, handoff_id=handoff_id, status="undone").exists():
        return AlreadyUndone(_sentence(None), store, session_id, handoff_id)
    return NotFound(f"Message {handoff_id} is not the handoff of a compaction of this session.")


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
