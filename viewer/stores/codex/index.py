"""The once-only History of a session, and the messages of the sessions that were looked at last."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from threading import Lock

from cachetools import LRUCache

from viewer.stores.history_types import Boundary, History, HistoryEntry
from viewer.stores.jsonl.rows import MessageRow, copies_of, in_order, in_sent_order
from viewer.stores.packing import extended, pack
from viewer.stores.recorded import Recorded
from viewer.stores.transcript import TranscriptIndex

from .lineage import Lineage
from .replay import replayed
from .units import CompactedMessages, RolloutMessage, RolloutMessages

HELD = 60_000  # messages in this process; of two sessions in any case

_held: LRUCache[str, tuple[str, RolloutMessages]] = LRUCache(
    HELD, getsizeof=lambda each: min(len(each[1].units) + 1, HELD // 2)
)
_lock = Lock()


def messages_of(session_id: str, lineage: Lineage) -> RolloutMessages:
    """The messages of a session's files as they are now."""
    key = f"{session_id} {lineage.parts[0].rollout.path}"
    with _lock:
        known = _held.get(key)
    if known is not None and known[0] == lineage.text:
        return known[1]
    found = (grown(known[1], lineage) if known else None) or RolloutMessages(lineage, replayed(lineage))
    with _lock:
        _held[key] = lineage.text, found
    return found


def grown(found: RolloutMessages, lineage: Lineage) -> RolloutMessages | None:
    """The messages with the lines that were appended to the current file since; None where they are to be made anew."""
    *others, last = found.lineage.parts
    *others_now, now = lineage.parts
    count = len(last.records)
    is_same = [(each.rollout, each.state, each.end) for each in others] == [
        (each.rollout, each.state, each.end) for each in others_now
    ]
    is_longer = last.rollout == now.rollout and last.is_sent and last.end is None and now.end is None
    if (
        not is_same
        or not is_longer
        or not 0 < count <= len(now.records)
        or last.records[-1] is not now.records[count - 1]
    ):
        return None
    replay = found.replay.copy()
    replay.read(now, now.records[count:])
    made = RolloutMessages(lineage, replay)
    if replay.compactions == found.replay.compactions:
        vars(made).update(compactions=found.compactions)  # of a long session, most of the work
    return made


def index_of(found: RolloutMessages, recorded: Recorded) -> TranscriptIndex:
    """The once-only History of a session."""
    handoffs = {each.handoff for each in found.compactions}
    copies = copies_of(found.units.values())
    shown = [unit for unit in found.units.values() if unit.id not in handoffs and unit.copy_of is None]
    entries = [
        entry
        for unit in sorted(shown, key=lambda unit: unit.id)
        if (entry := _entry(found, unit, copies.get(unit.id, ()))) is not None
    ]
    runs = {each.receipt["handoff"]: each.run for each in recorded.written if not each.undone}
    roots = {unit.id: unit.copy_of for unit in found.units.values() if unit.copy_of is not None}
    boundaries = tuple(_boundary(roots, handoffs, each, runs.get(each.handoff)) for each in found.compactions)
    message_of = {row: entry.id for entry in entries for row in entry.rows}
    history = History(in_order(entries, boundaries), boundaries, message_of, settled=True)
    return in_sent_order(pack(history, [_row(found, each) for each in found.ids]), found.live)


def _row(found: RolloutMessages, unit_id: int, *, is_plain: bool = False) -> MessageRow:
    unit = found.units[unit_id]
    return MessageRow(
        unit.id, unit.role, found.states[unit.id], unit.time, found.size_of(unit), unit.is_prompt, is_plain
    )


def _entry(found: RolloutMessages, unit: RolloutMessage, copies: Sequence[RolloutMessage]) -> HistoryEntry | None:
    """A message with the copies of it; None where none of them is or was in context."""
    carriers = [each for each in (unit, *copies) if found.states[each.id] != "out"]
    if not carriers:
        return None
    newest = next((each for each in carriers if found.states[each.id] == "live"), carriers[-1])
    state = found.states[newest.id]
    assert state != "out"
    rows = (unit.id, *sorted(each.id for each in copies))
    return HistoryEntry(unit.id, rows, unit.id, newest.id, state, newest is not unit)


def _boundary(root: Mapping[int, int], handoffs: set[int], compacted: CompactedMessages, run: int | None) -> Boundary:
    """`root` has the message of which each shortened copy is one."""
    before = set(compacted.before)
    new = {each: root[each] for each in compacted.after if each in root and each not in before}
    said = dict.fromkeys(root.get(each, each) for each in compacted.before if each not in handoffs)
    kept = dict.fromkeys(root.get(each, each) for each in compacted.after if each not in handoffs)
    behind = compacted.after[compacted.after.index(compacted.handoff) + 1 :]
    tail = [root.get(each, each) for each in behind if each not in handoffs]
    return Boundary(
        handoff_id=compacted.handoff,
        time=compacted.replayed.record.time or None,
        block_ids=compacted.after,
        before_ids=compacted.before,
        cut_id=next(iter(tail), None),
        copies=tuple((copy, original) for copy, original in new.items() if original in before),
        summarised_ids=tuple(each for each in said if each not in kept),
        kept_ids=tuple(kept),
        shortened_ids=tuple(new.values()),
        run=run,
    )


def extended_index(found: RolloutMessages, index: TranscriptIndex) -> TranscriptIndex | None:
    """The index with the messages that were appended since; None where any other may have changed."""
    if not index.ids or index.ids[-1] not in found.units or len(found.compactions) != len(index.boundaries):
        return None
    last = index.live[-1] if index.live else None
    if last is not None and index.sizes[last] != _row(found, index.ids[last]).size:  # a note came beside it
        return None
    ids = found.ids[bisect_right(found.ids, index.ids[-1]) :]
    if len(found.units) != len(index.ids) + len(ids):
        return None
    is_all_live = len(found.live) == len(index.live) + len(ids)  # and what was live still is
    if not is_all_live or not ids:
        return index if is_all_live else None
    return extended(index, [_row(found, each, is_plain=True) for each in ids])
