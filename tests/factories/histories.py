"""The History of a session, read from all rows of a Hermes store with what this site recorded, without a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewer.stores.hermes import commit
from viewer.stores.hermes.database import OpenStore as Connected
from viewer.stores.hermes.messages import read_history
from viewer.stores.registry import Reader
from viewer.stores.transcript import Boundary, TranscriptIndex

if TYPE_CHECKING:
    from viewer.runs.models import Run


def history_of(reader: Reader, session_id: str) -> TranscriptIndex:
    """All of it, read anew."""
    from viewer.history.records import recorded  # not before Django is set up

    assert isinstance(reader, Connected)
    known = recorded(reader, session_id)
    return read_history(reader, session_id, commit.blocks_of(known), commit.undone_of(known))


def receipt_of(run: Run) -> dict[str, Any]:
    """The receipt of what a run wrote, {} where it wrote nothing."""
    from viewer.history.models import Compaction

    return Compaction.objects.filter(run=run.pk).values_list("receipt", flat=True).first() or {}


def boundary_of(history: TranscriptIndex, handoff_id: int) -> Boundary:
    """The boundary of this handoff."""
    return next(each for each in history.boundaries if each.handoff_id == handoff_id)
