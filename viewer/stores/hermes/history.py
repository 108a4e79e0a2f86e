"""Boundaries, generations and the History of one session, from light rows alone: a pure function.

Theory (`docs/hermes.md` sections 2 and 9, verified on databases that Hermes wrote). Each row has the name of the
message it carries, from the agent or from `names`; a row that others were merged into lists their names, too. A message
is shown once, at its first row. Its newest row has its state: at (0,0) it was taken back.

The agent appends rows, and a compaction inserts one *block*: copies of the head, perhaps of some messages inside the
middle, the handoff, copies of the tail, and rows of the agent itself (`blocks`). The block and what is appended after
it are the next *generation*, of which the next compaction makes copies. So rows are read from oldest to newest, block
by block: which rows it has, whether it was undone, and if not, what it did to the generation before it. An undone block
is no boundary, its rows carry no message, and the generation goes on. Blocks that this site wrote, and undos that it
recorded, are known and override what the names say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise, takewhile

from viewer.stores.hermes.records import LightRow, without_image, words
from viewer.stores.packing import BoundaryIds, HistoryParts, pack
from viewer.stores.transcript import HistoryEntry, TranscriptIndex

from .blocks import Pair, block_around, first_kept, had_no_user, left_of_undone, slipped
from .known import NOT_KNOWN, KnownBlock, KnownUndone, Noted, borne_out
from .names import Named, named
from .repeats import with_repeats, written_again


def build(
    rows: Sequence[LightRow], known: Iterable[KnownBlock] = (), undone: Mapping[int, KnownUndone] | None = None
) -> TranscriptIndex:
    """The index of the History of `rows`: all rows of one session, or of a chain of split sessions, in id order.

    `known` blocks that do not match the rows any more are ignored. `undone` are handoffs of blocks that are known to
    have been undone, whoever wrote them. A row that repeats an earlier one counts as that one.
    """
    return pack(_parts(rows, list(known), undone or {}), rows)


def _parts(rows: Sequence[LightRow], known: Sequence[KnownBlock], undone: Mapping[int, KnownUndone]) -> HistoryParts:
    noted = borne_out(known, undone, rows)
    if again := written_again(rows, noted):
        return with_repeats(_parts([row for row in rows if row.id not in again], known, undone), rows, again)
    names = named(rows, noted)
    reading = _Reading({row.id: row.time for row in rows}, noted, names)
    reading.read(names.rows)
    entries = [entry for message in reading.rows_of if (entry := reading.entry(message)) is not None]
    message_of = {row_id: entry.id for entry in entries for row_id in entry.rows}
    first = {row_id: messages[0] for row_id, messages in reading.messages_of.items() if messages}
    message_of |= {row_id: message for row_id, message in first.items() if message in message_of}
    settled = bool(reading.generation) and not names.is_open
    return HistoryParts(entries, reading.boundaries, message_of, settled)


class _Reading:
    """Reads named rows from oldest to newest: the rows of each message, the current generation, the boundaries so far.

    A message is the id of its first row. `moments` are the stored times of the rows.
    """

    def __init__(self, moments: Mapping[int, float], noted: Noted, names: Named) -> None:
        self.moments, self.noted, self.writes, self.anew = moments, noted, names.writes, names.anew
        self.openings, self.carried = names.openings, names.carried
        self.rows = {row.id: row for row in names.rows}
        self.first = {row.uid: row.id for row in reversed(names.rows)}
        self.last = {name: row.id for row in names.rows for name in (row.uid, *row.absorbed)}
        self.last_kept = {row.uid: row.id for row in names.rows if row.state != "out"}
        self.rows_of: dict[int, list[int]] = {}  # message -> its rows, oldest first
        self.messages_of: dict[int, tuple[int, ...]] = {}  # row -> the messages that it carries
        self.by_name: dict[str, int] = {}
        self.requests: dict[str, int] = {}  # the text of a request -> its newest row
        self.generation: list[int] = []
        self.opened_by = 0  # rows of the generation that belong to its block
        self.pending: list[LightRow] = []  # rows since the last block, among them the next block's head copies
        self.boundaries: list[BoundaryIds] = []
        self.block_of: dict[int, int] = {}  # row -> the handoff of its block
        self.unsure = False  # whether a block before the next boundary may have been taken back instead of undone

    def read(self, rows: Sequence[LightRow]) -> None:
        openings = [index for index, row in enumerate(rows) if row.id in self.openings]
        self.pending = [*rows[: min(openings, default=len(rows))]]
        for index, end in pairwise([*openings, len(rows)]):
            following = rows[end] if end < len(rows) else None
            self._compaction(rows[index], rows[index + 1 : end], following)
        self._append(self.pending)

    # -- blocks

    def _compaction(self, handoff: LightRow, after: Sequence[LightRow], following: LightRow | None) -> None:
        """Read a handoff and the rows up to the `following` one that opens a block."""
        left = self._left_of_undone(handoff, after)
        block = left or self._block(handoff, after, following)
        ids = {row.id for row in block}
        self._append([row for row in self.pending if row.id not in ids])
        pairs = self._pairs(handoff, block)
        if not (left or self._was_undone(handoff, block, pairs, newest=following is None)):
            self._add_boundary(handoff, block, pairs)
        self.pending = [row for row in after if row.id not in ids]

    def _left_of_undone(self, handoff: LightRow, after: Sequence[LightRow]) -> list[LightRow]:
        """The rows of a block that is known to have been undone, or the rest of a block whose copies' originals are
        deleted.
        """
        ours, block = self.noted.ours.get(handoff.id), {*self.noted.undone.get(handoff.id, NOT_KNOWN).block}
        rows = [*self.pending, handoff, *after]
        recorded = [row for row in rows if row.id in block]
        if recorded and not any(row.id in self.noted.in_context for row in recorded):
            return recorded
        if handoff.id in self.carried or (ours is None and handoff.id in self.writes):
            return []
        if ours is None:
            return left_of_undone(handoff, self.pending, after, self.first, self.last, self.moments)
        if not ours.undone or handoff.state != "out" or all(each in self.rows for each in ours.copies.values()):
            return []
        return [row for row in rows if row.id in {handoff.id, *ours.copies}]

    def _block(self, handoff: LightRow, after: Sequence[LightRow], following: LightRow | None) -> list[LightRow]:
        """The block of a handoff: by the map of the run that wrote it, by the write that inserted it, or by names."""
        if ours := self.noted.ours.get(handoff.id):  # a row whose original is gone is a separate message
            copies = {copy for copy, source in ours.copies.items() if source in self.rows}
            last = max([handoff.id, *(row.id for row in after if row.id in copies)])
            head = [row for row in self.pending if row.id in copies]
            return [*head, handoff, *(row for row in after if row.id <= last)]
        if write := self.writes.get(handoff.id):
            ids = {*write.ids}
            return [row for row in (*self.pending, handoff, *after) if row.id in ids]
        after = [*takewhile(lambda row: row.id not in self.noted.in_blocks, after)]  # those know where they begin
        last = following is None or following.id in self.noted.ours
        return block_around(
            handoff, self.pending, after, self.first,
            carried=handoff.id in self.carried,
            last=last or bool(following and self.noted.undone.get(following.id, NOT_KNOWN).block),
            taken_back=self.noted.taken_back,
        )  # fmt: skip

    def _was_undone(self, handoff: LightRow, block: Sequence[LightRow], pairs: Iterable[Pair], *, newest: bool) -> bool:
        """Whether a block was undone: it is entirely at (0,0), nobody carried its handoff on, and it was not just taken
        back row by row, which brings nothing from before it into context.
        """
        if any(row.state != "out" or row.id in self.noted.in_context for row in block):
            return False
        if handoff.id in self.noted.ours:
            return self.noted.ours[handoff.id].undone
        if handoff.id in self.noted.undone:
            return True
        if handoff.id in self.carried:
            return False
        generation = [self.rows[row_id] for row_id in self.generation]
        if newest:
            return any(row.state == "live" for row in generation)
        if write := self.writes.get(handoff.id):
            self.unsure = write.unsure
            return write.undone
        # The next compaction carries on, or summarises, what an undo brought back.
        ended = block[-1].id
        kept = [source for copy, source in pairs if copy.id >= handoff.id and not copy.restated]
        gone = [row for row in kept if row.state == "out" and self.last_kept.get(row.uid, 0) <= ended]
        if gone and (len(gone) == len(kept) or min(gone, key=lambda row: row.id).role != "user"):
            return False
        typed = any(row.role == "user" and not row.scaffold and row.handoff != "standalone" for row in generation)
        if typed and had_no_user([row for row in self.rows.values() if row.id > ended]):
            return False
        self.unsure = not any(row.state == "live" or self.last_kept.get(row.uid, 0) > ended for row in kept)
        return True

    # -- boundaries

    def _sources(self) -> dict[int, list[int]]:
        """For each message the rows of the generation that were in context when it ended, apart from take-backs: all of
        its block, and after it the newest one where the agent rewrote its transcript.
        """
        sources: dict[int, list[int]] = {}
        for at, row_id in enumerate(self.generation):
            for message in self.messages_of[row_id]:
                if at < self.opened_by:
                    sources.setdefault(message, []).append(row_id)
                else:
                    sources[message] = [row_id]
        return sources

    def _pairs(self, handoff: LightRow, block: Sequence[LightRow]) -> list[Pair]:
        """The copies in a block, each with the rows that it was made from."""
        if ours := self.noted.ours.get(handoff.id):
            return [(row, self.rows[ours.copies[row.id]]) for row in block if ours.copies.get(row.id) in self.rows]
        sources = self._sources()
        # Without a name of the agent's, a handoff may be another one with the same text.
        others = [] if handoff.id in self.writes else [self.rows[row_id] for row_id in self.generation]
        copied = {row.uid: row for row in others if row.handoff == "standalone" or row.of_compaction}
        pairs: list[Pair] = []
        for row in block:
            for message in self._known_messages(row):
                pairs += [(row, self.rows[each]) for each in sources.get(message) or self.rows_of[message][-1:]]
            if row.uid in copied:
                pairs.append((row, copied[row.uid]))
        return pairs

    def _add_boundary(self, handoff: LightRow, block: Sequence[LightRow], pairs: Sequence[Pair]) -> None:
        if handoff.id not in self.writes and any(source.uid == copy.uid for copy, source in pairs):
            generation = [self.rows[each] for each in self.generation if each not in self.noted.taken_back]
            for row in slipped(generation, block, {source.id for _, source in pairs}):
                self.rows[row.id] = replace(row, state="under")
        before = self._before(handoff, {source.id for _, source in pairs})
        kept = self._messages_in(source.id for _, source in pairs)
        away = [message for message in self._messages_in(before) if message not in kept]
        cut = [source.id for copy, source in pairs if not copy.restated and shorter(copy, source)]
        ours = self.noted.ours.get(handoff.id)
        self.boundaries.append(
            BoundaryIds(
                handoff_id=handoff.id,
                time=self.moments[handoff.id] if handoff.handoff == "standalone" else None,
                block_ids=tuple(row.id for row in block),
                before_ids=tuple(before),
                cut_id=first_kept([each for each in pairs if each[0].id >= handoff.id], self.messages_of, sorted(away)),
                copies=tuple((copy.id, source.id) for copy, source in pairs),
                summarised_ids=tuple(away),
                kept_ids=kept,
                shortened_ids=self._messages_in(cut),
                run=ours.run if ours else None,
                unsure=self.unsure and ours is None,
            )
        )
        self.unsure = False
        self.block_of |= {row.id: handoff.id for row in block}
        self.generation, self.opened_by = [], len(block)
        self._append(block)

    def _before(self, handoff: LightRow, copied: set[int]) -> list[int]:
        """The rows that a compaction found in context, given those that it copied; the recorded ones, where there is a
        record.

        It removes every row from context: a row that is still there was added later, or its copy is not recognised.
        Where the agent had rewritten its transcript without a compaction, only the newest row of a message was in it.
        If a row with a summary and a message was taken back, that is the message: the summary is written again after
        it.
        """
        ours = self.noted.ours.get(handoff.id)
        if ours and ours.before:
            return [row_id for row_id in sorted(ours.before) if row_id in self.rows]
        sources = self._sources()
        context = [self.rows[row_id] for row_id in self.generation]
        anew = {row.handoff_key for row in context if row.handoff == "standalone" and row.state == "under"}
        return [
            row.id
            for row in context
            if (row.state == "under" or (row.id in copied and row.handoff_key not in anew))
            and (not self.messages_of[row.id] or row.id in sources[self.messages_of[row.id][0]])
        ]

    # -- messages

    def _append(self, rows: Iterable[LightRow]) -> None:
        """Add rows to the current generation: to the messages that they say they carry, or as new messages."""
        for row in rows:
            if row.id in self.anew:
                self.generation, self.opened_by = [], 0
            self.generation.append(row.id)
            self.messages_of[row.id] = messages = self._messages_of(row)
            for message in messages:
                self.rows_of.setdefault(message, []).append(row.id)
            if messages and not (row.restated or row.of_compaction):
                self.by_name[row.uid] = messages[0]
            if messages and row.role == "user" and row.text and not row.scaffold:
                self.requests[row.text] = row.id

    def _messages_in(self, row_ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(message for each in row_ids for message in self.messages_of.get(each, ())))

    def _known_messages(self, row: LightRow) -> tuple[int, ...]:
        """The messages so far that a row carries: by names, or as a repeated request."""
        named = [self.by_name[name] for name in (row.uid, *row.absorbed) if name in self.by_name]
        if not named and row.restated and row.text in self.requests:
            return self.messages_of[self.requests[row.text]]
        return tuple(dict.fromkeys(named))

    def _messages_of(self, row: LightRow) -> tuple[int, ...]:
        """The messages that a row carries, itself among them where its own is new."""
        messages = self._known_messages(row)
        if messages and (row.uid in self.by_name or row.handoff or row.restated or row.of_compaction):
            return messages
        if row.of_compaction and row.absorbed:  # the only row left of what was merged into it
            self.by_name |= dict.fromkeys(row.absorbed, row.id)
            return (row.id,)
        if row.of_compaction or (row.handoff == "standalone" and not row.restated):
            return ()
        return (row.id, *messages)

    def entry(self, message: int) -> HistoryEntry | None:
        """The message as it is shown; None where it was taken back."""
        rows = [self.rows[row_id] for row_id in self.rows_of[message]]
        last = self.block_of.get(rows[-1].id)
        latest = [row for row in rows if last and self.block_of.get(row.id) == last] or rows[-1:]  # perhaps twice
        newest = max(latest, key=lambda row: (row.state != "out", row.id))
        newest = next((row for row in reversed(rows) if row.state == "live"), newest)
        if newest.state == "out":
            return None
        own = [row for row in rows if not (len(self.messages_of[row.id]) > 1 or row.restated or row.of_compaction)]
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


def shorter(row: LightRow, full: LightRow) -> bool:
    """Whether `row` has less content than `full`: smaller, with another text or calls, or cut after an equal start."""
    return row.size < full.size and (row.text != full.text or row.calls != full.calls or row.size < 0.9 * full.size)


def _fuller(row: LightRow, later: LightRow) -> LightRow:
    """The row with more of their message's content. Copies lose text, but the note about the loss may be longer than
    it.
    """
    goes_on = later.role == "tool" or later.text.startswith(row.text)
    if without_image(later) is not later and words(row) == words(later):
        return row
    return later if goes_on and row.size < 0.9 * later.size else row
