"""The History of a session as Hermes' kind reads it from all rows, with what this site recorded, without a cache."""

from __future__ import annotations

from typing import Any

from viewer.history.models import Compaction
from viewer.history.records import recorded
from viewer.runs.models import Run
from viewer.stores.hermes import receipts
from viewer.stores.hermes.opening import OpenStore as Connected
from viewer.stores.hermes.reading import read_history
from viewer.stores.history_types import History
from viewer.stores.registry import Reader


def history_of(reader: Reader, session_id: str) -> History:
    assert isinstance(reader, Connected)
    known = recorded(reader, session_id)
    return read_history(reader, session_id, receipts.blocks_of(known), receipts.undone_of(known))


def receipt_of(run: Run) -> dict[str, Any]:
    """The receipt of what a run wrote, {} where it wrote nothing."""
    return Compaction.objects.filter(run=run.pk).values_list("receipt", flat=True).first() or {}
