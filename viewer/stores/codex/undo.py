"""Taking a compaction of ours back, and applying it again, by changing one byte of each of its lines: then the client
skips them, because it does not know their types.

Nothing moves, because other files, and the client's own records, point into a file by byte. The turn's first and last
line stay, so that the client still finds its turn, and the numbers of the lines continue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from viewer.stores.base import Store
from viewer.stores.changes import COVERED, IN_EFFECT, Json, UndoPlan
from viewer.stores.errors import CompactionConflict, NotRedoable
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState, line_at
from viewer.stores.transcript import Boundary

from . import encode
from .codec import ItemReader
from .commit import BEGINNING, WrittenTurn, line_of, turn_of
from .messages import CompactedMessages, RolloutMessages, messages_now
from .records import TURN_STARTS, UNDONE, RolloutRecord
from .replay import Lineage, RolloutPart, replayed

GONE = "This compaction is no longer in the session's file."
WENT_BACK = "The session went back to before this compaction: it is not in effect any more."
NATIVE = "Codex made this compaction itself, and it is taken back there: go back to before its turn."
INHERITED = "This compaction is in the session that this one was forked from: undo it there."
CHANGED = "The lines of this compaction are not as they were written: somebody changed the file."
COMPARED = 80  # characters of a line after its numbers: its type, and its turn
WENT_BACK_SINCE = "The session went back to before this compaction since: compact again."
NOT_AS_MEANT = "The compaction did not read back as it was meant, and was undone again. Please report this session."


@dataclass(frozen=True, slots=True)
class OverwrittenUndo:
    """What an undo writes: the letters that are switched off, that of the compaction's line first. `path` is the file
    and `seen` its state when this was planned; `current` is the session's current file, and `live` the messages in
    context after that.
    """

    session_id: str
    window: str
    path: str
    current: str
    letters: tuple[encode.TypeLetter, ...]
    live: tuple[int, ...]
    seen: FileState


def _refused(reason: str) -> UndoPlan:
    return UndoPlan((), (), (), reason)


def compaction_in_effect(messages: RolloutMessages, compaction: Json | Boundary) -> CompactedMessages | None:
    """A compaction that is in effect, found by the window that it began, because bytes may have moved; else by its
    handoff.
    """
    if isinstance(compaction, Boundary):
        return next((each for each in messages.compactions if each.handoff == compaction.handoff_id), None)
    return next((each for each in messages.compactions if _window(each) == compaction["window"]), None)


def _window(compacted: CompactedMessages) -> str:
    facts = compacted.replayed.record.compacted
    return facts.window_id if facts is not None else ""


def plan_undo(session_id: str, messages: RolloutMessages, compaction: Json | Boundary) -> UndoPlan:
    """What taking a compaction back would do now, or why it cannot be done."""
    in_effect = compaction_in_effect(messages, compaction)
    if in_effect is None:
        is_inactive = isinstance(compaction, dict) and line_of(messages.lineage, compaction["window"])
        return _refused(WENT_BACK if is_inactive else GONE)
    record, part = in_effect.replayed.record, messages.lineage.part_of(in_effect.replayed.id)
    if part is None:
        return _refused(GONE)
    if record.compacted is None or not record.compacted.mark:
        return _refused(NATIVE)
    if not part.is_own:
        return _refused(INHERITED)
    if in_effect is not messages.compactions[-1]:
        return _refused(COVERED)
    turn = turn_of(part, record)
    letters = _letters_of(turn) if turn.is_whole else None
    if letters is None or (isinstance(compaction, dict) and not _is_as_written(turn, compaction)):
        return _refused(CHANGED)
    after = RolloutMessages(messages.lineage, replayed(_without(messages.lineage, in_effect)))
    before, now = set(messages.live), set(after.live)
    current = messages.lineage.current.rollout.path
    return UndoPlan(
        restored=tuple(each for each in after.live if each not in before),
        hidden=tuple(each for each in messages.live if each not in now),
        later=tuple(each for each in after.live if each > in_effect.replayed.id and each in before),
        refusal="",
        what=OverwrittenUndo(
            session_id, turn.window, part.rollout.path, current, letters, tuple(after.live), part.state
        ),
    )


def _without(lineage: Lineage, in_effect: CompactedMessages) -> Lineage:
    """The files as they would be after the undo."""
    gone = in_effect.replayed.record
    own = lineage.part_of(in_effect.replayed.id)
    assert own is not None
    records = [replace(each, type="", compacted=None) if each.offset == gone.offset else each for each in own.records]
    return replace(
        lineage, parts=tuple(replace(each, records=records) if each is own else each for each in lineage.parts)
    )


def _is_as_written(turn: WrittenTurn, receipt: Json) -> bool:
    """Whether each line begins as it was written, wherever it is now, and whether it counts or not; a client may
    renumber its lines.
    """
    then = [_behind_numbers(beginning) for _, beginning in receipt["lines"]]
    return [_behind_numbers(beginning) for _, beginning in turn.lines] == then and turn.id == receipt["turn"]


def _behind_numbers(line: str) -> str:
    """A line's beginning from its type on, in a length that every line has."""
    return encode.with_counting_type(line[line.find('"type"') :][:COMPARED])


