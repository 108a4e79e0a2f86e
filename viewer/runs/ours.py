"""What our own runs know for certain of a session's History: which rows they wrote, and from which."""

from __future__ import annotations

from collections.abc import Callable

from viewer.stores.history_types import History
from viewer.stores.recorded import KnownBlock, Recorded, Undone
from viewer.stores.registry import Reader
from viewer.stores.transcript import Outline

from . import steps
from .models import Run, TakenBack

HistoryOf = Callable[[Reader, str], History | Outline]


def known_blocks(reader: Reader, session_id: str) -> list[KnownBlock]:
    """The blocks our runs wrote into this session and the parts it continues, oldest first, undone ones included."""
    written = Run.objects.filter(
        store=reader.store.name, session_id__in=reader.parts(session_id), status__in=("applied", "undone")
    ).order_by("pk")
    found = written.values_list("pk", "handoff_id", "copies", "status", "plan__steps")  # not the snapshot
    return [
        KnownBlock(
            run=run,
            handoff_id=handoff_id,
            handoff_key=reader.handoff_key(steps.handoff_place(steps.from_json(made))[1]),
            copies={copy: int(original) for original, copy in copies.items()},
            undone=status == "undone",
        )
        for run, handoff_id, copies, status, made in found
        if handoff_id is not None
    ]


def undone_here(reader: Reader, session_id: str) -> dict[int, Undone]:
    """What is known of compactions that were undone here, in this session and the parts it continues, by handoff."""
    noted = TakenBack.objects.filter(store=reader.store.name, session_id__in=reader.parts(session_id))
    found = noted.values_list("handoff_id", "block_ids", "taken_back_ids")
    return {handoff_id: Undone(block, taken_back) for handoff_id, block, taken_back in found}


def recorded(reader: Reader, session_id: str) -> Recorded:
    """All that is known here of the compactions of a session and the parts it continues."""
    return Recorded(known_blocks(reader, session_id), undone_here(reader, session_id))


def history_of(reader: Reader, session_id: str) -> History:
    """The session's History with our own compactions in it as they were written, not as they are recognised."""
    return reader.history(session_id, recorded(reader, session_id))
