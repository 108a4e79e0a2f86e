"""Boundaries, generations and once-only History of one session, from light rows alone: a pure function.

Theory (`docs/hermes.md` section 2, proven on databases Hermes wrote). A compaction inserts one *block* of rows:
copies of the head, the handoff, copies of the tail. Nothing marks a copy as a copy, so copies are found by alignment:

- head copies are the longest run just before the handoff that equals the first rows of the generation before it;
- tail copies are the run just after the handoff (with the carrier itself, if live text was merged into it) that lines
  up, one to one, with the *last* rows of the generation before it: role and tool call id always equal, and at least
  half of the pairs surely equal (same time, or same text and call ids). Never equal bytes: the agent strips white
  space, shortens old tool output, writes stubs.

A generation is the id range from one block's start to the next block's. Chaining copy -> origin gives each message its
rows; it is shown once, where its first row stands. Rows at (0,0) are superseded when another row carries the message
and taken back otherwise. A block that stands wholly at (0,0) was undone: it is no boundary and its rows are nobody's
copies.

Blocks that were written through this site are `known`: their extent and copies are taken as they are, before any guess.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Literal

from .alignment import LightRow, Pair, head_run, orphans, repeats_its_start, repetition, tail_run, with_telling_times
from .known import KnownBlock, borne_out, kept_at_once


@dataclass(frozen=True, slots=True)
class Boundary:
    """One compaction that stands: its block and what it did. Ids in `block_ids` and `before_ids` are rows, the others
    messages.

    `time` (epoch seconds) is None for a merged handoff, whose row has the time of the message it was merged into.
    `cut_id` is the message directly before which the boundary is shown, None when the tail kept nothing. `run` is the
    number of the known block, None for one that was found.
    """

    handoff_id: int
    time: float | None
    block_ids: tuple[int, ...]
    before_ids: tuple[int, ...]
    cut_id: int | None
    copies: tuple[tuple[int, int], ...]  # (copy row, row it was copied from) within the generation before
    summarised_ids: tuple[int, ...]
    kept_ids: tuple[int, ...]
    shortened_ids: tuple[int, ...]
    run: int | None = None

    @property
    def inherited(self) -> bool:
        """Whether the session began with this handoff, as a branch may: nothing that it stands for is in there."""
        return not self.before_ids

    @property
    def messages_before(self) -> int:
        return len(self.before_ids)

    @property
    def messages_after(self) -> int:
        return len(self.block_ids)

    @property
    def summarised(self) -> int:
        return len(self.summarised_ids)

    @property
    def kept(self) -> int:
        return len(self.kept_ids)

    @property
    def shortened(self) -> int:
        return len(self.shortened_ids)


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of History: `id` is its first row, `rows` all rows that carry it, oldest first.

    `full_id` is the row with the fullest text, `newest_id` the newest row, whose state is the message's. `shortened`
    says that the model now sees less than `full_id` holds.
    """

    id: int
    rows: tuple[int, ...]
    full_id: int
    newest_id: int
    state: Literal["live", "under"]
    shortened: bool


@dataclass(frozen=True, slots=True)
class History:
    """The once-only reading of a session: `items` as displayed, a boundary before the first message it kept.

    `settled` says that live rows without a handoff, with times after all others, can only be messages of their own when
    they are appended: nothing is left open of which they might be copies.
    """

    items: tuple[Entry | Boundary, ...]
    boundaries: tuple[Boundary, ...]
    message_of: dict[int, int]  # every shown row id -> message id
    settled: bool = False

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(item for item in self.items if isinstance(item, Entry))

    @property
    def compactions(self) -> tuple[Boundary, ...]:
        """The boundaries of what was compacted in this session."""
        return tuple(boundary for boundary in self.boundaries if not boundary.inherited)


def build(rows: Sequence[LightRow], known: Iterable[KnownBlock] = ()) -> History:
    """The History of `rows`: all rows of one session, or of a chain of split sessions, in id order.

    Of the `known` blocks, those that the rows do not bear out any more are left aside.
    """
    ours = borne_out(known, rows)
    openers, carried = _openers(rows, ours)
    stamps = {row.id: (row.handoff_key, row.time) for row in rows if row.handoff}
    rows = with_telling_times(kept_at_once(rows, ours.values()))
    reading = _Reading(stamps, carried, ours, {row.id: row for row in rows})
    reading.append(rows[: openers[0]] if openers else rows)
    for index, end in pairwise([*openers, len(rows)]):
        reading.compaction(rows[index], rows[index + 1 : end], newest=end == len(rows))
    reading.settle()
    entries = [entry for chain in reading.chains.values() if (entry := _entry(chain)) is not None]
    message_of = {row_id: entry.id for entry in entries for row_id in entry.rows}
    settled = reading.closed and bool(reading.generation) and not repeats_its_start(reading.generation)
    return History(_ordered(entries, reading.boundaries), tuple(reading.boundaries), message_of, settled)


