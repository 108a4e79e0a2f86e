"""Taking a compaction of ours back: the types of its lines become ones that the client does not know, one byte each.

Nothing moves: other files, and the client's own notes, point into a file by byte. The turn's first and last line stay,
so that the client still finds its turn, and the numbers of the lines go on.
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
COMPARED = 80  # characters of a line behind its numbers: what it is, and of which turn


@dataclass(frozen=True, slots=True)
class OverwrittenUndo:
    """What an undo writes: the letters that are switched off, that of the compaction's line first. `path` is the
    file and `seen` how it was when this was planned; `current` the file that the session goes on in, and `live` the
    messages that are in context then.
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


def taken(found: RolloutMessages, compaction: Json | IndexedBoundary) -> CompactedMessages | None:
    """A compaction that stands: by the window that it began, for bytes may have moved; else by its handoff."""
    if isinstance(compaction, IndexedBoundary):
        return next((each for each in found.compactions if each.handoff == compaction.handoff_id), None)
    return next((each for each in found.compactions if _window(each) == compaction["window"]), None)


def _window(compacted: CompactedMessages) -> str:
    facts = compacted.replayed.record.compacted
    return facts.window_id if facts is not None else ""


def plan(session_id: str, found: RolloutMessages, compaction: Json | IndexedBoundary) -> UndoPlan:
    """What taking a compaction back would do now, or why it cannot be done."""
    standing = taken(found, compaction)
    if standing is None:
        known = isinstance(compaction, dict) and commits.line_of(found.lineage, compaction["window"])
        return refused(LEFT if known else GONE)
    record, part = standing.replayed.record, found.lineage.part_of(standing.replayed.id)
    if part is None:
        return refused(GONE)
    if record.compacted is None or not record.compacted.mark:
        return refused(NATIVE)
    if not part.is_own:
        return refused(INHERITED)
    if standing is not found.compactions[-1]:
        return refused(COVERED)
    turn = commits.turn_of(part, record)
    letters = letters_of(turn) if turn.is_whole else None
    if letters is None or (isinstance(compaction, dict) and not is_as_written(turn, compaction)):
        return refused(CHANGED)
    after = RolloutMessages(found.lineage, replayed(_without(found.lineage, standing)))
    before, now = set(found.live), set(after.live)
    current = found.lineage.current.rollout.path
    return UndoPlan(
        restored=tuple(each for each in after.live if each not in before),
        hidden=tuple(each for each in found.live if each not in now),
        later=tuple(each for each in after.live if each > standing.replayed.id and each in before),
        refusal="",
        what=OverwrittenUndo(
            session_id, turn.window, part.rollout.path, current, letters, tuple(after.live), part.state
        ),
    )


def _without(lineage: Lineage, standing: CompactedMessages) -> Lineage:
    """The files as they would be."""
    gone = standing.replayed.record
    own = lineage.part_of(standing.replayed.id)
    assert own is not None
    records = [replace(each, type="", compacted=None) if each.offset == gone.offset else each for each in own.records]
    return replace(
        lineage, parts=tuple(replace(each, records=records) if each is own else each for each in lineage.parts)
    )


def is_as_written(turn: WrittenTurn, receipt: Json) -> bool:
    """Whether each line begins as it was written, wherever it stands now, and whether it counts or not; a client may
    number its lines anew.
    """
    then = [_behind_numbers(beginning) for _, beginning in receipt["lines"]]
    return [_behind_numbers(beginning) for _, beginning in turn.lines] == then and turn.id == receipt["turn"]


def _behind_numbers(line: str) -> str:
    """A line's beginning from its type on, as much of it as there is in any case."""
    return switching.counting(line[line.find('"type"') :][:COMPARED])


def letters_of(turn: WrittenTurn) -> tuple[TypeLetter, ...] | None:
    """Those of the types of its lines; None where a line is another one."""
    with ItemReader() as reader:
        file = reader.file(turn.part)
        return switching.letters((offset, line_at(file, offset, commits.BEGINNING)) for offset, _ in turn.lines)


def undo(store: Store, opened: Appending, undoing: OverwrittenUndo) -> Json:
    """Write it, read it back; the receipt. Raises CompactionConflict: nothing was written then, or it was put back."""
    found, seen = commits.messages_now(store, undoing.session_id), opened.state
    if seen != undoing.seen or found.lineage.current.rollout.path != undoing.current:
        raise CompactionConflict("The session was written to meanwhile. Look at it, then undo again.")
    opened.overwrite(switching.off(undoing.letters), seen)
    with opened.taken_back(switching.off(undoing.letters), switching.on(undoing.letters)):
        opened.read_back(lambda: commits.messages_now(store, undoing.session_id).live, undoing.live)
    return {"window": undoing.window}


def is_undone(lineage: Lineage, receipt: Json) -> bool:
    """Whether the line of this compaction is none any more, or gone."""
    return commits.line_of(lineage, receipt["window"]) is None
