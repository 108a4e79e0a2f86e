"""Applying an undone compaction of ours again: its lines are all there, and the letters of their types are restored."""

from __future__ import annotations

from dataclasses import dataclass

from viewer.stores.base import Store
from viewer.stores.changes import COVERED, Json
from viewer.stores.errors import CompactionConflict, NotRedoable
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState

from . import commits, switching, undo
from .lineage import Lineage, RolloutPart
from .records import TURN_STARTS, UNDONE, RolloutRecord
from .switching import TypeLetter
from .units import RolloutMessages

IN_EFFECT = "This compaction is in effect."
LEFT = "The session went back to before this compaction since: compact again."
NOT_AS_MEANT = "The compaction did not read back as it was meant, and was undone again. Please report this session."


@dataclass(frozen=True, slots=True)
class OverwrittenRedo:
    """What a redo writes: the letters that are switched on. `path` is the file and `seen` its state when this was
    planned.
    """

    window: str
    path: str
    letters: tuple[TypeLetter, ...]
    seen: FileState


def plan(messages: RolloutMessages, receipt: Json) -> OverwrittenRedo:
    """What applying the commit with this receipt again would write. Raises NotRedoable."""
    if not undo.is_undone(messages.lineage, receipt):
        raise NotRedoable(IN_EFFECT)
    part, record = _line(messages.lineage, receipt)
    position = part.number, record.place
    if any((each.part.number, each.record.place) > position for each in messages.replay.compactions):
        raise NotRedoable(COVERED)
    if _is_rolled_back(messages.lineage, position):
        raise NotRedoable(LEFT)
    turn = commits.turn_of(part, record)
    letters = undo.letters_of(turn) if turn.is_whole else None
    if letters is None or not undo.is_as_written(turn, receipt):
        raise NotRedoable(undo.CHANGED)
    return OverwrittenRedo(receipt["window"], part.rollout.path, letters, part.state)


def _line(lineage: Lineage, receipt: Json) -> tuple[RolloutPart, RolloutRecord]:
    """The line of the inactive compaction: the second one of its turn."""
    for part in reversed(lineage.parts):
        for before, record in zip(part.records, part.records[1:], strict=False):
            is_of_turn = before.subtype in TURN_STARTS and before.turn == receipt["turn"]
            if record.type != UNDONE or not is_of_turn:
                continue
            if not part.is_own:
                raise NotRedoable(undo.INHERITED)
            if not part.is_sent or (part.end is not None and record.offset >= part.end):
                raise NotRedoable(LEFT)
            return part, record
    raise NotRedoable(undo.GONE)


def _is_rolled_back(lineage: Lineage, position: tuple[int, int]) -> bool:
    """Whether turns were taken back after a line, given by its file's number and its own: these may include earlier
    turns.
    """
    sent = ((part.number, record) for part in lineage.parts if part.is_sent for record in part.sent())
    return any(record.rolled_back and (number, record.place) > position for number, record in sent)


def redo(store: Store, session_id: str, opened: Appending, redoing: OverwrittenRedo) -> None:
    """Write it and read it back. Raises NotRedoable, CompactionConflict where the file changed since it was planned."""
    state = opened.state
    if state != redoing.seen:
        raise CompactionConflict("The session was written to meanwhile. Look at it, then try again.")
    opened.overwrite(switching.on(redoing.letters), state)
    newest = next(reversed(commits.messages_now(store, session_id).compactions), None)
    facts = newest.replayed.record.compacted if newest is not None else None
    if facts is None or facts.window_id != redoing.window:
        opened.replace(switching.on(redoing.letters), switching.off(redoing.letters))
        raise NotRedoable(NOT_AS_MEANT)