Stamp = tuple[str, float]  # what tells one handoff from another: its text, and when it was made


def _openers(rows: Sequence[LightRow], ours: Container[int]) -> tuple[list[int], set[Stamp]]:
    """Where the handoffs stand that open a block, and the stamps of those that a later block carried along as a turn.

    The text alone does not tell: a compaction that was undone and done again may write the same words.
    """
    openers: list[int] = []
    seen: set[Stamp] = set()
    carried: set[Stamp] = set()
    for index, row in enumerate(rows):
        stamp = (row.handoff_key, row.time)
        if row.handoff and stamp in seen and row.id not in ours:
            if row.state != "out":  # the block that carried it may have been undone since
                carried.add(stamp)
        elif row.handoff:
            openers.append(index)
            seen.add(stamp)
    return openers, carried


# -- blocks ----------------------------------------------------------------------------------------------------------


_ONE_WRITE = 1.0  # seconds: an agent that lost its copies' times stamps them all while it writes the block


class _Reading:
    """Rows taken in from oldest to newest: each message's chain, the current generation, the boundaries so far."""

    def __init__(
        self,
        stamps: Mapping[int, Stamp],
        carried: set[Stamp],
        ours: Mapping[int, KnownBlock],
        rows: Mapping[int, LightRow],
    ) -> None:
        self.stamps = stamps  # of handoff rows, with their times as stored
        self.carried = carried
        self.ours = ours
        self.our_ids = {copy for block in ours.values() for copy in block.copies}
        # Rows that a block of ours which stands was made from: they were in context then, so theirs was not undone.
        self.our_sources = {source for block in ours.values() if not block.undone for source in block.copies.values()}
        self.rows = rows
        self.chains: dict[int, list[LightRow]] = {}  # message id -> its rows, oldest first
        self.root: dict[int, int] = {}  # row id -> message id
        self.generation: list[LightRow] = []
        self.pending: list[LightRow] = []  # rows since the last block, among them the next block's head copies
        self.boundaries: list[Boundary] = []
        self.closed = True  # whether it is known where the newest block ends, whatever may follow

    def append(self, rows: Sequence[LightRow]) -> None:
        self.pending.extend(rows)

    def compaction(self, handoff: LightRow, after: Sequence[LightRow], *, newest: bool) -> None:
        """Take in a handoff and the rows up to the next one."""
        ours, self.closed = self.ours.get(handoff.id), True
        head = self._known(ours, self.pending) if ours else self._head(handoff)
        opening = {copy.id for copy, _ in head}
        self.pending = [row for row in self.pending if row.id not in opening]
        self.settle()
        for copy, source in orphans(self._messages()):
            self._join(copy, source)
        tail = self._known(ours, [handoff, *after]) if ours else self._tail(handoff, after)
        last = tail[-1][0].id if tail else handoff.id
        block = [*(copy for copy, _ in head), handoff, *(row for row in after if row.id <= last)]
        if not self._undone(handoff, block, newest):
            self._stands(handoff, block, [*head, *tail], tail)
        self.append([row for row in after if row.id > last])

    def _known(self, ours: KnownBlock, rows: Iterable[LightRow]) -> list[Pair]:
        """Those of the rows that are copies for certain; one whose original is gone is a message of its own."""
        return [(row, self.rows[ours.copies[row.id]]) for row in rows if ours.copies.get(row.id) in self.rows]

    def _undone(self, handoff: LightRow, block: list[LightRow], newest: bool) -> bool:
        """Whether a block was undone: it stands wholly at (0,0), nobody carried its handoff on, and (of the newest one
        alone it can be told) it was not just taken back row by row, which brings nothing from before it into context.
        """
        if any(row.state != "out" or row.id in self.our_sources for row in block):
            return False
        if handoff.id in self.ours and self.ours[handoff.id].undone:
            return True
        if self.stamps[handoff.id] in self.carried:
            return False
        return not newest or any(row.state == "live" for row in self.generation)

    def settle(self) -> None:
        """Make the pending rows messages of the current generation, copies of a compaction without a handoff aside."""
        self.generation.extend(self.pending)
        self._add(self.pending)
        self.pending = []
        for copy, source in repetition(self.generation):
            if self.root[copy.id] != self.root[source.id]:  # an undone compaction lets a generation settle twice
                self._join(copy, source)

    def _head(self, handoff: LightRow) -> list[Pair]:
        """Head copies equal the generation's first rows, or the first messages if the agent kept them in memory."""
        in_generation = head_run([*self.generation, *self.pending], self.pending, handoff)
        return in_generation or head_run([*self._messages(), *self.pending], self.pending, handoff)

    def _until_new(self, handoff: LightRow, rows: list[LightRow]) -> list[LightRow]:
        """The rows before the first one that was said after the compaction: it and what follows are nobody's copies."""
        if handoff.handoff == "merged" or not handoff.time:
            return rows
        times = {row.time for row in (*self.generation, *self._messages())}
        said = (
            at
            for at, row in enumerate(rows)
            if row.time > handoff.time + _ONE_WRITE and row.time not in times and not row.scaffold
        )
        return rows[: next(said, len(rows))]

    def _tail(self, handoff: LightRow, after: Sequence[LightRow]) -> list[Pair]:
        """Tail copies line up with the last rows of the generation, or with the last messages: an agent that compacts
        from memory reaches back behind the last boundary. The longer of the two holds.
        """
        told = [row for row in takewhile(lambda row: row.id not in self.our_ids, after) if row.handoff != "standalone"]
        carrier = [handoff] if handoff.handoff == "merged" else []
        until_new = self._until_new(handoff, told)
        self.closed = len(until_new) < len(told) or any(row.id in self.our_ids for row in after)
        candidates = [*carrier, *until_new]
        rows = [row for row in self.generation if row.handoff != "standalone"]
        return max(tail_run(self._messages(), candidates), tail_run(rows, candidates), key=len)

    def _messages(self) -> list[LightRow]:
        return [chain[-1] for chain in self.chains.values()]

    def _stands(self, handoff: LightRow, block: list[LightRow], copies: list[Pair], tail: list[Pair]) -> None:
        copied = {source.id for _, source in copies}
        # A compaction takes every row out of context: one that is in it was not there before, or its copy is not told.
        before = [row for row in self.generation if row.state == "under" or row.id in copied]
        kept = {self.root[source.id] for _, source in copies if source.id in self.root}
        of_messages = [(copy, source) for copy, source in copies if source.id in self.root]
        self.boundaries.append(
            Boundary(
                handoff_id=handoff.id,
                time=self.stamps[handoff.id][1] if handoff.handoff == "standalone" else None,
                block_ids=tuple(row.id for row in block),
                before_ids=tuple(row.id for row in before),
                cut_id=next((self.root[source.id] for _, source in tail if source.id in self.root), None),
                copies=tuple((copy.id, source.id) for copy, source in copies),
                summarised_ids=tuple(
                    self.root[row.id] for row in before if row.id in self.root and self.root[row.id] not in kept
                ),
                kept_ids=tuple(self.root[source.id] for _, source in of_messages),
                shortened_ids=tuple(self.root[source.id] for copy, source in of_messages if _shorter(copy, source)),
                run=self.ours[handoff.id].run if handoff.id in self.ours else None,
            )
        )
        for copy, source in of_messages:
            self._join(copy, source)
        self._add(row for row in block if row.id not in self.root)
        self.generation = block

    def _add(self, rows: Iterable[LightRow]) -> None:
        for row in rows:
            if row.handoff != "standalone":
                self.chains[row.id] = [row]
                self.root[row.id] = row.id

    def _join(self, copy: LightRow, source: LightRow) -> None:
        self.chains.pop(copy.id, None)
        self.root[copy.id] = self.root[source.id]
        self.chains[self.root[source.id]].append(copy)


# -- messages --------------------------------------------------------------------------------------------------------


def _entry(chain: list[LightRow]) -> Entry | None:
    newest = chain[-1]
    if newest.state == "out":
        return None
    full = max(chain, key=lambda row: row.size)
    return Entry(
        id=chain[0].id,
        rows=tuple(row.id for row in chain),
        full_id=full.id,
        newest_id=newest.id,
        state=newest.state,
        shortened=_shorter(newest, full),
    )


def _shorter(row: LightRow, full: LightRow) -> bool:
    """Whether `row` says less than `full`: smaller, with another text or calls, or cut behind an equal start."""
    return row.size < full.size and (row.text != full.text or row.calls != full.calls or row.size < 0.9 * full.size)


def _ordered(entries: list[Entry], boundaries: Sequence[Boundary]) -> tuple[Entry | Boundary, ...]:
    """Entries by first row; each boundary before its cut, or by its handoff's id where the tail kept nothing."""

    def place(item: Entry | Boundary) -> tuple[int, int, int]:
        if isinstance(item, Entry):
            return (item.id, 1, 0)
        return (item.handoff_id if item.cut_id is None else item.cut_id, 0, item.handoff_id)

    return tuple(sorted([*entries, *boundaries], key=place))
