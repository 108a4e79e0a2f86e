"""The once-only History of a session, and the messages of the sessions that were looked at last."""

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

HELD = 60_000  # messages in this process; of two sessions in any case

_held: LRUCache[str, EntryMessages] = LRUCache(HELD, getsizeof=lambda each: min(len(each.entries) + 1, HELD // 2))
_lock = Lock()


def messages_of(key: str, entries: Sequence[TreeEntry], text: str, *, is_strict: bool) -> EntryMessages:
    """The messages of the session that is known by this key, whose entries are these now. `text` is another one
    whenever they are.
    """
    with _lock:
        known = _held.get(key)
    if known is not None and known.text == text:
        return known
    if not is_strict:
        entries = migrated(entries)
    found = grown(known, entries, text) if known is not None else None
    if found is None:
        found = EntryMessages(entries, tree_of(entries, is_strict=is_strict), text)
    with _lock:
        _held[key] = found
    return found


def index_of(found: EntryMessages, recorded: Recorded) -> TranscriptIndex:
    """The once-only History of a session."""
    handoffs = {each.handoff for each in found.compactions}
    copies = copies_of(found.units.values())
    entries = [
        entry
        for each in found.ids
        if each not in handoffs
        and found.units[each].copy_of is None
        and (entry := _entry(found, found.units[each], copies.get(each, ()))) is not None
    ]
    root = {unit.offset: each if (each := unit.copy_of) is not None else unit.offset for unit in found.units.values()}
    runs = {each.receipt["handoff"]: each.run for each in recorded.written if not each.undone}
    boundaries = tuple(_boundary(root, handoffs, each, runs.get(each.handoff)) for each in found.compactions)
    message_of = {row: entry.id for entry in entries for row in entry.rows}
    history = History(in_order(entries, boundaries), boundaries, message_of, settled=True)
    index = pack(history, [_row(found, each) for each in found.ids])
    numbers = (index.number(each) for each in found.live)
    order = array("i", [each for each in numbers if each is not None and index.flags[each] & SENT])
    return index if list(order) == sorted(order) else replace(index, sent_order=order)


def _row(found: EntryMessages, message_id: int, *, is_plain: bool = False) -> MessageRow:
    unit = found.units[message_id]
    return MessageRow(
        unit.offset, found.role_of(message_id), found.states[message_id], unit.time, unit.size, unit.is_prompt, is_plain
    )


def _entry(found: EntryMessages, unit: TreeEntry, copies: Sequence[TreeEntry]) -> HistoryEntry | None:
    """A message with the copies of it; None where none of them is or was in context."""
    carriers = [each for each in (unit, *copies) if found.states[each.offset] != "out"]
    if not carriers:
        return None
    newest = next((each for each in carriers if found.states[each.offset] == "live"), carriers[-1])
    state = found.states[newest.offset]
    assert state != "out"
    rows = (unit.offset, *sorted(each.offset for each in copies))
    return HistoryEntry(unit.offset, rows, unit.offset, newest.offset, state, newest is not unit)


def _boundary(root: Mapping[int, int], handoffs: set[int], made: CompactedEntries, run: int | None) -> Boundary:
    """`root` has the message that each is, or is a copy of."""
    said = dict.fromkeys(root[each] for each in made.before if each not in handoffs)
    tail = [root[each] for each in made.after if each not in handoffs]
    kept = dict.fromkeys(tail)
    edited = {each.offset for each in made.edits}
    return Boundary(
        handoff_id=made.handoff,
        time=made.entry.time or None,
        block_ids=made.after,
        before_ids=made.before,
        cut_id=None if made.entry.is_note else next(iter(tail), None),
        copies=(),
        summarised_ids=tuple(each for each in said if each not in kept),
        kept_ids=tuple(kept),
        shortened_ids=tuple(root[each] for each in made.after if each in edited),
        run=run,
    )


def extended_index(found: EntryMessages, index: TranscriptIndex) -> TranscriptIndex | None:
    """The index with the messages that were appended since; None where any other may have changed."""
    if not index.ids or index.ids[-1] not in found.units or len(found.compactions) != len(index.boundaries):
        return None
    if index.unlinked != found.unreached:
        return None
    ids = found.ids[bisect_right(found.ids, index.ids[-1]) :]
    if len(found.units) != len(index.ids) + len(ids) or any(found.role_of(each) == OWN_RECORD for each in ids):
        return None
    is_all_live = len(found.live) == len(index.live) + index.records + len(ids)  # and what was live still is
    if not is_all_live or not ids:
        return index if is_all_live else None
    return extended(index, [_row(found, each, is_plain=True) for each in ids])
