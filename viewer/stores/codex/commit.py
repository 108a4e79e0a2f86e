"""Writing a compaction at a session's end, and finding one again that was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from viewer.stores.base import Store
from viewer.stores.changes import Commit, Edit, Json, edits_to_json
from viewer.stores.errors import CompactionConflict
from viewer.stores.jsonl.append import Appending
from viewer.stores.jsonl.files import line_at
from viewer.stores.jsonl.lines import decoded

from . import encode, items
from .codec import ItemReader
from .messages import CompactedMessages, RolloutMessages, messages_now
from .plan import NewContext, new_context, planned_items
from .records import TURN_ENDS, TURN_STARTS, RolloutRecord
from .replay import Lineage, RolloutPart

BEGINNING = 160  # bytes of a line that a receipt contains


def mark_of(token: Json, edits: Sequence[Edit]) -> str:
    """The mark by which a commit of these edits is found again."""
    return blake2b(repr([token["digest"], edits_to_json(edits)]).encode(), digest_size=16).hexdigest()


def commit(
    store: Store, session_id: str, opened: Appending, token: Json, edits: Sequence[Edit], *, now: float
) -> Commit:
    """Append the lines of a compaction, and let them count once all are there; read them back. Raises
    CompactionConflict: then nothing that was written counts.
    """
    messages, state = messages_now(store, session_id), opened.state
    if messages.lineage.current.path != opened.path or messages.lineage.current.state != state:
        raise CompactionConflict("The session's file was written to just now. Nothing was changed. Try again.")
    planned, mark = planned_items(messages, token), mark_of(token, edits)
    with ItemReader() as reader:
        context = new_context(reader, messages, planned, edits)
        last = encode.last_payloads(reader, messages.lineage)
    own = encode.OwnTurn(session_id, encode.new_id(now), encode.new_id(now), mark, _ordinal(messages.lineage), now)
    data = encode.encoded(encode.compaction(context, last, own))
    waiting, letters = encode.switched_off(data)
    start = opened.append(waiting, state)
    letters = tuple(replace(each, offset=start + each.offset) for each in letters)
    opened.replace({start: waiting}, encode.bytes_on(letters))
    with opened.taken_back({start: data}, encode.bytes_off(letters)):
        return _read_back(messages_now(store, session_id), context, data)


def _ordinal(lineage: Lineage) -> int | None:
    """The number of the next line of the current file; None in files without numbers."""
    ordinals = [each.ordinal for each in lineage.current.records if each.ordinal is not None]
    return max(ordinals) + 1 if ordinals else None


def _read_back(messages: RolloutMessages, context: NewContext, data: bytes) -> Commit:
    """Raises CompactionConflict where a resume would not use the intended context."""
    values_written = [decoded(line) for line in data.split(b"\n")[:-1]]
    digests_meant = [items.digest_of(each.item) for each in context.stored]
    sent = [messages.replay.items[each].facts.digest for each in messages.replay.live]
    records = messages.lineage.current.records[-len(values_written) :]
    with ItemReader() as reader:
        values = [reader.value(messages.lineage.current, record) for record in records]
    newest = messages.compactions[-1] if messages.compactions else None
    is_ours = newest is not None and newest.replayed.record in records
    if newest is None or not is_ours or sent != digests_meant or values != values_written:
        raise CompactionConflict(
            "What was written did not read back as it was meant, and was taken back. Please report this session."
        )
    return commit_of(newest)


def newest_of(messages: RolloutMessages, mark: str) -> CompactedMessages | None:
    """The compaction with this mark, if it is in effect."""
    marked = (each for each in reversed(messages.compactions) if each.replayed.record.compacted is not None)
    return next((each for each in marked if _mark(each.replayed.record) == mark), None)


def _mark(record: RolloutRecord) -> str:
    return record.compacted.mark if record.compacted is not None else ""


def commit_of(compacted: CompactedMessages, at: float | None = None) -> Commit:
    """A commit as it is in the file."""
    turn = turn_of(compacted.replayed.part, compacted.replayed.record)
    first, last = compacted.replayed.id, max(compacted.handoff, *compacted.after)
    return Commit(compacted.handoff, first, last, turn.receipt(compacted), at=at)


# -- the lines of a compaction -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """The lines of a compaction of ours in a file: offset and beginning of each; `id` is the turn's. `is_whole` says
    that the turn has its start and its end, so that no other line is among these.
    """

    part: RolloutPart
    window: str
    id: str
    lines: tuple[tuple[int, str], ...]
    end: int
    is_whole: bool

    def receipt(self, compacted: CompactedMessages) -> Json:
        return {
            "handoff": compacted.handoff,
            "window": self.window,
            "turn": self.id,
            "file": self.part.rollout.file_id,
            "path": self.part.rollout.path,
            "lines": [list(each) for each in self.lines],
            "end": self.end,
            "before": list(compacted.before),
        }


def turn_of(part: RolloutPart, record: RolloutRecord) -> WrittenTurn:
    """The lines of the turn of a compaction of ours."""
    position = record.position
    started = part.records[position - 1]
    ends = (at for at in range(position, len(part.records)) if part.records[at].subtype in TURN_ENDS)
    last = next(ends, position)
    is_whole = started.subtype in TURN_STARTS and last > position and part.records[last].turn == started.turn != ""
    own = part.records[position - 1 : last + 1]
    with ItemReader() as reader:
        file = reader.file(part)
        beginnings_of_lines = tuple((each.offset, line_at(file, each.offset, BEGINNING)[: each.length]) for each in own)
    window = record.compacted.window_id if record.compacted is not None else ""
    beginnings = tuple((offset, data.decode("utf-8", "replace")) for offset, data in beginnings_of_lines)
    return WrittenTurn(part, window, started.turn, beginnings, own[-1].offset + own[-1].length + 1, is_whole)


def line_of(lineage: Lineage, window: str) -> tuple[RolloutPart, RolloutRecord] | None:
    """The line of the compaction that began this window, in any file of the session; None where it is no longer a
    compaction.
    """
    for part in reversed(lineage.parts):
        for record in reversed(part.records):
            if record.compacted is not None and record.compacted.window_id == window:
                return part, record
    return None
