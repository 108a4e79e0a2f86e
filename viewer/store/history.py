"""Boundaries, generations and once-only History of one session, from light rows alone: a pure function.

Theory (`docs/hermes.md` section 2, proven on databases Hermes wrote). A compaction inserts one *block* of rows:
copies of the head, perhaps of some messages inside the middle, the handoff, copies of the tail, and what the agent
itself has to say there. From schema 31 on a copy has its message's name, and a row that others were merged into lists
theirs: `uids`. Where there are no names, times tell which rows were written together, and those are copies, in order:
`one_write`. Where times tell nothing either, copies are found by alignment:

- head copies are the longest run just before the handoff that equals the first rows of the generation before it;
- tail copies are the run just after the handoff (with the carrier itself, if live text was merged into it) that lines
  up, one to one, with the *last* rows of the generation before it: role and tool call id always equal, and at least
  half of the pairs surely equal (same time, or same text and call ids). Never equal bytes: the agent strips white
  space, shortens old tool output, writes stubs.

A generation is the id range from one block's start to the next block's. Chaining copy -> origin gives each message its
rows; it is shown once, where its first row stands. Rows at (0,0) are superseded when another row carries the message
and taken back otherwise. A block that stands wholly at (0,0) was undone, unless it is told that it was taken back: then
it is no boundary and its rows are nobody's copies.

Blocks that were written through this site are `known`: their extent and copies are taken as they are, before any guess.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise, takewhile

from . import uids
from .alignment import (
    LightRow,
    Pair,
    longest_head,
    longest_tail,
    orphans,
    repeats_its_start,
    repetition,
    until_said,
    with_telling_times,
)
from .blocks import Block, first_kept, had_no_user, is_typed, shorter, slipped
from .chains import Chains
from .history_types import Boundary, Entry, History
from .known import KnownBlock, borne_out
from .one_write import Write
from .openers import Stamp, openers


def build(rows: Sequence[LightRow], known: Iterable[KnownBlock] = (), undone: Iterable[int] = ()) -> History:
    """The History of `rows`: all rows of one session, or of a chain of split sessions, in id order.

    Of the `known` blocks, those that the rows do not bear out any more are left aside. `undone` are handoffs of blocks
    that somebody else wrote and that are known to have been undone.
    """
    ours, undone = borne_out(known, rows), set(undone)
    openings, carried = openers(rows, {*ours, *undone})
    stamps = {row.id: (row.handoff_key, row.time) for row in rows if row.handoff}
    moments = {row.id: row.time for row in rows}
    rows = with_telling_times(rows)
    reading = _Reading(stamps, carried, ours, {row.id: row for row in rows}, moments, undone)
    reading.pending.extend(rows[: openings[0]] if openings else rows)
    for index, end in pairwise([*openings, len(rows)]):
        reading.compaction(rows[index], rows[index + 1 : end], newest=end == len(rows))
    reading.settle()
    chains = reading.chains
    block_of = {row_id: each.handoff_id for each in reading.boundaries for row_id in each.block_ids}
    entries = [entry for rows in chains.rows.values() if (entry := _entry(rows, chains, block_of)) is not None]
    message_of = {row_id: entry.id for entry in entries for row_id in entry.rows}
    message_of |= {row_id: root for row_id in chains.others if (root := chains.root[row_id]) in message_of}
    settled = reading.closed and bool(reading.generation) and not repeats_its_start(reading.generation)
    return History(_ordered(entries, reading.boundaries), tuple(reading.boundaries), message_of, settled)


# -- blocks ----------------------------------------------------------------------------------------------------------


class _Reading:
    """Rows taken in from oldest to newest: each message's chain, the current generation, the boundaries so far."""

    def __init__(
        self,
        stamps: Mapping[int, Stamp],
        carried: set[Stamp],
        ours: Mapping[int, KnownBlock],
        rows: Mapping[int, LightRow],
        moments: Mapping[int, float],
        undone: Collection[int],
    ) -> None:
        self.stamps = stamps  # of handoff rows, with their times as stored
        self.undone = undone
        self.moments = moments  # the times of all rows as stored
        self.carried = carried
        self.ours = ours
        self.our_ids = {copy for block in ours.values() for copy in block.copies}
        # Rows that a block of ours which stands was made from: they were in context then, so theirs was not undone.
        self.our_sources = {source for block in ours.values() if not block.undone for source in block.copies.values()}
        self.rows = rows
        self.names = uids.Names(rows, moments)
        self.chains = Chains()
        self.generation: list[LightRow] = []
        self.opened_by = 0  # rows of the generation that its block has
        self.pending: list[LightRow] = []  # rows since the last block, among them the next block's head copies
        self.boundaries: list[Boundary] = []
        self.unsure = False  # whether a block before the next boundary was perhaps taken back, not undone
        self.closed = True  # whether it is known where the newest block ends, whatever may follow

    def compaction(self, handoff: LightRow, after: Sequence[LightRow], *, newest: bool) -> None:
        """Take in a handoff and the rows up to the next one."""
        ours, self.closed = self.ours.get(handoff.id), True
        if left := self._left(handoff, after):
            self._settle_but(left)
            self.pending = [row for row in after if row.id > left[-1].id]
            return
        block = None if ours else self._named(handoff, after, newest)
        if block is None and not ours:
            self.pending = uids.believed(self.pending, handoff, after)
            after = uids.believed(after, handoff, after)
            block = self._written(handoff, after)
        if block is None:
            block = self._aligned(handoff, after, ours)
        if not self._undone(handoff, block, newest):
            self._stands(handoff, block)
        self.pending.extend([row for row in after if row.id > block.rows[-1].id])

    def _not_ours(self, after: Sequence[LightRow]) -> list[LightRow]:
        """The rows behind a handoff up to the first that a block of ours has."""
        return list(takewhile(lambda row: row.id not in self.our_ids, after))

    def _left(self, handoff: LightRow, after: Sequence[LightRow]) -> list[LightRow]:
        """What is left of a block that was undone, where rows that its copies were made from are deleted."""
        ours = self.ours.get(handoff.id)
        if self.stamps[handoff.id] in self.carried:
            return []
        if ours is None:
            return self.names.left(handoff, self.pending, after)
        if not ours.undone or handoff.state != "out" or all(row_id in self.rows for row_id in ours.copies.values()):
            return []
        return [row for row in (*self.pending, handoff, *after) if row.id in {handoff.id, *ours.copies}]

    def _named(self, handoff: LightRow, after: Sequence[LightRow], newest: bool) -> Block | None:
        """The block by the names that its rows have; None where no copy has the name of an earlier row."""
        chains = self.chains
        known = ChainMap(chains.named, self.names.left_behind(handoff), self.names.first)
        carried, told = self.stamps[handoff.id] in self.carried, self._not_ours(after) if handoff.uid else []
        opening = uids.head_of(self.pending, known, (), handoff) if handoff.uid else []
        behind, unseen = uids.Tail(handoff, told, known, opening).block(carried=carried, last=newest)
        opening = uids.head_of(self.pending, known, behind, handoff) if handoff.uid else []
        behind = [*behind, *unseen]
        if not opening and not any(known.get(row.uid, row.id) < handoff.id for row in (handoff, *behind)):
            return None
        self._settle_but(opening)
        sources = self._sources()
        copied = {row.uid: row for row in self.generation if row.handoff == "standalone" or row.of_compaction}

        def pairs(rows: Iterable[LightRow]) -> Iterator[Pair]:
            for row in rows:
                for message in chains.said_by(row):
                    yield from ((row, source) for source in sources.get(message) or chains.rows[message][-1:])
                if row.uid in copied:
                    yield row, copied[row.uid]

        return Block([*opening, handoff, *behind], list(pairs(opening)), list(pairs([handoff, *behind])))

    def _sources(self) -> dict[int, list[LightRow]]:
        """For each message the rows of the generation that were in context when it ended, but for take-backs: all of
        its block, and behind it the newest one where the agent wrote its transcript anew.
        """
        found: dict[int, list[LightRow]] = {}
        for at, row in enumerate(self.generation):
            for message in self.chains.of(row.id):
                if at < self.opened_by:
                    found.setdefault(message, []).append(row)
                else:
                    found[message] = [row]
        return found

    def _written(self, handoff: LightRow, after: Sequence[LightRow]) -> Block | None:
        """The block by the times of its rows; None where they do not tell."""
        write = self._write(handoff)
        opening = write.before(self.pending)
        behind = write.behind(self._not_ours(after), opening)
        head, tail = write.sources(opening, behind)
        if not (head or tail):
            return None
        self._settle_but(opening)
        self._join_orphans()
        last = max((copy.id for copy, _ in tail), default=handoff.id)
        return Block([*opening, handoff, *(row for row in behind if row.id <= last)], head, tail)

    def _write(self, handoff: LightRow) -> Write:
        """What was written with a handoff, for the rows before it: those of earlier generations first."""
        here = {message for row in self.generation for message in self.chains.of(row.id)}
        older = [rows[-1] for message, rows in self.chains.rows.items() if message not in here]
        return Write([*older, *self.generation, *self.pending], len(older), self.moments, handoff)

    def _aligned(self, handoff: LightRow, after: Sequence[LightRow], ours: KnownBlock | None) -> Block:
        """The block by the map of the run that wrote it, or by lining up."""
        messages = [*self.chains.newest(), *self.pending]
        head = (
            self._known(ours, self.pending)
            if ours
            else longest_head(messages, [*self.generation, *self.pending], self.pending, handoff)
        )
        self._settle_but([copy for copy, _ in head])
        self._join_orphans()
        tail = self._known(ours, [handoff, *after]) if ours else self._tail(handoff, after)
        last = tail[-1][0].id if tail else handoff.id
        rows = [*(copy for copy, _ in head), handoff, *(row for row in after if row.id <= last)]
        return Block(rows, head, tail)

    def _join_orphans(self) -> None:
        for copy, source in orphans(self.chains.newest()):
            self.chains.join(copy, source)

    def _settle_but(self, opening: Iterable[LightRow]) -> None:
        """Settle all pending rows but these, which open a block."""
        ids = {row.id for row in opening}
        self.pending = [row for row in self.pending if row.id not in ids]
        self.settle()

    def _known(self, ours: KnownBlock, rows: Iterable[LightRow]) -> list[Pair]:
        """Those of the rows that are copies for certain; one whose original is gone is a message of its own."""
        return [(row, self.rows[ours.copies[row.id]]) for row in rows if ours.copies.get(row.id) in self.rows]

    def _undone(self, handoff: LightRow, block: Block, newest: bool) -> bool:
        """Whether a block was undone: it stands wholly at (0,0), nobody carried its handoff on, and it was not just
        taken back row by row, which brings nothing from before it into context.
        """
        if any(row.state != "out" or row.id in self.our_sources for row in block.rows):
            return False
        if handoff.id in self.ours:
            return self.ours[handoff.id].undone
        if handoff.id in self.undone:
            return True
        if self.stamps[handoff.id] in self.carried:
            return False
        if newest:
            return any(row.state == "live" for row in self.generation)
        # What an undo brings back is carried on, or summarised, by the next compaction.
        ended = max(row.id for row in block.rows)
        kept = [source for copy, source in block.tail if source.uid and not copy.restated]
        later = [row for row in self.rows.values() if row.id > ended]
        if not kept:
            back, self.unsure = self._may_have_come_back(later)
            return back
        last = self.names.last_kept
        gone = [row for row in kept if row.state == "out" and last.get(row.uid, 0) <= ended]
        if gone and (len(gone) == len(kept) or min(gone, key=lambda row: row.id).role != "user"):
            return False
        if any(map(is_typed, self.generation)) and had_no_user(later):
            return False
        self.unsure = not any(row.state == "live" or last.get(row.uid, 0) > ended for row in kept)
        return True

    def _may_have_come_back(self, later: Sequence[LightRow]) -> tuple[bool, bool]:
        """Whether the generation may have been in context again, as an undo brings it back, given all later rows, and
        whether that is not certain.

        It was not if the head of the next compaction is what was said first since.
        """
        before = {(row.role, row.time) for row in self.generation if row.time}
        if any((row.role, row.time) in before for row in later):
            return True, False
        said = list(takewhile(lambda row: not row.handoff, later))
        if len(said) == len(later):
            return True, True
        write = Write(said, 0, self.moments, later[len(said)])
        head, _ = write.sources(write.before(said), ())
        back = not head or head[0][1] is not next((row for row in said if row.state != "out"), None)
        return back, back

    def settle(self) -> None:
        """Make the pending rows messages of the current generation, copies of a compaction without a handoff aside."""
        self.generation.extend(self.pending)
        self._add(self.pending)
        self.pending = []
        for copy, source in repetition(self.generation):
            shown = source.id in self.chains.root and copy.id in self.chains.root
            if shown and self.chains.of(copy.id) != self.chains.of(source.id):  # an undone block lets one settle twice
                self.chains.join(copy, source)

    def _tail(self, handoff: LightRow, after: Sequence[LightRow]) -> list[Pair]:
        told = [row for row in self._not_ours(after) if row.handoff != "standalone"]
        messages = self.chains.newest()
        until_new = until_said(told, handoff, {row.time for row in (*self.generation, *messages)})
        self.closed = len(until_new) < len(told) or any(row.id in self.our_ids for row in after)
        return longest_tail(
            messages, self.generation, [*([handoff] if handoff.handoff == "merged" else []), *until_new]
        )

    def _stands(self, handoff: LightRow, block: Block) -> None:
        copies, of = [*block.head, *block.tail], self.chains.of
        if any(source.uid == copy.uid != "" for copy, source in copies):
            self._summarise(slipped(self.generation, block))
        before = self._before({source.id for _, source in copies})
        kept = dict.fromkeys(message for _, source in copies for message in of(source.id))
        away = dict.fromkeys(message for row in before for message in of(row.id) if message not in kept)
        self.boundaries.append(
            Boundary(
                handoff_id=handoff.id,
                time=self.stamps[handoff.id][1] if handoff.handoff == "standalone" else None,
                block_ids=tuple(row.id for row in block.rows),
                before_ids=tuple(row.id for row in before),
                cut_id=first_kept(block, self.chains.root, sorted(away)),
                copies=tuple((copy.id, source.id) for copy, source in copies),
                summarised_ids=tuple(away),
                kept_ids=tuple(kept),
                shortened_ids=tuple(
                    dict.fromkeys(
                        message
                        for copy, source in copies
                        if not copy.restated and shorter(copy, source)
                        for message in of(source.id)
                    )
                ),
                run=self.ours[handoff.id].run if handoff.id in self.ours else None,
                unsure=self.unsure,
            )
        )
        self.unsure = False
        sources: dict[int, list[LightRow]] = {}
        for copy, source in copies:
            if source.id in self.chains.root and copy.id not in self.chains.root and not copy.restated:
                sources.setdefault(copy.id, []).append(source)
        for row in block.rows:
            if row.id in sources:
                self.chains.join(row, *sources[row.id])
        self._add(row for row in block.rows if row.id not in self.chains.root)
        self.generation, self.opened_by = block.rows, len(block.rows)

    def _summarise(self, rows: Iterable[LightRow]) -> None:
        for row in rows:
            under = replace(row, state="under")
            self.generation[self.generation.index(row)] = under
            self.chains.replace(row, under)

    def _before(self, copied: set[int]) -> list[LightRow]:
        """The rows that a compaction found in context, given those that it copied.

        It takes every row out of context: one that is in it was not there before, or its copy is not told. Where the
        agent had written its transcript anew without a compaction, only the newest row of a message was in it.
        """
        sources = self._sources()
        return [
            row
            for row in self.generation
            if (row.state == "under" or row.id in copied)
            and (row.id not in self.chains.root or row in sources[self.chains.root[row.id]])
        ]

    def _add(self, rows: Iterable[LightRow]) -> None:
        for row in rows:
            self.chains.add(row)


