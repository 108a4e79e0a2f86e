"""Taking a compaction of ours back: the types of its lines become unknown to the client, by changing one byte each.

Nothing moves, because other files, and the client's own records, point into a file by byte. The turn's first and last
line stay, so that the client still finds its turn, and the numbers of the lines continue.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from viewer.stores.base import Store
from viewer.stores.changes import COVERED, Json, UndoPlan
from viewer.stores.errors import CompactionConflict
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import FileState, line_at
from viewer.stores.transcript import IndexedBoundary

from . import commits, switching
from .codec import ItemReader
from .commits import WrittenTurn
from .lineage import Lineage
from .replay import replayed
from .switching import TypeLetter
from .units import CompactedMessages, RolloutMessages

GONE = "This compaction is no longer in the session's file."
LEFT = "The session went back to before this compaction: it is not in effect any more."
NATIVE = "Codex made this compaction itself, and it is taken back there: go back to before its turn."
INHERITED = "This compaction is in the session that this one was forked from: undo it there."
CHANGED = "The lines of this compaction are not as they were written: somebody changed the file."
COMPARED = 80  # characters of a line after its numbers: its type, and its turn


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
    letters: tuple[TypeLetter, ...]
    live: tuple[int, ...]
    seen: FileState


def refused(reason: str) -> UndoPlan:
    return UndoPlan((), (), (), reason)


def taken(messages: RolloutMessages, compaction: Json | IndexedBoundary) -> CompactedMessages | None:
    """A compaction that is in effect, found by the window that it began, because bytes may have moved; else by its
    handoff.
    """
    if isinstance(compaction, IndexedBoundary):
        return next((each for each in messages.compactions if each.handoff == compaction.handoff_id), None)
    return next((each for each in messages.compactions if _window(each) == compaction["window"]), None)


def _window(compacted: CompactedMessages) -> str:
    facts = compacted.replayed.record.compacted
    return facts.window_id if facts is not None else ""


def plan(session_id: str, messages: RolloutMessages, compaction: Json | IndexedBoundary) -> UndoPlan:
    """What taking a compaction back would do now, or why it cannot be done."""
    in_effect = taken(messages, compaction)
    if in_effect is None:
        is_inactive = isinstance(compaction, dict) and commits.line_of(messages.lineage, compaction["window"])
        return refused(LEFT if is_inactive else GONE)
    record, part = in_effect.replayed.record, messages.lineage.part_of(in_effect.replayed.id)
    if part is None:
        return refused(GONE)
    if record.compacted is None or not record.compacted.mark:
        return refused(NATIVE)
    if not part.is_own:
        return refused(INHERITED)
    if in_effect is not messages.compactions[-1]:
        return refused(COVERED)
    turn = commits.turn_of(part, record)
    letters = letters_of(turn) if turn.is_whole else None
    if letters is None or (isinstance(compaction, dict) and not is_as_written(turn, compaction)):
        return refused(CHANGED)
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


def is_as_written(turn: WrittenTurn, receipt: Json) -> bool:
    """Whether each line begins as it was written, wherever it is now, and whether it counts or not; a client may
    renumber its lines.
    """
    then = [_behind_numbers(beginning) for _, beginning in receipt["lines"]]
    return [_behind_numbers(beginning) for _, beginning in turn.lines] == then and turn.id == receipt["turn"]


def _behind_numbers(line: str) -> str:
    """A line's beginning from its type on, in a length that every line has."""
    return switching.counting(line[line.find('"type"') :][:COMPARED])


def letters_of(turn: WrittenTurn) -> tuple[TypeLetter, ...] | None:
    """The letters of the types of its lines; None where a line is another one."""
    with ItemReader() as reader:
        file = reader.file(turn.part)
        return switching.letters((offset, line_at(file, offset, commits.BEGINNING)) for offset, _ in turn.lines)


def undo(store: Store, opened: Appending, undoing: OverwrittenUndo) -> Json:
    """Write it and read it back; returns the receipt. Raises CompactionConflict: then nothing was written, or it was
    put back.
    """
    messages, state = commits.messages_now(store, undoing.session_id), opened.state
    if state != undoing.seen or messages.lineage.current.rollout.path != undoing.current:
        raise CompactionConflict("The session was written to meanwhile. Look at it, then undo again.")
    opened.overwrite(switching.off(undoing.letters), state)
    with opened.taken_back(switching.off(undoing.letters), switching.on(undoing.letters)):
        opened.read_back(lambda: commits.messages_now(store, undoing.session_id).live, undoing.live)
    return {"window": undoing.window}


def is_undone(lineage: Lineage, receipt: Json) -> bool:
    """Whether the line of this compaction does not count any more, or is gone."""
    return commits.line_of(lineage, receipt["window"]) is None
