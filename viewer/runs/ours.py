"""What our own runs know for certain of a session's History: which rows they wrote, and from which."""

from __future__ import annotations

from collections.abc import Callable

from viewer.stores.history_types import History
from viewer.stores.recorded import Recorded, Written
from viewer.stores.registry import Reader
from viewer.stores.transcript import Outline

from .models import Run, TakenBack

HistoryOf = Callable[[Reader, str], History | Outline]


def recorded(reader: Reader, session_id: str) -> Recorded:
    """All that is known here of the compactions of a session and the parts it continues."""
    of_parts = {"store": reader.store.name, "session_id__in": reader.parts(session_id)}
    runs = Run.objects.filter(**of_parts, status__in=("applied", "undone"), handoff_id__isnull=False).order_by("pk")
    undone = TakenBack.objects.filter(**of_parts).values_list("handoff_id", "receipt")
    written = runs.values_list("pk", "receipt", "status")
    return Recorded([Written(run, receipt, status == "undone") for run, receipt, status in written], dict(undone))


def history_of(reader: Reader, session_id: str) -> History:
    """The session's History with our own compactions in it as they were written, not as they are recognised."""
    return reader.history(session_id, recorded(reader, session_id))
