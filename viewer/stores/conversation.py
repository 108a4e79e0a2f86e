"""What kinds share once a session's messages are known: the index of its History, and its text in portions."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from .message import BOOKKEEPING_ROLES, State, StoredMessage
from .packing import BoundaryIds, HistoryParts, extended, pack
from .recorded import Recorded
from .search.pages import SearchableMessage, SearchableText
from .search.passages import words_of
from .transcript import SENT, HistoryEntry, TranscriptIndex

PORTION = 1_000_000  # characters of text that are returned at once


class ConversationMessage(Protocol):
    """One message. `time` in epoch seconds; `copy_of` is the message of which it is a shortened copy. `is_summary` says
    that a compaction wrote it, and nobody said it.
    """

    @property
    def time(self) -> float: ...
    @property
    def is_prompt(self) -> bool: ...
    @property
    def is_summary(self) -> bool: ...
    @property
    def copy_of(self) -> int | None: ...


class ConversationCompaction(Protocol):
    """A compaction: ids of its summary and of the messages in context before and after it, in the order in which they
    are sent.
    """

    @property
    def handoff(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def before(self) -> tuple[int, ...]: ...
    @property
    def after(self) -> tuple[int, ...]: ...


class Conversation(Protocol):
    """All messages of a session by id; `ids` in order, `live` those in context, in the order in which they are sent."""

    @property
    def units(self) -> Mapping[int, ConversationMessage]: ...
    @property
    def ids(self) -> Sequence[int]: ...
    @property
    def live(self) -> Sequence[int]: ...
    @property
    def states(self) -> Mapping[int, State]: ...
    @property
    def compactions(self) -> Sequence[ConversationCompaction]: ...
    @property
    def unlinked(self) -> int:
        """How many messages nothing links to any more."""

    @property
    def further_lines(self) -> Mapping[int, int]:
        """The ids of further rows of messages, with the message of each."""

    def role_of(self, message_id: int) -> str: ...
    def size_of(self, message_id: int) -> int:
        """Its size, by which a change of its text is noticed."""


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A `packing.IndexRow`: a message, or a further row of a message ("out")."""

    id: int
    role: str
    state: State
    time: float
    size: int
    is_prompt: bool = False
    is_plain: bool = False


# -- the index of History ----------------------------------------------------------------------------------------------


def index_of(conversation: Conversation, recorded: Recorded) -> TranscriptIndex:
    """The History of a session, each message once."""
    handoffs = {each.handoff for each in conversation.compactions}
    originals = {each: unit.copy_of for each, unit in conversation.units.items() if unit.copy_of is not None}
    copies = _by_message(originals)
    further = _by_message(conversation.further_lines)
    messages = [each for each in conversation.ids if each not in handoffs and each not in originals]
    carried = (_entry(conversation, [each, *copies.get(each, ())], further) for each in messages)
    entries = [entry for entry in carried if entry is not None]
    runs = {each.receipt["handoff"]: each.run for each in recorded.written if not each.undone}
    boundaries = [_boundary(each, originals, handoffs, runs.get(each.handoff)) for each in conversation.compactions]
    message_of = {row: entry.id for entry in entries for row in entry.rows}
    parts = HistoryParts(entries, boundaries, message_of, settled=True)
    rows = [_row(conversation, each) for each in conversation.ids]
    rows += [_further_row(conversation, row, each) for row, each in conversation.further_lines.items()]
    return _in_sent_order(pack(parts, sorted(rows, key=lambda row: row.id)), conversation.live)


def extended_index(conversation: Conversation, index: TranscriptIndex) -> TranscriptIndex | None:
    """The index with the messages that were appended since; None where any other may have changed."""
    if (
        not index.ids
        or index.ids[-1] not in conversation.units
        or len(conversation.compactions) != len(index.boundaries)
    ):
        return None
    ids = conversation.ids[bisect_right(conversation.ids, index.ids[-1]) :]
    if len(conversation.units) + len(conversation.further_lines) != len(index.ids) + len(ids):
        return None
    last = index.live[-1] if index.live else None
    if last is not None and index.sizes[last] != min(conversation.size_of(index.ids[last]), 2**31 - 1):
        return None
    sent = sum(conversation.role_of(each) not in BOOKKEEPING_ROLES for each in conversation.live)
    is_all_live = sent == len(index.live) + len(ids) and conversation.unlinked == index.unlinked
    if not is_all_live or not ids:
        return index if is_all_live else None
    return extended(index, [_row(conversation, each, is_plain=True) for each in ids])


