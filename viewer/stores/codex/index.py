"""The History of a session, and a cache of the messages of the latest sessions."""

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

HELD = 60_000  # messages in this process; always enough for two sessions

_held: LRUCache[str, tuple[str, RolloutMessages]] = LRUCache(
    HELD, getsizeof=lambda each: min(len(each[1].units) + 1, HELD // 2)
)
_lock = Lock()


def messages_of(session_id: str, lineage: Lineage) -> RolloutMessages:
    """The current messages of a session's files."""
    key = f"{session_id} {lineage.parts[0].rollout.path}"
    with _lock:
        cached = _held.get(key)
    if cached is not None and cached[0] == lineage.text:
        return cached[1]
    messages = (grown(cached[1], lineage) if cached else None) or RolloutMessages(lineage, replayed(lineage))
    with _lock:
        _held[key] = lineage.text, messages
    return messages


def grown(messages: RolloutMessages, lineage: Lineage) -> RolloutMessages | None:
    """The messages with the lines that were appended to the current file since; None where they have to
    be made anew.
    """
    *others, last = messages.lineage.parts
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
    replay = messages.replay.copy()
    replay.read(now, now.records[count:])
    grown_messages = RolloutMessages(lineage, replay)
    if replay.compactions == messages.replay.compactions:
        vars(grown_messages).update(compactions=messages.compactions)  # for a long session, most of the work
    return grown_messages


def index_of(messages: RolloutMessages, recorded: Recorded) -> TranscriptIndex:
    """The History of a session, each message once."""
    handoffs = {each.handoff for each in messages.compactions}
    copies = copies_of(messages.units.values())
    originals = [unit for unit in messages.units.values() if unit.id not in handoffs and unit.copy_of is None]
    entries = [
        entry
        for unit in sorted(originals, key=lambda unit: unit.id)
        if (entry := _entry(messages, unit, copies.get(unit.id, ()))) is not None
    ]
    runs = {each.receipt["handoff"]: each.run for each in recorded.written if not each.undone}
    roots = {unit.id: unit.copy_of for unit in messages.units.values() if unit.copy_of is not None}
    boundaries = tuple(_boundary(roots, handoffs, each, runs.get(each.handoff)) for each in messages.compactions)
    message_of = {row: entry.id for entry in entries for row in entry.rows}
    history = History(in_order(entries, boundaries), boundaries, message_of, settled=True)
    return in_sent_order(pack(history, [_row(messages, each) for each in messages.ids]), messages.live)


def _row(messages: RolloutMessages, unit_id: int, *, is_plain: bool = False) -> MessageRow:
    unit = messages.units[unit_id]
    return MessageRow(
        unit.id, unit.role, messages.states[unit.id], unit.time, messages.size_of(unit), unit.is_prompt, is_plain
    )


def _entry(messages: RolloutMessages, unit: RolloutMessage, copies: Sequence[RolloutMessage]) -> HistoryEntry | None:
    """A message with its copies; None where none of them is or was in context."""
    carriers = [each for each in (unit, *copies) if messages.states[each.id] != "out"]
    if not carriers:
        return None
    newest = next((each for each in carriers if messages.states[each.id] == "live"), carriers[-1])
    state = messages.states[newest.id]
    assert state != "out"
    rows = (unit.id, *sorted(each.id for each in copies))
    return HistoryEntry(unit.id, rows, unit.id, newest.id, state, newest is not unit)


def _boundary(root: Mapping[int, int], handoffs: set[int], compacted: CompactedMessages, run: int | None) -> Boundary:
    """`root` maps each shortened copy to its message."""
    before = set(compacted.before)
    new = {each: root[each] for each in compacted.after if each in root and each not in before}
    before_messages = dict.fromkeys(root.get(each, each) for each in compacted.before if each not in handoffs)
    kept_messages = dict.fromkeys(root.get(each, each) for each in compacted.after if each not in handoffs)
    behind = compacted.after[compacted.after.index(compacted.handoff) + 1 :]
    tail = [root.get(each, each) for each in behind if each not in handoffs]
    return Boundary(
        handoff_id=compacted.handoff,
        time=compacted.replayed.record.time or None,
        block_ids=compacted.after,
        before_ids=compacted.before,
        cut_id=next(iter(tail), None),
        copies=tuple((copy, original) for copy, original in new.items() if original in before),
        summarised_ids=tuple(each for each in before_messages if each not in kept_messages),
        kept_ids=tuple(kept_messages),
        shortened_ids=tuple(new.values()),
        run=run,
    )


def extended_index(messages: RolloutMessages, index: TranscriptIndex) -> TranscriptIndex | None:
    """The index with the messages that were appended since; None where any other may have changed."""
    if not index.ids or index.ids[-1] not in messages.units or len(messages.compactions) != len(index.boundaries):
        return None
    last = index.live[-1] if index.live else None
    if last is not None and index.sizes[last] != _row(messages, index.ids[last]).size:  # a note was added to it
        return None
    ids = messages.ids[bisect_right(messages.ids, index.ids[-1]) :]
    if len(messages.units) != len(index.ids) + len(ids):
        return None
    is_all_live = len(messages.live) == len(index.live) + len(ids)  # everything that was live still is
    if not is_all_live or not ids:
        return index if is_all_live else None
    return extended(index, [_row(messages, each, is_plain=True) for each in ids])
