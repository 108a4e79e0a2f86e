"""Boundaries, generations and the History of one session, from light rows alone: a pure function.

Theory (`docs/hermes.md` section 2, verified on databases that Hermes wrote). A compaction inserts one *block* of rows:
copies of the head, perhaps of some messages inside the middle, the handoff, copies of the tail, and messages of the
agent itself. From schema 31 on a copy has its message's name, and a row that others were merged into lists their names:
`uids`. Where there are no names, they follow from the times of the writes, which also show where a block ends:
`naming`.

A generation is the id range from one block's start to the next block's. Following copy -> origin gives each message its
rows; it is shown once, at its first row. Rows at (0,0) are superseded when another row carries the message and taken
back otherwise. A block that is entirely at (0,0) was undone, unless it is known to be taken back: then it is no
boundary and its rows are not copies. Blocks that this site wrote are `known`, and override any guess.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise, takewhile

from viewer.stores.history_types import Boundary, History, HistoryEntry

from . import uids
from .alignment import Pair, with_telling_times, without_image, words
from .blocks import Block, first_kept, had_no_user, is_typed, shorter, slipped
from .chains import Chains
from .known import NOT_KNOWN, KnownBlock, KnownUndone, Noted, borne_out
from .naming import Named, named, own_name
from .openers import ONE_WRITE, Stamp, one_a_write, openers
from .records import LightRow
from .repeats import written_again


def build(
    rows: Sequence[LightRow], known: Iterable[KnownBlock] = (), undone: Mapping[int, KnownUndone] | None = None
) -> History:
    """The History of `rows`: all rows of one session, or of a chain of split sessions, in id order.

    `known` blocks that do not match the rows any more are ignored. `undone` are handoffs of blocks that are known to
    have been undone, whoever wrote them. A row that repeats an earlier one counts as that one.
    """
    known = list(known)
    noted = borne_out(known, undone or {}, rows)
    if again := written_again(rows, noted):
        return _with_repeats(build([row for row in rows if row.id not in again], known, undone), rows, again)
    openings, carried = openers(rows, {*noted.ours, *noted.undone})
    stamps = {row.id: (row.handoff_key, row.time) for row in rows if row.handoff}
    moments = {row.id: row.time for row in rows}
    named_rows = named(with_telling_times(rows), moments, noted, {rows[index].id for index in openings})
    rows = named_rows.rows
    reading = _HistoryBuilder(stamps, carried, noted, {row.id: row for row in rows}, moments, named_rows)
    opening = one_a_write(
        [rows[index] for index in openings], named_rows.write_of, stamps, {*noted.ours, *noted.undone}
    )
    openings = [index for index in openings if rows[index].id in opening]
    reading.pending.extend(rows[: openings[0]] if openings else rows)
    for index, end in pairwise([*openings, len(rows)]):
        following = rows[end] if end < len(rows) else None
        reading.compaction(rows[index], rows[index + 1 : end], following)
    reading.settle()
    chains = reading.chains
    block_of = {row_id: each.handoff_id for each in reading.boundaries for row_id in each.block_ids}
    entries = [entry for rows in chains.rows.values() if (entry := _entry(rows, chains, block_of)) is not None]
    message_of = {row_id: entry.id for entry in entries for row_id in entry.rows}
    message_of |= {row_id: root for row_id in chains.others if (root := chains.root[row_id]) in message_of}
    settled = bool(reading.generation) and not named_rows.is_open
    return History(_ordered(entries, reading.boundaries), tuple(reading.boundaries), message_of, settled)


# -- blocks ----------------------------------------------------------------------------------------------------------


class _HistoryBuilder:
    """Reads rows from oldest to newest: each message's chain, the current generation, the boundaries so far."""

    def __init__(
        self,
        stamps: Mapping[int, Stamp],
        carried: set[Stamp],
        noted: Noted,
        rows: Mapping[int, LightRow],
        moments: Mapping[int, float],
        named_rows: Named,
    ) -> None:
        self.stamps = stamps  # of handoff rows, with their stored times
        self.write_of, self.anew = (
            named_rows.write_of,
            named_rows.anew,
        )  # for rows without names of the agent, from their times
        self.carried = carried
        self.noted, self.ours, self.undone = noted, noted.ours, noted.undone
        self.rows = rows
        self.names = uids.UidIndex(rows, moments)
        self.chains = Chains()
        self.generation: list[LightRow] = []
        self.opened_by = 0  # rows of the generation that belong to its block
        self.pending: list[LightRow] = []  # rows since the last block, among them the next block's head copies
        self.boundaries: list[Boundary] = []
        self.unsure = False  # whether a block before the next boundary may have been taken back instead of undone

    def compaction(self, handoff: LightRow, after: Sequence[LightRow], following: LightRow | None) -> None:
        """Read a handoff and the rows up to the `following` one."""
        ours = self.ours.get(handoff.id)
        if remaining := self._remains_of_undone(handoff, after):
            self._settle_but(remaining)
            self.pending = [row for row in after if row.id > remaining[-1].id]
            return
        block = self._known_block(ours, handoff, after) if ours else self._guessed_block(handoff, after, following)
        if not self._undone(handoff, block, newest=following is None):
            self._add_boundary(handoff, block)
        self.pending.extend([row for row in after if row.id > block.rows[-1].id])

    def _not_noted(self, after: Sequence[LightRow]) -> list[LightRow]:
        """The rows after a handoff up to the first row of a block that is known completely."""
        return list(takewhile(lambda row: row.id not in self.noted.in_blocks, after))

    def _remains_of_undone(self, handoff: LightRow, after: Sequence[LightRow]) -> list[LightRow]:
        """The rows of a block that is known to have been undone, or the rest of a block whose copies' originals are
        deleted.
        """
        ours = self.ours.get(handoff.id)
        block = self.undone.get(handoff.id, NOT_KNOWN).block
        noted = [row for row in (*self.pending, handoff, *after) if row.id in block]
        if noted and not any(row.id in self.noted.in_context for row in noted):
            return noted
        if self.stamps[handoff.id] in self.carried or (ours is None and handoff.id in self.write_of):
            return []
        if ours is None:
            return self.names.left(handoff, self.pending, after)
        if not ours.undone or handoff.state != "out" or all(row_id in self.rows for row_id in ours.copies.values()):
            return []
        return [row for row in (*self.pending, handoff, *after) if row.id in {handoff.id, *ours.copies}]

    def _guessed_block(self, handoff: LightRow, after: Sequence[LightRow], following: LightRow | None) -> Block:
        """The block of a handoff, from the write that inserted it, or from the names of its rows."""
        candidates = [self._written(handoff, after), self._named(handoff, after, following)]
        opening, behind = max(candidates, key=lambda each: len(each[0]) + len(each[1]))
        self._settle_but(opening)
        sources = self._sources()
        others = self.generation if handoff.id not in self.write_of else ()
        copied = {row.uid: row for row in others if row.handoff == "standalone" or row.of_compaction}

        def pairs(rows: Iterable[LightRow]) -> Iterator[Pair]:
            for row in rows:
                for message in self.chains.said_by(row):
                    yield from ((row, source) for source in sources.get(message) or self.chains.rows[message][-1:])
                if row.uid in copied:
                    yield row, copied[row.uid]

        return Block([*opening, handoff, *behind], list(pairs(opening)), list(pairs([handoff, *behind])))

    def _written(self, handoff: LightRow, after: Sequence[LightRow]) -> tuple[list[LightRow], list[LightRow]]:
        """The rows before and after a handoff in the write that inserted it, where that is known."""
        write = self.write_of.get(handoff.id, 0)
        opening = [row for row in self.pending if self.write_of.get(row.id) == write]
        return opening, list(takewhile(lambda row: self.write_of.get(row.id) == write, after))

    def _named(
        self, handoff: LightRow, after: Sequence[LightRow], following: LightRow | None
    ) -> tuple[list[LightRow], list[LightRow]]:
        """The rows before and after a handoff in its block, by names; none where no copy has the name of an earlier
        row.
        """
        if handoff.uid in ("", own_name(handoff)):
            return [], []
        known = ChainMap(self.chains.named, self.names.left_behind(handoff), self.names.first)
        carried, after_rows = self.stamps[handoff.id] in self.carried, self._not_noted(after)
        last = following is None or following.id in self.ours or bool(self.undone.get(following.id, NOT_KNOWN).block)
        pending = self.pending
        if handoff.time and (
            write := self.write_of.get(handoff.id)
        ):  # otherwise it is not certain which rows were written with it
            after_rows = list(takewhile(lambda row: self.write_of.get(row.id, write) == write, after_rows))
            pending = [*takewhile(lambda row: self.write_of.get(row.id, write) == write, reversed(pending))][::-1]
        opening = uids.head_of(pending, known, (), handoff, self.noted.taken_back)
        behind, unseen = uids.Tail(handoff, after_rows, known, opening).block(carried=carried, last=last)
        opening = uids.head_of(pending, known, behind, handoff, self.noted.taken_back)
        behind = [*behind, *unseen]
        if not opening and not any(known.get(row.uid, row.id) < handoff.id for row in (handoff, *behind)):
            return [], []
        return [*uids.unseen_before(pending, known, opening, behind), *opening], behind

    def context(self) -> list[LightRow]:
        """The rows of the generation since it was last rewritten without a summary."""
        begun = [at for at, row in enumerate(self.generation) if row.id in self.anew]
        return self.generation[begun[-1] :] if begun else self.generation

    def _sources(self) -> dict[int, list[LightRow]]:
        """For each message the rows of the generation that were in context when it ended, apart from take-backs: all of
        its block, and after it the newest one where the agent rewrote its transcript.
        """
        sources: dict[int, list[LightRow]] = {}
        for at, row in enumerate(self.context()):
            for message in self.chains.of(row.id):
                if at < self.opened_by:
                    sources.setdefault(message, []).append(row)
                else:
                    sources[message] = [row]
        return sources

    def _settle_but(self, opening: Iterable[LightRow]) -> None:
        """Settle all pending rows except these, which open a block."""
        ids = {row.id for row in opening}
        self.pending = [row for row in self.pending if row.id not in ids]
        self.settle()

    def _known_block(self, ours: KnownBlock, handoff: LightRow, after: Sequence[LightRow]) -> Block:
        """The block by the map of the run that wrote it; a row whose original is gone is a separate message."""

        def pairs(rows: Iterable[LightRow]) -> list[Pair]:
            return [(row, self.rows[ours.copies[row.id]]) for row in rows if ours.copies.get(row.id) in self.rows]

        head = pairs(self.pending)
        self._settle_but([copy for copy, _ in head])
        tail = pairs([handoff, *after])
        last = tail[-1][0].id if tail else handoff.id
        rows = [*(copy for copy, _ in head), handoff, *(row for row in after if row.id <= last)]
        return Block(rows, head, tail)

    def _undone(self, handoff: LightRow, block: Block, *, newest: bool) -> bool:
        """Whether a block was undone: it is entirely at (0,0), nobody carried its handoff on, and it was not just taken
        back row by row, which brings nothing from before it into context.
        """
        if any(row.state != "out" or row.id in self.noted.in_context for row in block.rows):
            return False
        if handoff.id in self.ours:
            return self.ours[handoff.id].undone
        if handoff.id in self.undone:
            return True
        if self.stamps[handoff.id] in self.carried:
            return False
        if newest:
            return any(row.state == "live" for row in self.generation)
        # The next compaction carries on, or summarises, what an undo brought back.
        ended = max(row.id for row in block.rows)
        rows = [source for copy, source in block.tail if source.uid and not copy.restated]
        later = [row for row in self.rows.values() if row.id > ended]
        if not rows or handoff.id in self.write_of:
            back, self.unsure = self._may_have_come_back(handoff, later)
            return back
        last = self.names.last_kept
        gone = [row for row in rows if row.state == "out" and last.get(row.uid, 0) <= ended]
        if gone and (len(gone) == len(rows) or min(gone, key=lambda row: row.id).role != "user"):
            return False
        if any(map(is_typed, self.generation)) and had_no_user(later):
            return False
        self.unsure = not any(row.state == "live" or last.get(row.uid, 0) > ended for row in rows)
        return True

    def _may_have_come_back(self, handoff: LightRow, later: Sequence[LightRow]) -> tuple[bool, bool]:
        """Whether the generation may have been in context again, as after an undo, given all later rows, and whether
        that is uncertain.

        It was not if the head of the next compaction begins with the first message since.
        """
        if self._head_stayed(handoff, later) or self._head_was_written_anew(later):
            return False, False
        undone = {self.write_of.get(row.id, 0) for row in later if row.handoff and self._is_known_as_undone(row)}
        later = [row for row in later if self.write_of.get(row.id) not in undone]
        rows = list(takewhile(lambda row: not row.handoff, later))
        if len(rows) == len(later):  # its summarised messages are in context, or were, and are deleted since
            return not self.generation or any(row.state == "live" for row in self.generation), False
        before = {uid for row in self.generation for uid in (row.uid, *row.absorbed) if uid}
        if any(uid in before for row in later for uid in (row.uid, *row.absorbed)):
            return True, False
        write = self.write_of.get(later[len(rows)].id)
        head = [row for row in rows if write is not None and self.write_of.get(row.id) == write]
        began = next((row for row in rows if row.state != "out"), None)
        return not head or began is None or head[0].uid != began.uid, not head

    def _head_stayed(self, handoff: LightRow, later: Sequence[LightRow]) -> bool:
        """Whether the head of a block stayed in context when the rest was taken back: a later row has a moment of the
        block's write. A row that has that moment by chance was appended.
        """
        moment = self.stamps[handoff.id][1]
        stayed = [row for row in later if row.state != "out" or self.write_of.get(row.id) in self.anew]
        stayed = [row for row in stayed if abs(row.time - moment) < ONE_WRITE]
        if not stayed or handoff.id not in self.write_of:
            return bool(stayed)
        appended = {(row.role, row.time) for row in self.rows.values() if row.id not in self.write_of}
        return any((row.role, row.time) not in appended for row in stayed)

    def _head_was_written_anew(self, later: Sequence[LightRow]) -> bool:
        """Whether the agent rewrote its transcript since, without the last of the generation: an undo would have
        brought that back, too. What it found in context is deleted, or repeated; everything else is still stored.
        """
        first = next((row for row in later if row.handoff or row.id in self.anew), None)
        known = [row for row in self.context() if row.state == "under" and row.id in self.chains.root]
        if first is None or first.id not in self.anew or not known:
            return False
        written = [row for row in later if self.write_of.get(row.id) == first.id]
        return not any(known[-1].uid in (row.uid, *row.absorbed) for row in written)

    def _is_known_as_undone(self, handoff: LightRow) -> bool:
        ours = self.ours.get(handoff.id)
        return ours.undone if ours else handoff.id in self.undone

    def settle(self) -> None:
        """Make the pending rows messages of the current generation."""
        self.generation.extend(self.pending)
        self._add(self.pending)
        self.pending = []

    def _add_boundary(self, handoff: LightRow, block: Block) -> None:
        copies, messages_of = [*block.head, *block.tail], self.chains.of
        if handoff.id not in self.write_of and any(source.uid == copy.uid != "" for copy, source in copies):
            self._summarise(slipped([row for row in self.generation if row.id not in self.noted.taken_back], block))
        before = self._before(handoff, {source.id for _, source in copies})
        kept = dict.fromkeys(message for _, source in copies for message in messages_of(source.id))
        away = dict.fromkeys(message for row in before for message in messages_of(row.id) if message not in kept)
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
                        for message in messages_of(source.id)
                    )
                ),
                run=self.ours[handoff.id].run if handoff.id in self.ours else None,
                unsure=self.unsure and handoff.id not in self.ours,
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

    def _before(self, handoff: LightRow, copied: set[int]) -> list[LightRow]:
        """The rows that a compaction found in context, given those that it copied; the recorded ones, where there is a
        record.

        It removes every row from context: a row that is still there was added later, or its copy is not recognised.
        Where the agent had rewritten its transcript without a compaction, only the newest row of a message was in it.
        If a row with a summary and a message was taken back, that is the message: the summary is written again after
        it.
        """
        if handoff.id in self.ours and (noted := self.ours[handoff.id].before):
            return [self.rows[row_id] for row_id in sorted(noted) if row_id in self.rows]
        sources = self._sources()
        anew = {row.handoff_key for row in self.context() if row.handoff == "standalone" and row.state == "under"}
        return [
            row
            for row in self.context()
            if (row.state == "under" or (row.id in copied and row.handoff_key not in anew))
            and (row.id not in self.chains.root or row in sources[self.chains.root[row.id]])
        ]

    def _add(self, rows: Iterable[LightRow]) -> None:
        for row in rows:
            self.chains.add(row)


