"""The History of a session, and a cache of the messages of the latest sessions."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock

from cachetools import LRUCache

from viewer.stores.history_types import Boundary, History, HistoryEntry
from viewer.stores.jsonl.rows import MessageRow, copies_of, in_order
from viewer.stores.packing import extended, pack
from viewer.stores.recorded import Recorded
from viewer.stores.transcript import SENT, TranscriptIndex

from .entries import OWN_RECORD, TreeEntry
from .messages import CompactedEntries, EntryMessages, grown
from .pi_versions import migrated
from .tree import tree_of

HELD = 60_000  # messages in this process; always enough for two sessions

_held: LRUCache[str, EntryMessages] = LRUCache(HELD, getsizeof=lambda each: min(len(each.entries) + 1, HELD // 2))
_lock = Lock()


def messages_of(key: str, entries: Sequence[TreeEntry], text: str, *, is_strict: bool) -> EntryMessages:
    """The messages of the session with this cache key, whose current entries are these. `text` differs whenever they
    do.
    """
    with _lock:
        cached = _held.get(key)
    if cached is not None and cached.text == text:
        return cached
    if not is_strict:
        entries = migrated(entries)
    result = grown(cached, entries, text) if cached is not None else None
    if result is None:
        result = EntryMessages(entries, tree_of(entries, is_strict=is_strict), text)
    with _lock:
        _held[key] = result
    return result


def index_of(messages: EntryMessages, recorded: Recorded) -> TranscriptIndex:
    """The History of a session, each message once."""
    handoffs = {each.handoff for each in messages.compactions}
    copies = copies_of(messages.units.values())
    entries = [
        entry
        for each in messages.ids
        if each not in handoffs
        and messages.units[each].copy_of is None
        and (entry := _entry(messages, messages.units[each], copies.get(each, ()))) is not None
    ]
    root = {
        unit.offset: each if (each := unit.copy_of) is not None else unit.offset for unit in messages.units.values()
    }
    runs = {each.receipt["handoff"]: each.run for each in recorded.written if not each.undone}
    boundaries = tuple(_boundary(root, handoffs, each, runs.get(each.handoff)) for each in messages.compactions)
    message_of = {row: entry.id for entry in entries for row in entry.rows}
    history = History(in_order(entries, boundaries), boundaries, message_of, settled=True)
    index = pack(history, [_row(messages, each) for each in messages.ids])
    numbers = (index.number(each) for each in messages.live)
    order = array("i", [each for each in numbers if each is not None and index.flags[each] & SENT])
    return index if list(order) == sorted(order) else replace(index, sent_order=order)


def _row(messages: EntryMessages, message_id: int, *, is_plain: bool = False) -> MessageRow:
    unit = messages.units[message_id]
    return MessageRow(
        unit.offset,
        messages.role_of(message_id),
        messages.states[message_id],
        unit.time,
        unit.size,
        unit.is_prompt,
        is_plain,
    )


def _entry(messages: EntryMessages, unit: TreeEntry, copies: Sequence[TreeEntry]) -> HistoryEntry | None:
    """A message with its copies; None where none of them is or was in context."""
    carriers = [each for each in (unit, *copies) if messages.states[each.offset] != "out"]
    if not carriers:
        return None
    newest = next((each for each in carriers if messages.states[each.offset] == "live"), carriers[-1])
    state = messages.states[newest.offset]
    assert state != "out"
    rows = (unit.offset, *sorted(each.offset for each in copies))
    return HistoryEntry(unit.offset, rows, unit.offset, newest.offset, state, newest is not unit)


def _boundary(root: Mapping[int, int], handoffs: set[int], compaction: CompactedEntries, run: int | None) -> Boundary:
    """`root` maps each message to itself, or to the message that it is a copy of."""
    before = dict.fromkeys(root[each] for each in compaction.before if each not in handoffs)
    tail = [root[each] for each in compaction.after if each not in handoffs]
    kept_messages = dict.fromkeys(tail)
    edited = {each.offset for each in compaction.edits}
    return Boundary(
        handoff_id=compaction.handoff,
        time=compaction.entry.time or None,
        block_ids=compaction.after,
        before_ids=compaction.before,
        cut_id=None if compaction.entry.is_note else next(iter(tail), None),
        copies=(),
        summarised_ids=tuple(each for each in before if each not in kept_messages),
        kept_ids=tuple(kept_messages),
        shortened_ids=tuple(root[each] for each in compaction.after if each in edited),
        run=run,
    )


def extended_index(messages: EntryMessages, index: TranscriptIndex) -> TranscriptIndex | None:
    """The index with the messages that were appended since; None where any other may have changed."""
    if not index.ids or index.ids[-1] not in messages.units or len(messages.compactions) != len(index.boundaries):
        return None
    if index.unlinked != messages.unreached:
        return None
    ids = messages.ids[bisect_right(messages.ids, index.ids[-1]) :]
    if len(messages.units) != len(index.ids) + len(ids) or any(messages.role_of(each) == OWN_RECORD for each in ids):
        return None
    is_all_live = len(messages.live) == len(index.live) + index.records + len(ids)  # everything that was live still is
    if not is_all_live or not ids:
        return index if is_all_live else None
    return extended(index, [_row(messages, each, is_plain=True) for each in ids])
