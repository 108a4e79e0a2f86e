"""A session's messages, of its replayed items: which are in context, and what each compaction did to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from viewer.stores.message import State

from .items import CONTEXT
from .lineage import Lineage
from .replay import Replay, ReplayedCompaction


@dataclass(frozen=True, slots=True)
class RolloutMessage:
    """One message: `items` are those that say it. `copy_of` is the message of which it is a shortened copy."""

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


@dataclass(frozen=True)
class RolloutMessages:
    """All messages of a session by id, and which of them are in context. What the client says of itself is in none."""

    lineage: Lineage
    replay: Replay

    @cached_property
    def units(self) -> dict[int, RolloutMessage]:
        found = {unit.id: unit for unit in self._units()}
        for each in self.replay.compactions:
            if each.handoff not in self.replay.items:  # its line stands for the summary that is missing
                found[each.id] = RolloutMessage(each.id, "system", each.record.time, (), 0, False, True)
        return found

    def _units(self) -> Iterator[RolloutMessage]:
        items = self.replay.items
        for item_id, placed in items.items():
            if placed.facts.role == CONTEXT or self.replay.first[item_id] != item_id:
                continue
            said = self.replay.responses.get(item_id, [item_id])
            yield RolloutMessage(
                id=item_id,
                role=placed.facts.role,
                time=placed.record.time,
                items=tuple(said),
                size=sum(items[each].facts.size for each in said),
                is_prompt=placed.facts.is_prompt,
                is_summary=placed.facts.is_summary,
                copy_of=None if placed.copy_of is None else self.replay.first[placed.copy_of],
            )

    def ids_of(self, items: Iterable[int]) -> list[int]:
        """The messages that these items say, each once, in order."""
        first, placed = self.replay.first, self.replay.items
        said = (first[each] for each in items if placed[each].facts.role != CONTEXT)
        return list(dict.fromkeys(said))

    @cached_property
    def notes(self) -> dict[int, tuple[int, ...]]:
        """The notes that stood beside each message in the newest context that had it."""
        found: dict[int, tuple[int, ...]] = {}
        contexts = [(each.replayed.before, each.before) for each in self.compactions]
        for context, ids in (*contexts, (self.replay.live, self.live)):
            found |= dict.fromkeys(found.keys() & set(ids), ())
            found |= {each: tuple(notes) for each, notes in self.notes_in(context).items()}
        return found

    def notes_in(self, context: Iterable[int]) -> dict[int, list[int]]:
        """The notes among these items by the message that each was told beside: the one before it, else the first."""
        found: dict[int, list[int]] = {}
        early: list[int] = []
        beside: list[int] | None = None
        for each in context:
            facts = self.replay.items[each].facts
            if facts.role != CONTEXT:
                beside = found.setdefault(self.replay.first[each], [])
                beside += early
                early = []
            elif facts.is_note:
                (early if beside is None else beside).append(each)
        return found

    def size_of(self, unit: RolloutMessage) -> int:
        """Characters of a message, and of the notes beside it."""
        return unit.size + sum(self.replay.items[each].facts.size for each in self.notes.get(unit.id, ()))

    @cached_property
    def live(self) -> list[int]:
        """The messages that a resume sends."""
        return self.ids_of(self.replay.live)

    @cached_property
    def sent_items(self) -> frozenset[int]:
        return frozenset(self.replay.live)

    @cached_property
    def compactions(self) -> list[CompactedMessages]:
        found = []
        for each in self.replay.compactions:
            handoff = self.replay.first.get(each.handoff, each.handoff)
            after = self.ids_of(each.after)
            after = after if handoff in after else [handoff, *after]
            found.append(CompactedMessages(each, handoff, tuple(self.ids_of(each.before)), tuple(after)))
        return found

    @cached_property
    def states(self) -> dict[int, State]:
        """Of every message: in context, summarised away, in no context any more, or in a line that no client takes."""
        found: dict[int, State] = dict.fromkeys(self.units, "out")
        for each in self.compactions:
            found.update(dict.fromkeys(each.before, "under"))
        for _, items in self.replay.left:
            found.update(dict.fromkeys(self.ids_of(items), "out"))
        found.update(dict.fromkeys(self.live, "live"))
        found.update(dict.fromkeys(found.keys() & self.replay.lost, "lost"))
        return found

    @cached_property
    def ids(self) -> list[int]:
        """All messages, in order."""
        return sorted(self.units)

    def unit_of(self, row_id: int) -> int | None:
        """The message of this id, or of which an item has it; None for none."""
        found = self.replay.first.get(row_id, row_id)
        return found if found in self.units else None

    @cached_property
    def open_calls(self) -> frozenset[str]:
        """The calls in context without a result, which the client answers by itself."""
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