# -- messages --------------------------------------------------------------------------------------------------------


def _entry(rows: list[LightRow], chains: Chains, block_of: Mapping[int, int]) -> HistoryEntry | None:
    last = block_of.get(rows[-1].id, rows[-1].id)
    latest = [row for row in reversed(rows) if block_of.get(row.id, row.id) == last]  # one block may contain it twice
    newest = next((row for row in reversed(rows) if row.state == "live"), latest[0])
    newest = next((row for row in (newest, *latest) if row.state != "out"), newest)
    if newest.state == "out":
        return None
    own = [row for row in rows if not (row.id in chains.others or row.restated or row.of_compaction)]
    alone = [row for row in own if not row.absorbed]  # without merged words that exist nowhere else, too
    full = reduce(_fuller, alone or own or rows)
    return HistoryEntry(
        id=rows[0].id,
        rows=tuple(row.id for row in rows),
        full_id=full.id,
        newest_id=newest.id,
        state=newest.state,
        shortened=newest in alone and shorter(newest, full),
    )


def _fuller(row: LightRow, later: LightRow) -> LightRow:
    """The row with more of their message's content. Copies lose text, but the note about the loss may be longer than
    it.
    """
    goes_on = later.role == "tool" or later.text.startswith(row.text)
    if without_image(later) is not later and words(row) == words(later):
        return row
    return later if goes_on and row.size < 0.9 * later.size else row


