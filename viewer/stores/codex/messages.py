"""A session's messages, made from its replayed items: which are in context, and what each compaction did to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import ClassVar

from cachetools import LRUCache

from viewer.stores.base import Store
from viewer.stores.message import State

from . import paths
from .items import CONTEXT
from .replay import Lineage, Replay, ReplayedCompaction, lineage_of, replayed

MOST_KEPT = 60_000  # messages in this process; always enough for two sessions


@dataclass(frozen=True, slots=True)
class RolloutMessage:
    """One message with its `items`. `copy_of` is the message of which it is a shortened copy."""

    id: int
    role: str
    time: float
    items: tuple[int, ...]
    size: int
    is_prompt: bool
    is_summary: bool
    copy_of: int | None = None


@dataclass(frozen=True, slots=True)
class CompactedMessages:
    """A compaction: ids of the messages in context before and after it, in order, and of its summary."""

    replayed: ReplayedCompaction
    handoff: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def time(self) -> float:
        return self.replayed.record.time


@dataclass(frozen=True)
class RolloutMessages:
    """All messages of a session by id, and which of them are in context. The client's own context belongs to no
    message.
    """

    lineage: Lineage
    replay: Replay

    further_lines: ClassVar[Mapping[int, int]] = {}  # each line is a message, or belongs to none

    @cached_property
    def units(self) -> dict[int, RolloutMessage]:
        units = {message.id: message for message in self._units()}
        for each in self.replay.compactions:
            if each.handoff not in self.replay.items:  # the line replaces the missing summary
                units[each.id] = RolloutMessage(each.id, "system", each.record.time, (), 0, False, True)
        return units

    def _units(self) -> Iterator[RolloutMessage]:
        items = self.replay.items
        for item_id, placed in items.items():
            if placed.facts.role == CONTEXT or self.replay.first[item_id] != item_id:
                continue
            response_items = self.replay.responses.get(item_id, [item_id])
            yield RolloutMessage(
                id=item_id,
                role=placed.facts.role,
                time=placed.record.time,
                items=tuple(response_items),
                size=sum(items[each].facts.size for each in response_items),
                is_prompt=placed.facts.is_prompt,
                is_summary=placed.facts.is_summary,
                copy_of=None if placed.copy_of is None else self.replay.first[placed.copy_of],
            )

    def ids_of(self, items: Iterable[int]) -> list[int]:
        """The messages of these items, each once, in order."""
        first, placed = self.replay.first, self.replay.items
        ids = (first[each] for each in items if placed[each].facts.role != CONTEXT)
        return list(dict.fromkeys(ids))

    @cached_property
    def notes(self) -> dict[int, tuple[int, ...]]:
        """The notes of each message, from the newest context that contained it."""
        newest_notes: dict[int, tuple[int, ...]] = {}
        contexts = [(each.replayed.before, each.before) for each in self.compactions]
        for context, ids in (*contexts, (self.replay.live, self.live)):
            newest_notes |= dict.fromkeys(newest_notes.keys() & set(ids), ())
            newest_notes |= {each: tuple(notes) for each, notes in self.notes_in(context).items()}
        return newest_notes

    def notes_in(self, context: Iterable[int]) -> dict[int, list[int]]:
        """The notes among these items by the message that each belongs to: the one before it, else the first."""
        notes: dict[int, list[int]] = {}
        early: list[int] = []
        current: list[int] | None = None
        for each in context:
            facts = self.replay.items[each].facts
            if facts.role != CONTEXT:
                current = notes.setdefault(self.replay.first[each], [])
                current += early
                early = []
            elif facts.is_note:
                (early if current is None else current).append(each)
        return notes

    def role_of(self, message_id: int) -> str:
        return self.units[message_id].role

    def size_of(self, message_id: int) -> int:
        """Characters of a message, and of its notes."""
        message = self.units[message_id]
        return message.size + sum(self.replay.items[each].facts.size for each in self.notes.get(message.id, ()))

    @cached_property
    def live(self) -> list[int]:
        """The messages that a resume sends."""
        return self.ids_of(self.replay.live)

    @cached_property
    def sent_items(self) -> frozenset[int]:
        return frozenset(self.replay.live)

    @cached_property
    def compactions(self) -> list[CompactedMessages]:
        compactions = []
        for each in self.replay.compactions:
            handoff = self.replay.first.get(each.handoff, each.handoff)
            after = self.ids_of(each.after)
            after = after if handoff in after else [handoff, *after]
            compactions.append(CompactedMessages(each, handoff, tuple(self.ids_of(each.before)), tuple(after)))
        return compactions

    @cached_property
    def states(self) -> dict[int, State]:
        """The state of every message: in context, summarised away, in no context any more, or in a line that no client
        reads.
        """
        states: dict[int, State] = dict.fromkeys(self.units, "out")
        for each in self.compactions:
            states.update(dict.fromkeys(each.before, "under"))
        for _, items in self.replay.abandoned:
            states.update(dict.fromkeys(self.ids_of(items), "out"))
        states.update(dict.fromkeys(self.live, "live"))
        states.update(dict.fromkeys(states.keys() & self.replay.lost, "lost"))
        return states

    @cached_property
    def unlinked(self) -> int:
        """How many messages are in lines that no client reads."""
        return sum(state == "lost" for state in self.states.values())

    @cached_property
    def ids(self) -> list[int]:
        """All messages, in order."""
        return sorted(self.units)

    def message_id_of(self, row_id: int) -> int | None:
        """The id of the message with this id or with an item of this id; None for none."""
        message_id = self.replay.first.get(row_id, row_id)
        return message_id if message_id in self.units else None

    @cached_property
    def open_calls(self) -> frozenset[str]:
        """The calls in context without a result, which the client answers itself."""
        facts = [self.replay.items[each].facts for each in self.replay.live]
        return frozenset(each.call for each in facts if each.call) - {each.answers for each in facts}

    @cached_property
    def lone_results(self) -> frozenset[str]:
        """The results in context without a call, which the client leaves out."""
        facts = [self.replay.items[each].facts for each in self.replay.live]
        return frozenset(each.answers for each in facts if each.answers) - {each.call for each in facts}

    @cached_property
    def sub_agents(self) -> dict[str, str]:
        """The sessions of sub-agents by the call that started each."""
        spawned = (record.spawned for part in self.lineage.parts for record in part.records)
        return dict(each for each in spawned if each is not None)


# -- the messages of the latest sessions -------------------------------------------------------------------------------


_kept: LRUCache[str, tuple[str, RolloutMessages]] = LRUCache(
    MOST_KEPT, getsizeof=lambda each: min(len(each[1].units) + 1, MOST_KEPT // 2)
)
_lock = Lock()


def messages_of(session_id: str, lineage: Lineage) -> RolloutMessages:
    """The current messages of a session's files."""
    key = f"{session_id} {lineage.parts[0].rollout.path}"
    with _lock:
        cached = _kept.get(key)
    if cached is not None and cached[0] == lineage.text:
        return cached[1]
    messages = (_extended(cached[1], lineage) if cached else None) or RolloutMessages(lineage, replayed(lineage))
    with _lock:
        _kept[key] = lineage.text, messages
    return messages


def _extended(messages: RolloutMessages, lineage: Lineage) -> RolloutMessages | None:
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
    extended_messages = RolloutMessages(lineage, replay)
    if replay.compactions == messages.replay.compactions:
        vars(extended_messages).update(compactions=messages.compactions)  # for a long session, most of the work
    return extended_messages


def messages_now(store: Store, session_id: str) -> RolloutMessages:
    """The current messages of a session."""
    threads = paths.threads(store)
    return messages_of(session_id, lineage_of(paths.find(store, session_id, threads), threads))
