"""The rule by which a session is resumed, applied to its records: its files joined, what is sent, what each compaction
replaced, what was taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viewer.stores.jsonl.files import FileState

from .items import CONTEXT, ItemFacts
from .paths import Rollout, ThreadFile, Threads, by_file_id
from .records import RECORDS, TURN_ENDS, TURN_STARTS, RolloutRecord

SHIFT = 40  # bits of an id for a line's offset in its file: a terabyte
MOST_FILES = 1_000  # that are followed, and that a thread may have; ids stay below 2**53
THOUGHT = "reasoning"  # the type of an item
MESSAGE = -1  # used as the position of a summary that a compaction's line has outside of its items


# -- the files of a session: those that its current file continues from, and the parts it went back behind -------------


@dataclass(frozen=True, slots=True)
class RolloutPart:
    """One file. `start` is added to offsets for ids; the sent part of it ends before the offset `end`, None for all of
    it. `is_own` says that it is of the session's thread, `is_sent` that the current file continues from it.
    """

    rollout: Rollout
    state: FileState
    start: int
    records: list[RolloutRecord]
    end: int | None
    is_own: bool
    is_sent: bool

    @property
    def path(self) -> Path:
        return Path(self.rollout.path)

    @property
    def is_bare(self) -> bool:
        """Whether it is one of the oldest files, with bare items."""
        return bool(self.records) and self.records[0].is_bare

    @property
    def is_numbered(self) -> bool:
        """Whether its lines have numbers, as newer clients write them."""
        return bool(self.records) and self.records[0].ordinal is not None

    @property
    def number(self) -> int:
        """Its position among the files of its session."""
        return self.start >> SHIFT

    def sent(self) -> Iterator[RolloutRecord]:
        """Its records in the history of the session."""
        return (each for each in self.records if self.end is None or each.offset < self.end)

    def abandoned(self) -> Iterator[RolloutRecord]:
        """Its records after the point that the session went back to."""
        return (each for each in self.records if self.end is not None and each.offset >= self.end)


@dataclass(frozen=True, slots=True)
class Lineage:
    """The files of a session, those of the oldest records first. `missing` is the id of a missing file that the current
    one continues from, "" for none.
    """

    parts: tuple[RolloutPart, ...]
    missing: str

    @property
    def current(self) -> RolloutPart:
        """The file that the session is written to."""
        return [each for each in self.parts if each.is_sent][-1]

    @property
    def text(self) -> str:
        """A text that differs when any of it changed."""
        return ";".join(f"{each.rollout.file_id} {each.end} {each.state.text}" for each in self.parts)

    def part_of(self, message_id: int) -> RolloutPart | None:
        """The file that contains a message."""
        start = message_id >> SHIFT << SHIFT
        return next((each for each in self.parts if each.start == start), None)


def lineage_of(file: ThreadFile, threads: Threads) -> Lineage:
    """The current files of a session. Raises StoreUnavailable."""
    chain, missing = _chain(file.rollout, threads)
    own = {each.file_id: (each, None, False) for each in file.files[-MOST_FILES:]}
    others = {each.file_id: (each, end, True) for each, end in chain if each.thread != file.id}
    sent = {each.file_id: (each, end, True) for each, end in chain if each.thread == file.id}
    ordered = [*others.values(), *(sent.get(file_id, own_file) for file_id, own_file in own.items())]
    parts = []
    for number, (rollout, end, is_sent) in enumerate(ordered):
        read = RECORDS.read(Path(rollout.path))
        is_own = rollout.thread == file.id
        ends = 0 if not is_sent else end
        parts.append(RolloutPart(rollout, read.state, number << SHIFT, read.records, ends, is_own, is_sent))
    return Lineage(tuple(parts), missing)


def _chain(current: Rollout, threads: Threads) -> tuple[list[tuple[Rollout, int | None]], str]:
    """The files from the first one on, each with the offset that its history ends before; and the id of
    a missing one.
    """
    chain: list[tuple[Rollout, int | None]] = [(current, None)]
    visited = {current.file_id}
    while len(chain) < MOST_FILES:
        records = RECORDS.read(Path(chain[-1][0].path)).records
        base = records[0].base if records else None
        if base is None or base.file_id in visited:
            return chain[::-1], ""
        rollout = by_file_id(threads, base.file_id)
        if rollout is None:
            return chain[::-1], base.file_id
        visited.add(base.file_id)
        chain.append((rollout, base.end))
    return chain[::-1], ""


# -- what is sent of their records -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """One item and its position: in the line of `record`, or at the index `at` in the history of a compaction. For a
    message that was sent before with another content, `copy_of` is the earlier item.
    """

    id: int
    part: RolloutPart
    record: RolloutRecord
    facts: ItemFacts
    at: int | None = None
    copy_of: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReplayedCompaction:
    """One compaction: `id` is that of its line, `handoff` the item that contains its summary (or the line itself),
    `before` and `after` the items in context, in order; `is_own_turn` says that its turn had no request before it.
    """

    id: int
    part: RolloutPart
    record: RolloutRecord
    handoff: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    is_own_turn: bool


@dataclass
class Replay:
    """The state after the records that were read. `live` are the items that would be sent now; `responses` the items of
    each response of a model by its first one, `first` the first item of the response that an item belongs to;
    `abandoned` what was taken back, with the item before it; `lost` the items in lines that the client skips.
    """

    items: dict[int, PlacedItem] = field(default_factory=dict)
    live: list[int] = field(default_factory=list)
    compactions: list[ReplayedCompaction] = field(default_factory=list)
    responses: dict[int, list[int]] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    abandoned: list[tuple[int | None, list[int]]] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    open: int | None = None  # the unfinished response
    open_end: int | None = None  # that of the last file, if nothing says that it ended
    _by_id: dict[str, int] = field(default_factory=dict)  # the newest item of each `_name`
    is_own_turn: bool = False

    def copy(self) -> Replay:
        """A copy, to read on without changing this one."""
        new = Replay(
            items=dict(self.items),
            live=list(self.live),
            compactions=list(self.compactions),
            responses=dict(self.responses),
            first=dict(self.first),
            abandoned=list(self.abandoned),
            lost=set(self.lost),
            open=self.open_end,
            is_own_turn=self.is_own_turn,
            _by_id=dict(self._by_id),
        )
        if self.open_end is not None:
            new.responses[self.open_end] = list(self.responses[self.open_end])
        return new

    def read(self, part: RolloutPart, records: Iterable[RolloutRecord], *, sent: bool = True) -> None:
        """Read these records, or only their items where they are not sent."""
        behind = self.live[-1] if self.live else None
        item_ids: list[int] = []
        for record in records:
            if record.is_end_of_response:
                self.open = None
            if record.item is not None and (record.is_lost or (record.is_bare and not part.is_bare)):
                self._lost(part, record, record.item)
                continue
            if record.item is not None:
                item_ids.append(self._item(part, record, record.item))
                if sent:
                    self.live.append(item_ids[-1])
            elif record.compacted is not None and sent:
                self._compaction(part, record)
            elif record.rolled_back and sent:
                self._roll_back(record.rolled_back)
            elif record.subtype in TURN_STARTS:
                self.is_own_turn = True
            elif record.subtype in TURN_ENDS:
                self.is_own_turn = False
            if record.item is not None and record.item.is_prompt:
                self.is_own_turn = False
        self.open_end, self.open = self.open, None
        if not sent and item_ids:
            self.abandoned.append((behind, item_ids))

    # -- items ----------------------------------------------------------------------------------------------------

    def _item(self, part: RolloutPart, record: RolloutRecord, facts: ItemFacts) -> int:
        placed = PlacedItem(part.start + record.offset, part, record, facts)
        self.items[placed.id] = placed
        self._note(placed.id, facts)
        if not facts.is_of_model:
            self.open = None
        elif self.open is None or self._begins(facts):
            self.open = placed.id
            self.responses[placed.id] = [placed.id]
        else:
            self.responses[self.open].append(placed.id)
        self.first[placed.id] = placed.id if self.open is None else self.open
        return placed.id

    def _lost(self, part: RolloutPart, record: RolloutRecord, facts: ItemFacts) -> None:
        """Add an item of a line that the client skips: it is a separate message."""
        placed = PlacedItem(part.start + record.offset, part, record, facts)
        self.items[placed.id] = placed
        self.first[placed.id] = placed.id
        if facts.is_of_model:
            self.responses[placed.id] = [placed.id]
        self.lost.add(placed.id)

    def _begins(self, facts: ItemFacts) -> bool:
        """Whether an item begins a new response: in a message, reasoning comes before text, and text before calls."""
        assert self.open is not None
        earlier = [self.items[each].facts for each in self.responses[self.open]]
        if facts.type == THOUGHT:
            return any(each.type != THOUGHT for each in earlier)
        return not facts.call and any(each.call for each in earlier)

    # -- compactions ----------------------------------------------------------------------------------------------

    def _compaction(self, part: RolloutPart, record: RolloutRecord) -> None:
        facts = record.compacted
        assert facts is not None
        line = part.start + record.offset
        self._forget_summarizing()
        before = tuple(self.live)
        if facts.items is None:
            after = [each for each in before if self.items[each].facts.is_prompt]
            handoff = self._placed(part, record, _summary_facts(record, facts.size), MESSAGE)
            after.append(handoff)
        else:
            after = self._carried(part, record, facts.items, facts.handoff)
            handoff = line if facts.handoff is None else after[facts.handoff]
        self.live = after
        compaction = ReplayedCompaction(line, part, record, handoff, before, tuple(after), self.is_own_turn)
        self.compactions.append(compaction)

    def _forget_summarizing(self) -> None:
        """Leave out the model's answer to the question for a summary; without its compaction, it is a
        normal message.
        """
        for each in [each for each in self.live if self.items[each].record.is_summarizing]:
            first = self.first[each]
            if each == first and len(self.responses[first]) > 1:
                continue
            self.responses[first].remove(each)
            if each == first:
                del self.responses[first]
            self.live.remove(each)
            del self.first[each], self.items[each]

    def _carried(
        self, part: RolloutPart, record: RolloutRecord, history: Sequence[ItemFacts], handoff: int | None
    ) -> list[int]:
        """The items of a new history, known ones with their ids. If one item of a response has another content now, the
        whole response is a copy. The summary, at the position `handoff`, is always new.
        """
        known = self._known_items(history)
        if handoff is not None:
            known[handoff] = None
        roots = [
            self._by_id.get(_name(facts)) if same is None else same for facts, same in zip(history, known, strict=True)
        ]
        changed = {
            self.first[root]
            for facts, same, root in zip(history, known, roots, strict=True)
            if same is None and root is not None and facts.is_of_model
        }
        new_ids: list[int] = []
        copies: dict[int, int] = {}  # the first item here of each response
        for at, (facts, same, root) in enumerate(zip(history, known, roots, strict=True)):
            response = self.first[root] if root is not None and facts.is_of_model else None
            if same is not None and response not in changed:
                new_ids.append(same)
                continue
            new_ids.append(self._placed(part, record, facts, at, root))
            if response is not None:
                self._join(copies.setdefault(response, new_ids[-1]), new_ids[-1])
        return new_ids

    def _join(self, first: int, item_id: int) -> None:
        """Add a placed item to the response that `first` begins."""
        if first != item_id:
            self.first[item_id] = first
            self.responses[first].append(item_id)
            del self.responses[item_id]

    def _known_items(self, history: Sequence[ItemFacts]) -> list[int | None]:
        """For each item of a new history the known item with the same content, the newest of equal ones;
        None for none.
        """
        equal: dict[int, list[int]] = {}
        for each in self.live:
            equal.setdefault(self.items[each].facts.digest, []).append(each)
        used: set[int] = set()
        same_ids = []
        for facts in reversed(history):
            same_ids.append(self._same(facts, equal, used))
            used.update(each for each in same_ids[-1:] if each is not None)
        return same_ids[::-1]

    def _same(self, facts: ItemFacts, equal: dict[int, list[int]], used: set[int]) -> int | None:
        """The unused item with this content, one in context first; None for none."""
        item_id = self._by_id.get(facts.id) if facts.id else None
        if item_id is not None and item_id not in used and self.items[item_id].facts.digest == facts.digest:
            return item_id
        unused = [each for each in equal.get(facts.digest, ()) if each not in used]
        named = [each for each in unused if self.items[each].facts.id == facts.id]
        return next(reversed(named or unused), None)

    def _placed(
        self, part: RolloutPart, record: RolloutRecord, facts: ItemFacts, at: int, copy_of: int | None = None
    ) -> int:
        """An item that only exists in the line of a compaction."""
        item_id = part.start + record.offset + at + 2
        of_context = copy_of is not None and CONTEXT in (facts.role, self.items[copy_of].facts.role)
        root = None if copy_of is None or of_context or facts.is_summary else self.items[copy_of].copy_of or copy_of
        self.items[item_id] = PlacedItem(item_id, part, record, facts, at, root)
        self.first[item_id] = item_id
        if facts.is_of_model:
            self.responses[item_id] = [item_id]
        self._note(item_id, facts)
        return item_id

    def _note(self, item_id: int, facts: ItemFacts) -> None:
        if name := _name(facts):
            self._by_id[name] = item_id

    # -- what was taken back --------------------------------------------------------------------------------------

    def _roll_back(self, turns: int) -> None:
        """Take back the newest requests and what follows them, including the compactions in those turns."""
        gone: list[int] = []
        while turns:
            tail = self.live[self._count_from_compaction() :] if self.compactions else self.live
            prompts = [at for at, each in enumerate(tail) if self.items[each].facts.is_prompt]
            if len(prompts) >= turns or not self.compactions:
                cut = len(self.live) - len(tail) + (prompts[-turns] if len(prompts) >= turns else 0)
                gone = [*self.live[cut:], *gone]
                self.live = self.live[:cut]
                break
            turns -= len(prompts)
            gone = [*tail, *gone]
            self.live = list(self.compactions.pop().before)
        if gone:
            self.abandoned.append((self.live[-1] if self.live else None, gone))

    def _count_from_compaction(self) -> int:
        """How many of the items in context come from the newest compaction."""
        return min(len(self.compactions[-1].after), len(self.live))


def _name(facts: ItemFacts) -> str:
    """The identity of an item, independent of its content: the id that its maker gave it, else its call;
    "" for none.
    """
    return facts.id or (f"call {facts.call}" if facts.call else f"result of {facts.answers}" if facts.answers else "")


def _summary_facts(record: RolloutRecord, size: int) -> ItemFacts:
    """The summary that a compaction's line has outside of its items, as an item."""
    return ItemFacts("message", "", record.offset, "user", size, is_summary=True)


def replayed(lineage: Lineage) -> Replay:
    """The replay of all files of a session. Parts that it went back behind are read in the order of writing."""
    replay = Replay()
    for part in lineage.parts:
        if part.is_sent:
            replay.read(part, part.sent())
        if part.is_own:
            replay.read(part, part.abandoned(), sent=False)
    return replay