def _with_repeats(history: History, rows: Iterable[LightRow], again: Mapping[int, int]) -> History:
    """The History with the rows that were written again (row -> the first such row), each at its first one."""
    repeats: dict[int, list[int]] = {}
    for row_id, first in again.items():
        repeats.setdefault(first, []).append(row_id)
    live = {row.id for row in rows if row.state == "live" and row.id in again}

    def with_repeats(ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted(each for row_id in ids for each in (row_id, *repeats.get(row_id, ()))))

    def extended(item: HistoryEntry | Boundary) -> HistoryEntry | Boundary:
        if isinstance(item, Boundary):
            return replace(item, before_ids=with_repeats(item.before_ids), block_ids=with_repeats(item.block_ids))
        all_rows = with_repeats(item.rows)
        return replace(item, rows=all_rows, twice=item.twice or not live.isdisjoint(all_rows))

    items = tuple(map(extended, history.items))
    boundaries_by_handoff = {item.handoff_id: item for item in items if isinstance(item, Boundary)}
    more = {row_id: history.message_of[first] for row_id, first in again.items() if first in history.message_of}
    return replace(
        history,
        items=items,
        boundaries=tuple(boundaries_by_handoff[boundary.handoff_id] for boundary in history.boundaries),
        message_of=history.message_of | more,
    )


def _ordered(entries: list[HistoryEntry], boundaries: Sequence[Boundary]) -> tuple[HistoryEntry | Boundary, ...]:
    """Entries by first row; each boundary before its cut, or by its handoff's id where the tail kept nothing."""

    def sort_key(item: HistoryEntry | Boundary) -> tuple[int, int, int]:
        if isinstance(item, HistoryEntry):
            return (item.id, 1, 0)
        return (item.handoff_id if item.cut_id is None else item.cut_id, 0, item.handoff_id)

    return tuple(sorted([*entries, *boundaries], key=sort_key))