def _letters_of(turn: WrittenTurn) -> tuple[encode.TypeLetter, ...] | None:
    """The letters of the types of its lines; None where a line is another one."""
    with ItemReader() as reader:
        file = reader.file(turn.part)
        return encode.type_letters((offset, line_at(file, offset, BEGINNING)) for offset, _ in turn.lines)


def undo(store: Store, opened: Appending, undoing: OverwrittenUndo) -> Json:
    """Write it and read it back; returns the receipt. Raises CompactionConflict: then nothing was written, or it was
    put back.
    """
    messages, state = messages_now(store, undoing.session_id), opened.state
    if state != undoing.seen or messages.lineage.current.rollout.path != undoing.current:
        raise CompactionConflict("The session was written to meanwhile. Look at it, then undo again.")
    opened.overwrite(encode.bytes_off(undoing.letters), state)
    with opened.taken_back(encode.bytes_off(undoing.letters), encode.bytes_on(undoing.letters)):
        opened.read_back(lambda: messages_now(store, undoing.session_id).live, undoing.live)
    return {"window": undoing.window}


def is_undone(lineage: Lineage, receipt: Json) -> bool:
    """Whether the line of this compaction does not count any more, or is gone."""
    return line_of(lineage, receipt["window"]) is None


# -- redo --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OverwrittenRedo:
    """What a redo writes: the letters that are switched on. `path` is the file and `seen` its state when this was
    planned.
    """

    window: str
    path: str
    letters: tuple[encode.TypeLetter, ...]
    seen: FileState


def plan_redo(messages: RolloutMessages, receipt: Json) -> OverwrittenRedo:
    """What applying the commit with this receipt again would write. Raises NotRedoable."""
    if not is_undone(messages.lineage, receipt):
        raise NotRedoable(IN_EFFECT)
    part, record = _inactive_line(messages.lineage, receipt)
    position = part.number, record.position
    if any((each.part.number, each.record.position) > position for each in messages.replay.compactions):
        raise NotRedoable(COVERED)
    if _is_rolled_back(messages.lineage, position):
        raise NotRedoable(WENT_BACK_SINCE)
    turn = turn_of(part, record)
    letters = _letters_of(turn) if turn.is_whole else None
    if letters is None or not _is_as_written(turn, receipt):
        raise NotRedoable(CHANGED)
    return OverwrittenRedo(receipt["window"], part.rollout.path, letters, part.state)


def _inactive_line(lineage: Lineage, receipt: Json) -> tuple[RolloutPart, RolloutRecord]:
    """The line of the inactive compaction: the second one of its turn."""
    for part in reversed(lineage.parts):
        for before, record in zip(part.records, part.records[1:], strict=False):
            is_of_turn = before.subtype in TURN_STARTS and before.turn == receipt["turn"]
            if record.type != UNDONE or not is_of_turn:
                continue
            if not part.is_own:
                raise NotRedoable(INHERITED)
            if not part.is_sent or (part.end is not None and record.offset >= part.end):
                raise NotRedoable(WENT_BACK_SINCE)
            return part, record
    raise NotRedoable(GONE)


def _is_rolled_back(lineage: Lineage, position: tuple[int, int]) -> bool:
    """Whether turns were taken back after a line, given by its file's number and its own: these may include earlier
    turns.
    """
    sent = ((part.number, record) for part in lineage.parts if part.is_sent for record in part.sent())
    return any(record.rolled_back and (number, record.position) > position for number, record in sent)


def redo(store: Store, session_id: str, opened: Appending, redoing: OverwrittenRedo) -> None:
    """Write it and read it back. Raises NotRedoable, CompactionConflict where the file changed since it was planned."""
    state = opened.state
    if state != redoing.seen:
        raise CompactionConflict("The session was written to meanwhile. Look at it, then try again.")
    opened.overwrite(encode.bytes_on(redoing.letters), state)
    newest = next(reversed(messages_now(store, session_id).compactions), None)
    facts = newest.replayed.record.compacted if newest is not None else None
    if facts is None or facts.window_id != redoing.window:
        opened.replace(encode.bytes_on(redoing.letters), encode.bytes_off(redoing.letters))
        raise NotRedoable(NOT_AS_MEANT)