# -- messages --------------------------------------------------------------------------------------------------------


def _entry(rows: list[LightRow], chains: Chains, block_of: Mapping[int, int]) -> Entry | None:
    last = block_of.get(rows[-1].id, rows[-1].id)
    latest = [row for row in reversed(rows) if block_of.get(row.id, row.id) == last]  # one block may have it twice
    newest = next((row for row in reversed(rows) if row.state == "live"), latest[0])
    newest = next((row for row in (newest, *latest) if row.state != "out"), newest)
    if newest.state == "out":
        return None
    alone = [row for row in rows if not (row.id in chains.others or row.absorbed or row.restated or row.of_compaction)]
    full = reduce(_fuller, alone or rows)
    return Entry(
        id=rows[0].id,
        rows=tuple(row.id for row in rows),
        full_id=full.id,
        newest_id=newest.id,
        state=newest.state,
        shortened=newest in alone and shorter(newest, full),
    )


def _fuller(row: LightRow, later: LightRow) -> LightRow:
    """Which of two rows says more of their message. Copies lose text, but what marks the loss may be longer than it."""
    goes_on = later.role == "tool" or later.text.startswith(row.text)
    return later if goes_on and row.size < 0.9 * later.size else row


def _ordered(entries: list[Entry], boundaries: Sequence[Boundary]) -> tuple[Entry | Boundary, ...]:
    """Entries by first row; each boundary before its cut, or by its handoff's id where the tail kept nothing."""

    def place(item: Entry | Boundary) -> tuple[int, int, int]:
        if isinstance(item, Entry):
            return (item.id, 1, 0)
        return (item.handoff_id if item.cut_id is None else item.cut_id, 0, item.handoff_id)

    return tuple(sorted([*entries, *boundaries], key=place))