def _by_message(of: Mapping[int, int]) -> dict[int, list[int]]:
    """The keys by their values, in order."""
    result: dict[int, list[int]] = {}
    for row, message in of.items():
        result.setdefault(message, []).append(row)
    return result


def _row(conversation: Conversation, message_id: int, *, is_plain: bool = False) -> MessageRow:
    unit = conversation.units[message_id]
    role, state, size = (
        conversation.role_of(message_id),
        conversation.states[message_id],
        conversation.size_of(message_id),
    )
    return MessageRow(message_id, role, state, unit.time, size, unit.is_prompt, is_plain)


def _further_row(conversation: Conversation, row: int, message_id: int) -> MessageRow:
    return MessageRow(row, conversation.role_of(message_id), "out", conversation.units[message_id].time, 0)


def _entry(
    conversation: Conversation, carriers: Sequence[int], further: Mapping[int, Sequence[int]]
) -> HistoryEntry | None:
    """A message and its shortened copies; None where all were abandoned, or undone."""
    shown = [each for each in carriers if conversation.states[each] != "out"]
    if not shown:
        return None
    message, newest = carriers[0], next((each for each in shown if conversation.states[each] == "live"), shown[-1])
    state = conversation.states[newest]
    assert state != "out"
    rows = sorted([*carriers[1:], *(row for each in carriers for row in further.get(each, ()))])
    return HistoryEntry(message, (message, *rows), message, newest, state, newest != message)


def _boundary(
    compaction: ConversationCompaction, originals: Mapping[int, int], handoffs: set[int], run: int | None
) -> BoundaryIds:
    """`originals` maps each shortened copy to its message; `handoffs` are all of the session."""
    before, after = set(compaction.before), compaction.after
    new = {each: originals[each] for each in after if each in originals and each not in before}
    gone = dict.fromkeys(originals.get(each, each) for each in compaction.before if each not in handoffs)
    kept = dict.fromkeys(originals.get(each, each) for each in after if each not in handoffs)
    tail = after[after.index(compaction.handoff) + 1 :] if compaction.handoff in after else after
    return BoundaryIds(
        handoff_id=compaction.handoff,
        time=compaction.time or None,
        block_ids=after,
        before_ids=compaction.before,
        cut_id=next((originals.get(each, each) for each in tail if each not in handoffs), None),
        copies=tuple((copy, original) for copy, original in new.items() if original in before),
        summarised_ids=tuple(each for each in gone if each not in kept),
        kept_ids=tuple(kept),
        shortened_ids=tuple(new.values()),
        run=run,
    )


def _in_sent_order(index: TranscriptIndex, live: Sequence[int]) -> TranscriptIndex:
    """The index with the order in which live messages are sent, where that differs from the order of their ids."""
    numbers = (index.number(each) for each in live)
    order = array("i", [each for each in numbers if each is not None and index.flags[each] & SENT])
    return index if list(order) == sorted(order) else replace(index, sent_order=order)


# -- text for an index outside of the store ----------------------------------------------------------------------------


def searchable(
    conversation: Conversation,
    after: int,
    *,
    cursor: str,
    message_of: Callable[[int], StoredMessage],
    cursor_at: Callable[[int], str],
    open_end: bool = False,
) -> SearchableText:
    """The next messages after the message `after`, each once. `cursor` is the one so far, `cursor_at` the one behind a
    message; with `open_end` the last one may still get more text, and is waited for.
    """
    later = conversation.ids[bisect_right(conversation.ids, after) :]
    ids = [each for each in later if conversation.units[each].copy_of is None]  # a shortened copy adds no text
    waits = open_end and bool(ids)
    if waits:
        ids.pop()
    messages: list[SearchableMessage] = []
    size = 0
    for each in ids:
        if size >= PORTION:
            break
        row = message_of(each)
        text = words_of(row).text
        messages.append(SearchableMessage(each, row.role, row.timestamp, text))
        size += len(text)
    end = cursor_at(messages[-1].id) if messages else cursor
    return SearchableText(tuple(messages), end, more=len(messages) < len(ids), waits=waits)
