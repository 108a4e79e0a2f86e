"""Names for rows without names (schemas 19 to 22): which messages each row carries, from the times of their writes.

The agent inserts a rewritten context in one loop (`_insert_message_rows` in hermes_state.py, 0.18 to 0.22): a message
that has a time keeps it, one without gets the moment of the write, each row a microsecond after the one before. New
messages are appended alone, and further apart. So it is certain which rows were written together, and a kept time is as
good as a name. Rows without a time in the agent's memory are summaries, or messages since it last read the session:
`placing`. No model is sent two messages of the user, or two of the agent, in a row: they are merged into one row
(`repair_message_sequence`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import NamedTuple

from viewer.stores.hermes.known import KnownBlock, Noted
from viewer.stores.hermes.records import STEP, LightRow, words

from .alignment import may_be_head, related, typed_in, with_telling_times
from .contexts import Contexts, Write
from .openings import one_a_write, openers
from .placing import Past, runs

_IN_A_ROW = 4  # rows with names like the agent's that follow each other: by chance that is one in 64 for each
_LONGEST = 1e-3  # seconds between the first and the last row of one write: a microsecond each
_AT_ONCE = 8e-6  # seconds in which nothing can be appended twice: rows in between were left out, or merged


def own_name(row: LightRow) -> str:
    """The name of a row without a name from the agent that repeats no earlier row."""
    return f"~{row.id}"


class Named(NamedTuple):
    """Rows with the names of their messages. A time that identifies nothing is 0 in them.

    `openings` are the handoffs that open a block, `carried` those that a later block carried along, by id. `writes` has
    the blocks whose rows are known from their times, by handoff, and `anew` the first rows of writes without a summary:
    earlier rows left the context. `is_open` says that further rows may belong to the last write.
    """

    rows: list[LightRow]
    openings: frozenset[int]
    carried: frozenset[int]
    writes: Mapping[int, Write]
    anew: Collection[int]
    is_open: bool


def named(rows: Sequence[LightRow], noted: Noted) -> Named:
    """The rows with names. For `noted` blocks it is known where they end.

    Names from the agent are reliable. A file that grew into schema 31 has other names, of which one in 64 looks like
    the agent's: where fewer than four rows in a row have one, it proves nothing, and such names only show which rows
    share one.
    """
    moments = {row.id: row.time for row in rows}
    stamps = {row.id: (row.handoff_key, row.time) for row in rows if row.handoff}
    certain = {*noted.ours, *noted.undone}
    indices, carried_stamps = openers(rows, certain)
    openings = {rows[index].id for index in indices}
    carried = frozenset(row_id for row_id, stamp in stamps.items() if stamp in carried_stamps)
    rows, write_of, anew, cut, is_open = _named(with_telling_times(rows), moments, noted, openings)
    openings = one_a_write([row for row in rows if row.id in openings], write_of, stamps, certain)
    writes = Contexts(rows, moments, noted, write_of, anew, cut, carried).writes(openings) if write_of else {}
    return Named(rows, frozenset(openings), carried, writes, anew, is_open)


class _Read(NamedTuple):
    """Rows with the names of their messages; `write_of` has the first row of the write that inserted a row together
    with others, or rewrote it; it does not contain appended rows. `cut` are the first rows of writes next to a row that
    has the name of an earlier one, which belongs to them or to another write.
    """

    rows: list[LightRow]
    write_of: dict[int, int]
    anew: set[int]
    cut: set[int]
    is_open: bool = False


def _named(rows: Sequence[LightRow], moments: Mapping[int, float], noted: Noted, opening: Collection[int]) -> _Read:
    given = [row.named for row in rows]
    runs_of_names = [(is_given, len([*run])) for is_given, run in groupby(given)]
    sure = [each for is_given, n in runs_of_names for each in [is_given and n >= min(_IN_A_ROW, len(given))] * n]
    if all(sure):
        return _Read(list(rows), {}, set(), set())
    rows = [replace(row, named=False) if row.named and not sure[at] else row for at, row in enumerate(rows)]
    return _Naming(rows, moments, noted, opening, sure).read()


@dataclass(slots=True)
class _Write:
    """Rows written together. `anchor` is the newest one that got the moment of the write, as an index into `rows`."""

    rows: list[LightRow] = field(default_factory=list)
    ids: set[int] = field(default_factory=set)
    row_messages: dict[int, list[int]] = field(
        default_factory=dict
    )  # by index: the messages of rows with kept times, as positions
    last: int = -1  # the newest of these messages so far
    lost: set[int] = field(default_factory=set)  # indices of rows that have lost their times
    anchor: int | None = None
    known: KnownBlock | None = None
    handoff: bool = False  # whether a summary was written with it
    merged: bool = False  # whether a merged summary that opens a block may have been, with the time of a message
    stamped: bool = False  # whether it contains a message that has lost its time


def _stamped(rows: Sequence[LightRow], moments: Mapping[int, float]) -> set[int]:
    """The rows that have the moment of a write, whether or not that write inserted them: another row has the next
    moment, or the moment that matches its distance in rows.
    """
    at = {moments[row.id]: position for position, row in reversed([*enumerate(rows)])}
    at_once = {
        each
        for pair in pairwise(sorted(at))
        if pair[1] - pair[0] < max(_AT_ONCE, STEP * abs(at[pair[1]] - at[pair[0]]))
        for each in pair
    }
    return {row_id for row_id, moment in moments.items() if moment in at_once}


def _written_instead(rows: Sequence[LightRow]) -> set[int]:
    """The first rows after superseded ones: what identifies those inserts for others, if only one. A row that was
    superseded later is recognised by its copy: a context that begins with it had nothing before.
    """
    ids = {row.id for before, row in pairwise(rows) if before.state == "under" and row.state == "live"}
    copies: dict[tuple[float, tuple[str, ...]], int] = {}  # the oldest row with this time and these words
    for before, row, after in reversed([*zip(rows, rows[1:], rows[2:], strict=False)]):
        copies[after.time, words(after)] = after.id
        if before.state == row.state == "under" and words(before) == words(row):
            copy = copies.get((row.time, words(row)), after.id if words(after) == words(row) else -1)
            if copy in ids or (copy == after.id and row.time == after.time):
                ids.add(row.id)
    return ids


class _Naming:
    def __init__(
        self,
        rows: Sequence[LightRow],
        moments: Mapping[int, float],
        noted: Noted,
        opening: Collection[int],
        sure: Sequence[bool],
    ) -> None:
        self.rows, self.moments, self.opening, self.sure = rows, moments, opening, sure
        self.noted = noted
        self.stamped = _stamped(rows, moments)
        self.instead = _written_instead(rows)
        self.newest_with = {row.handoff_key: row.id for row in rows if row.handoff}
        self.deleted = sorted(noted.deleted, key=lambda block: -block.handoff_id)
        self.of_block = {row_id: block for block in noted.ours.values() for row_id in (block.handoff_id, *block.copies)}
        self.handoff_of = {row_id: handoff_id for handoff_id, each in noted.undone.items() for row_id in each.block}
        self.handoff_of |= {row_id: block.handoff_id for row_id, block in self.of_block.items()}
        self.past = Past()
        self.of: dict[int, list[int]] = {}  # row id -> positions in `messages`
        self.at: dict[tuple[str, float], list[LightRow]] = defaultdict(list)
        self.by_name: dict[str, list[int]] = {}  # the stored name of a row -> its messages, as positions
        self.name: dict[int, str] = {}  # row id -> name of a row that is not a message
        self.handoffs: dict[str, str] = {}  # text of a summary -> name of the newest row with it
        self.write: _Write | None = None
        self.newest = 0.0  # the newest time so far
        self.write_of: dict[int, int] = {}
        self.anew: set[int] = set()
        self.cut: set[int] = set()
        self.behind_copy = False  # whether the row before has the name of an earlier one
        self.found: list[LightRow] = []

    def read(self) -> _Read:
        for index, row in enumerate(self.rows):
            self._take(index, row)
            self.newest = max(self.newest, self.moments[row.id])
        is_open = self.write is not None and self.write.anchor is None and self.write.known is None
        self._close()
        return _Read(self.found, self.write_of, self.anew, self.cut, is_open)

    # -- which rows were written together

    def _take(self, index: int, row: LightRow) -> None:
        while self.deleted and self.deleted[-1].handoff_id < row.id:
            self._close()
            sources = self.deleted.pop().copies.values()
            self.past.stands(position for source in sources for position in self.of.get(source, ()))
        behind_copy = self.behind_copy
        self.behind_copy = any(name in self.by_name for name in (row.uid, *row.absorbed))
        if self.sure[index] or self.behind_copy:
            if self.write and self.behind_copy:
                self.cut.add(self.write.rows[0].id)
            self._close()
            self._take_named(row)
            return
        earlier = self._earlier(row)
        if self.write and not self._belongs(index, row, earlier):
            self._close()
            earlier = self._earlier(row)
        if self.write or self._begins(row, earlier):
            if behind_copy:
                self.cut.add(row.id)
            self.write = self.write or _Write(known=self.of_block.get(row.id))
            self._add(row, earlier)
        else:
            self._settle(row, [])

    def _belongs(self, index: int, row: LightRow, earlier: LightRow | None) -> bool:
        """Whether a row was inserted with the write before it."""
        write = self.write
        assert write
        known = {self.handoff_of.get(each.id) for each in (row, write.rows[0])}
        if known != {None}:
            return len(known) == 1
        if self._fits(row):
            return True
        if earlier is not None:
            return self._continues(index, row, earlier)
        if not row.time and not row.handoff:
            return self.past.follows(row, write.last) is not None
        if row.handoff and self._is_later(row):
            has_handoff = write.handoff or (write.merged and write.anchor is not None)
            return not has_handoff and self._is_head_of(index, row)
        if write.anchor is not None:
            if self._is_soon(row):
                return True
            anchor_row = write.rows[write.anchor]
            taken_back = row.state == "out" == anchor_row.state and not self._is_carried(row)
            return taken_back and 0 < row.time < self.moments[anchor_row.id]
        if row.time < self.newest:
            return True
        if row.of_compaction or row.id in self.stamped or self._says_next(row, write.last):
            return True
        return self._may_stay(row) and self.past.ended_with(row, write.last)

    def _is_head_of(self, index: int, handoff: LightRow) -> bool:
        """Whether the rows of the open write may be the head of a handoff: rows after it were not in there."""
        write = self.write
        assert write
        if not all(may_be_head(row, handoff) for row in write.rows):
            return False
        earlier = self._earlier(self.rows[index + 1]) if index + 1 < len(self.rows) else None
        if earlier is None:
            return True
        return earlier.id not in write.ids and min(self.of.get(earlier.id, ()), default=write.last + 1) > write.last

    def _fits(self, row: LightRow, ahead: int = 1) -> bool:
        """Whether the row got the moment of the open write, as its next row or the one `ahead` rows later."""
        write = self.write
        if not write or write.anchor is None:
            return False
        distance = len(write.rows) - write.anchor + ahead - 1
        return 0 < (self.moments[row.id] - self.moments[write.rows[write.anchor].id]) / distance < STEP

    def _is_stamped(self, row: LightRow) -> bool:
        """Whether a row whose time no older row has got the moment of the open write."""
        assert self.write
        if row.handoff and self._is_later(row):
            return True
        return self._fits(row) or (self.write.anchor is None and row.time >= self.newest)

    def _is_later(self, row: LightRow) -> bool:
        """Whether nothing has the moment of the open write yet, or the row that has it got it from an earlier write."""
        write = self.write
        assert write
        return write.anchor is None or self.moments[write.rows[write.anchor].id] < self.moments[row.id]

    def _is_soon(self, row: LightRow) -> bool:
        """Whether the row continues the open write and has a moment of the same earlier write, with some rows left out
        in between.
        """
        write = self.write
        if not write or write.anchor is None:
            return False
        since = self.moments[row.id] - self.moments[write.rows[write.anchor].id]
        return 0 < since < _AT_ONCE or (0 < since < _LONGEST and self._says_next(row, write.last))

    def _continues(self, index: int, row: LightRow, earlier: LightRow) -> bool:
        """Whether a row that kept its time continues the open write: rows are in order, except for a request that was
        moved where the agent needed one. Another write begins with the beginning of the context.
        """
        write = self.write
        assert write
        if earlier.id in write.ids or not self._may_stay(row):
            return False
        if write.stamped:  # in an agent's memory, rows read from the store come before new ones
            return row.role == "user" and self._fits(self.rows[index + 1], 2) if index + 1 < len(self.rows) else False
        positions = self.of.get(earlier.id, [])
        if not positions or positions[0] > write.last:
            return True
        if len(write.rows) - 1 not in write.lost and row.time > write.rows[-1].time > 0:
            return True  # the older of two may only be known from rows of later blocks
        newest = len(write.rows) - 1
        said_before = [position for at, each in write.row_messages.items() if at != newest for position in each]
        if write.rows[-1].role == "user" and positions[0] > max(said_before, default=-1):
            return positions[0] not in write.row_messages.get(newest, ())
        return row.role == "user" and positions[0] not in said_before and positions[0] != min(said_before, default=-1)

    def _may_stay(self, row: LightRow) -> bool:
        """Whether its state allows a row to be in the open write: rows are taken back from the end."""
        write = self.write
        assert write
        handoff = next((each for each in write.rows if each.handoff), None)
        if handoff is not None and handoff.state == "out" != row.state:
            return self._is_carried(row)
        return row.state != "live" or write.rows[-1].state == "live"

    def _is_carried(self, row: LightRow) -> bool:
        """Whether a later write carried the summary of the open one along, which then is out of context, but was not
        taken back.
        """
        assert self.write
        keys = (each.handoff_key for each in self.write.rows if each.handoff)
        return self.newest_with.get(next(keys, ""), 0) > row.id

    def _says_next(self, row: LightRow, last: int) -> bool:
        return last >= 0 and self.past.follows(row, last) is not None

    def _begins(self, row: LightRow, earlier: LightRow | None) -> bool:
        return (
            row.id in self.handoff_of
            or bool(row.handoff)
            or row.of_compaction
            or earlier is not None
            or row.id in self.stamped
            or row.id in self.instead
        )

    def _earlier(self, row: LightRow) -> LightRow | None:
        """The newest earlier row with the time of this one that may carry the same message. Rows that were in context
        together carry two.
        """
        if not row.time:
            return None
        rows = reversed(self.at.get((row.role, row.time), ()))
        return next((each for each in rows if related(row, each) and not self.noted.were_together(row, each)), None)

    def _add(self, row: LightRow, earlier: LightRow | None) -> None:
        write = self.write
        assert write
        position = len(write.rows)
        block = self.of_block.get(row.id)
        source = block.copies.get(row.id) if block else None
        if source in self.of:
            write.row_messages[position] = self.of[source]
        elif earlier is not None:
            positions = self.of.get(earlier.id, [])
            write.row_messages[position] = self.past.merged(row, positions[0], ()) if positions else []
            write.merged = write.merged or row.id in self.opening
            if not positions and row.handoff == "merged":
                write.lost.add(position)  # it kept the time of a summary that it was merged with
        elif self._is_stamped(row):
            write.anchor = position
            write.stamped = write.stamped or not (row.handoff or row.scaffold or (row.role == "user" and not position))
            write.handoff = write.handoff or bool(row.handoff)
            write.lost.add(position)
        elif not row.time or self._is_soon(row):
            write.lost.add(position)
            following = self.past.follows(row, write.last)
            write.last = write.last if following is None else following
        positions = write.row_messages.get(position, [])
        if positions and positions[0] < write.last and write.rows[-1].role == "user" != row.role:
            write.last = -1  # the request before it was moved there
        write.last = max([write.last, *positions])
        write.rows.append(row)
        write.ids.add(row.id)
        self.at[row.role, row.time].append(row)

    def _close(self) -> None:
        """Find the messages of all rows of the open write, now that it is complete."""
        write, self.write = self.write, None
        if write is None:
            return
        row_messages = {position: positions for position, positions in write.row_messages.items() if positions}
        claimed = {positions[0] for positions in row_messages.values()}
        for at, positions in row_messages.items() if write.known is None else ():
            row_messages[at] = self.past.merged(write.rows[at], positions[0], claimed)
        sure = 0 in write.row_messages or write.rows[0].of_compaction
        typed = {at: row for at, row in enumerate(map(typed_in, write.rows)) if row is not None}
        rows = [typed.get(at, row) for at, row in enumerate(write.rows)]
        lost = {*write.lost, *typed, *(at for at, row in enumerate(rows) if row.id in self.stamped)}
        is_placed = [at not in lost or at in row_messages for at in range(len(rows))]
        for run in runs(is_placed, rows):
            row_messages |= self.past.placed(rows, run, row_messages)
        row_messages = self.past.with_results(rows, row_messages, write.row_messages)
        if write.handoff:
            row_messages |= self.past.pulled(rows, row_messages)
        if (sure or 0 in row_messages) and not any(row.id in self.opening for row in write.rows):
            self.anew.add(write.rows[0].id)
        # If some of its rows are in context, those that are out were taken back.
        stays = write.known is None and any(row.state != "out" for row in write.rows)
        for at, row in enumerate(write.rows):
            self.write_of[row.id] = write.rows[0].id
            self._settle(row, row_messages.get(at, []), back=stays and row.state == "out")

    # -- names

    def _take_named(self, row: LightRow) -> None:
        """Read a row that has a name from the agent, or the name of an earlier row."""
        known = [position for name in (row.uid, *row.absorbed) for position in self.by_name.get(name, ())]
        if row.handoff != "standalone" and not row.of_compaction:
            is_copy = row.uid in self.by_name or (row.restated and known)
            self._carry(row, [*dict.fromkeys(known)] if is_copy else [len(self.past.messages)])
        names = [name for each in (row.uid, *row.absorbed) for name in self._names_of(each)]
        self.found.append(replace(row, uid=names[0], absorbed=tuple(names[1:])))

    def _names_of(self, name: str) -> list[str]:
        """The names of the messages of the row that has this name, or the name itself."""
        return [self.past.messages[position].name for position in self.by_name.get(name, ())] or [name]

    def _settle(self, row: LightRow, positions: list[int], *, back: bool = False) -> None:
        """Give a row the names of its messages, and a new name to a new message."""
        typed = typed_in(row)
        if row.handoff == "standalone" or (row.of_compaction and typed is None):
            self.found.append(replace(row, uid=self._name(row), absorbed=()))
            return
        positions = positions or [len(self.past.messages)]
        self._carry(typed or row, positions, back=back)
        names = [self.past.messages[position].name for position in positions]
        if typed is not None:
            self.found.append(replace(row, uid=self._name(row), absorbed=tuple(names)))
            return
        self.found.append(replace(row, uid=names[0], absorbed=tuple(names[1:])))

    def _name(self, row: LightRow) -> str:
        """The name of a row that is not a message: that of the row it is a copy of, or its own."""
        earlier = next((each for each in self.at.get((row.role, row.time), ()) if each.id in self.name), None)
        name = self.name[earlier.id] if earlier else row.uid or own_name(row)
        if row.handoff and row.id not in self.opening:
            name = self.handoffs.get(row.handoff_key, name)
        self.name[row.id] = name
        if row.handoff:
            self.handoffs[row.handoff_key] = name
        return name

    def _carry(self, row: LightRow, positions: list[int], *, back: bool = False) -> None:
        name = row.uid or own_name(row)
        if row.uid:
            self.by_name.setdefault(row.uid, positions)
        self.past.carry(row, name, positions, back=back)
        self.of[row.id] = positions
        if row.id not in self.write_of:
            self.at[row.role, row.time].append(row)
