"""Which blocks of rows without names were undone, and which were only taken back, as far as the rows show it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from viewer.stores.hermes.known import NOT_KNOWN, KnownBlock, Noted
from viewer.stores.hermes.records import LightRow

from .openings import ONE_WRITE


class Write(NamedTuple):
    """The block of a handoff, known from the times of its rows: `ids` are all of them, in order.

    `undone` says that it is out of context because it was undone, not because it was taken back row by row. `unsure`
    says that the rows do not show which of the two it was.
    """

    ids: tuple[int, ...]
    undone: bool = False
    unsure: bool = False


class Contexts:
    """Reads named rows from oldest to newest: what was in context when each block was written.

    `write_of` has the first row of the write that inserted a row, `anew` the first rows of writes without a summary,
    `cut` of writes that may have more rows. `moments` are the stored times, `carried` the handoffs that a later block
    carried along.
    """

    def __init__(
        self,
        rows: Sequence[LightRow],
        moments: Mapping[int, float],
        noted: Noted,
        write_of: Mapping[int, int],
        anew: Collection[int],
        cut: Collection[int],
        carried: Collection[int],
    ) -> None:
        self.rows, self.moments, self.noted = rows, moments, noted
        self.write_of, self.anew, self.cut, self.carried = write_of, anew, cut, carried
        self.by_id = {row.id: row for row in rows}
        self.generation: list[LightRow] = []
        self.pending: list[LightRow] = []

    def writes(self, openings: Collection[int]) -> dict[int, Write]:
        """The blocks of those of these handoffs whose writes are known, by handoff."""
        at = [index for index, row in enumerate(self.rows) if row.id in openings]
        self.pending = [*self.rows[: min(at, default=0)]]
        writes: dict[int, Write] = {}
        for index, end in pairwise([*at, len(self.rows)]):
            handoff, after = self.rows[index], self.rows[index + 1 : end]
            left = self._left_of_undone(handoff, after)
            block, written = left or self._block(handoff, after), self._written(handoff, after)
            ids = {row.id for row in block}
            self.generation = [*self.generation, *(row for row in self.pending if row.id not in ids)]
            undone, unsure = (True, False) if left else self._was_undone(handoff, block, newest=end == len(self.rows))
            is_known = handoff.id in self.write_of and self.write_of[handoff.id] not in self.cut
            if is_known and self._have_times(written):
                writes[handoff.id] = Write(tuple(row.id for row in written), undone, unsure)
            self.generation = self.generation if undone else block
            self.pending = [row for row in after if row.id > block[-1].id]
        return writes

    def _have_times(self, written: Sequence[LightRow]) -> bool:
        """Whether these rows have times of their own: no write gives several rows the same, and an import does."""
        return len(written) == 1 or len({self.moments[row.id] for row in written}) > 1

    def _left_of_undone(self, handoff: LightRow, after: Iterable[LightRow]) -> list[LightRow]:
        """The rows of a block that is known to have been undone, or the rest of one whose originals are deleted."""
        ours, block = self.noted.ours.get(handoff.id), self.noted.undone.get(handoff.id, NOT_KNOWN).block
        rows = [*self.pending, handoff, *after]
        recorded = [row for row in rows if row.id in block]
        if recorded and not any(row.id in self.noted.in_context for row in recorded):
            return recorded
        if ours is None or not ours.undone or handoff.state != "out" or handoff.id in self.carried:
            return []
        if all(row_id in self.by_id for row_id in ours.copies.values()):
            return []
        return [row for row in rows if row.id in {handoff.id, *ours.copies}]

    def _block(self, handoff: LightRow, after: Sequence[LightRow]) -> list[LightRow]:
        ours = self.noted.ours.get(handoff.id)
        return self._known(ours, handoff, after) if ours else self._written(handoff, after)

    def _known(self, ours: KnownBlock, handoff: LightRow, after: Sequence[LightRow]) -> list[LightRow]:
        def is_copy(row: LightRow) -> bool:
            return ours.copies.get(row.id) in self.by_id

        last = max([handoff.id, *(row.id for row in after if is_copy(row))])
        return [*filter(is_copy, self.pending), handoff, *(row for row in after if row.id <= last)]

    def _written(self, handoff: LightRow, after: Sequence[LightRow]) -> list[LightRow]:
        """The rows of the write that inserted a handoff; it alone where that is not known."""
        write = self.write_of.get(handoff.id, 0)
        opening = [row for row in self.pending if self.write_of.get(row.id) == write]
        return [*opening, handoff, *takewhile(lambda row: self.write_of.get(row.id) == write, after)]

    def _was_undone(self, handoff: LightRow, block: Sequence[LightRow], *, newest: bool) -> tuple[bool, bool]:
        """Whether a block was undone, and whether that is uncertain: it is entirely at (0,0), nobody carried its
        handoff on, and it was not just taken back row by row, which brings nothing from before it into context.
        """
        if any(row.state != "out" or row.id in self.noted.in_context for row in block):
            return False, False
        if handoff.id in self.noted.ours or handoff.id in self.noted.undone:
            return self._is_known_as_undone(handoff), False
        if handoff.id in self.carried or handoff.id not in self.write_of:
            return False, False
        if newest:
            return any(row.state == "live" for row in self.generation), False
        # The next compaction carries on, or summarises, what an undo brought back.
        ended = block[-1].id
        return self._may_have_come_back(handoff, [row for row in self.rows if row.id > ended])

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
        moment = self.moments[handoff.id]
        stayed = [row for row in later if row.state != "out" or self.write_of.get(row.id) in self.anew]
        stayed = [row for row in stayed if abs(row.time - moment) < ONE_WRITE]
        if not stayed or handoff.id not in self.write_of:
            return bool(stayed)
        appended = {(row.role, row.time) for row in self.rows if row.id not in self.write_of}
        return any((row.role, row.time) not in appended for row in stayed)

    def _head_was_written_anew(self, later: Sequence[LightRow]) -> bool:
        """Whether the agent rewrote its transcript since, without the last of the generation: an undo would have
        brought that back, too. What it found in context is deleted, or repeated; everything else is still stored.
        """
        first = next((row for row in later if row.handoff or row.id in self.anew), None)
        known = [row for row in self._context() if row.state == "under" and _is_message(row)]
        if first is None or first.id not in self.anew or not known:
            return False
        written = [row for row in later if self.write_of.get(row.id) == first.id]
        return not any(known[-1].uid in (row.uid, *row.absorbed) for row in written)

    def _is_known_as_undone(self, handoff: LightRow) -> bool:
        ours = self.noted.ours.get(handoff.id)
        return ours.undone if ours else handoff.id in self.noted.undone

    def _context(self) -> list[LightRow]:
        """The rows of the generation since it was last rewritten without a summary."""
        begun = [at for at, row in enumerate(self.generation) if row.id in self.anew]
        return self.generation[begun[-1] :] if begun else self.generation


def _is_message(row: LightRow) -> bool:
    """Whether a row carries a message, not only what a compaction wrote."""
    return row.restated or bool(row.absorbed) or not (row.handoff == "standalone" or row.of_compaction)
