"""Names for rows without names (schemas 19 to 22): which messages each row carries, by the times of their writes.

The agent inserts what it wrote anew in one loop (`_insert_message_rows` in hermes_state.py, 0.18 to 0.22): a message
that has a time keeps it, one without gets the moment of the write, each row a microsecond after the one before. What is
said is appended alone, and later by more. So it is certain which rows were written together, and a time that was kept
is as good as a name. What has no time in an agent's memory is a summary, or was said by itself since it last read the
session: `placing`. No model is sent two messages of the user, or two of the agent, in a row: they stand in one row then
(`repair_message_sequence`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from viewer.stores.hermes.light_row import LightRow

from .alignment import STEP, may_be_head, related, typed_in, words
from .known import KnownBlock, Noted
from .placing import Past, runs

_BESIDE = 3  # rows on each side of a name that have to be named, too: by chance that is one time in 64 for each
_LONGEST = 1e-3  # seconds between the first and the last row of one write: a microsecond each
_AT_ONCE = 8e-6  # seconds in which nothing can be appended twice: rows between were left out, or merged


def own_name(row: LightRow) -> str:
    """The name of a row that has none of the agent's and says nothing that stands before it."""
    return f"~{row.id}"


class Named(NamedTuple):
    """Rows with the names of the messages that they say; `write_of` has the first row of the write that inserted a row
    together with others, or anew; rows that were appended are not in there.

    `anew` are the first rows of writes without a summary: what stands before them went out of context. `is_open` says
    that further rows may belong to the last write.
    """

    rows: list[LightRow]
    write_of: dict[int, int]
    anew: set[int]
    is_open: bool = False


def named(rows: Sequence[LightRow], moments: Mapping[int, float], noted: Noted, opening: Collection[int]) -> Named:
    """The rows with names. `moments` are their times as stored; in the rows a time that tells nothing is 0. Of `noted`
    blocks it is known where they end. `opening` are the handoffs that were not carried along.

    Names that the agent gave hold. A file that grew into schema 31 has others, of which one in 64 looks given: where
    one of the rows beside it was not, it proves nothing, and rows of one name are all that such names tell.
    """
    given = [row.named for row in rows]
    sure = [all(given[max(0, at - _BESIDE) : at + _BESIDE + 1]) for at in range(len(given))]
    if all(sure):
        return Named(list(rows), {}, set())
    rows = [replace(row, named=False) if row.named and not sure[at] else row for at, row in enumerate(rows)]
    return _Naming(rows, moments, noted, opening, sure).read()


@dataclass(slots=True)
class _Write:
    """Rows written together. `anchor` is the newest one that got the moment of the write, by its place in here."""

    rows: list[LightRow] = field(default_factory=list)
    ids: set[int] = field(default_factory=set)
    said: dict[int, list[int]] = field(default_factory=dict)  # by place in here: what rows with kept times say
    last: int = -1  # the newest message that is said so far
    lost: set[int] = field(default_factory=set)  # places of rows that have lost their times
    anchor: int | None = None
    known: KnownBlock | None = None
    handoff: bool = False  # whether a summary was written with it
    merged: bool = False  # whether one that opens a block may have been, with the time of a message
    stamped: bool = False  # whether something was said in it that has lost its time


def _stamped(rows: Sequence[LightRow], moments: Mapping[int, float]) -> set[int]:
    """The rows that have the moment of a write, whether or not they were inserted by it: another row has one next to
    it, or the one that is due as many rows behind.
    """
    at = {moments[row.id]: place for place, row in reversed([*enumerate(rows)])}
    at_once = {
        each
        for pair in pairwise(sorted(at))
        if pair[1] - pair[0] < max(_AT_ONCE, STEP * abs(at[pair[1]] - at[pair[0]]))
        for each in pair
    }
    return {row_id for row_id, moment in moments.items() if moment in at_once}


def _written_instead(rows: Sequence[LightRow]) -> set[int]:
    """The first rows behind superseded ones: what marks those inserts others, if only one. One that was superseded
    later is known by its copy: a context that begins with it had nothing before.
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
        self.of: dict[int, list[int]] = {}  # row id -> places in `messages`
        self.at: dict[tuple[str, float], list[LightRow]] = defaultdict(list)
        self.by_name: dict[str, int] = {}  # the agent's name for a message -> place
        self.name: dict[int, str] = {}  # row id -> name of what is no message
        self.handoffs: dict[str, str] = {}  # text of a summary -> name of the newest row with it
        self.write: _Write | None = None
        self.newest = 0.0  # time of all rows so far
        self.write_of: dict[int, int] = {}
        self.anew: set[int] = set()
        self.found: list[LightRow] = []

    def read(self) -> Named:
        for index, row in enumerate(self.rows):
            self._take(index, row)
            self.newest = max(self.newest, self.moments[row.id])
        is_open = self.write is not None and self.write.anchor is None and self.write.known is None
        self._close()
        return Named(self.found, self.write_of, self.anew, is_open)

    # -- which rows were written together

    def _take(self, index: int, row: LightRow) -> None:
        while self.deleted and self.deleted[-1].handoff_id < row.id:
            self._close()
            copied = self.deleted.pop().copies.values()
            self.past.stands(place for source in copied for place in self.of.get(source, ()))
        if self.sure[index] or row.uid in self.by_name:
            self._close()
            self._said(row)
            return
        earlier = self._earlier(row)
        if self.write and not self._belongs(index, row, earlier):
            self._close()
            earlier = self._earlier(row)
        if self.write or self._begins(row, earlier):
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
            return self._goes_on(index, row, earlier)
        if not row.time and not row.handoff:
            return self.past.follows(row, write.last) is not None
        if row.handoff and self._is_later(row):
            told = write.handoff or (write.merged and write.anchor is not None)
            return not told and self._is_head_of(index, row)
        if write.anchor is not None:
            if self._is_soon(row):
                return True
            written = write.rows[write.anchor]
            taken_back = row.state == "out" == written.state and not self._is_carried(row)
            return taken_back and 0 < row.time < self.moments[written.id]
        if row.time < self.newest:
            return True
        if row.of_compaction or row.id in self.stamped or self._says_next(row, write.last):
            return True
        return self._may_stay(row) and self.past.ended_with(row, write.last)

    def _is_head_of(self, index: int, handoff: LightRow) -> bool:
        """Whether the rows of the open write may be the head of a handoff: what stands behind it was not in there."""
        write = self.write
        assert write
        if not all(may_be_head(row, handoff) for row in write.rows):
            return False
        earlier = self._earlier(self.rows[index + 1]) if index + 1 < len(self.rows) else None
        if earlier is None:
            return True
        return earlier.id not in write.ids and min(self.of.get(earlier.id, ()), default=write.last + 1) > write.last

    def _fits(self, row: LightRow, ahead: int = 1) -> bool:
        """Whether the row got the moment of the open write, as the next one in it or so many ahead."""
        write = self.write
        if not write or write.anchor is None:
            return False
        distance = len(write.rows) - write.anchor + ahead - 1
        return 0 < (self.moments[row.id] - self.moments[write.rows[write.anchor].id]) / distance < STEP

    def _is_stamped(self, row: LightRow) -> bool:
        """Whether a row that no older row has the time of got the moment of the open write."""
        assert self.write
        if row.handoff and self._is_later(row):
            return True
        return self._fits(row) or (self.write.anchor is None and row.time >= self.newest)

    def _is_later(self, row: LightRow) -> bool:
        """Whether nothing has the moment of the open write yet, or what has it was stamped by an earlier one."""
        write = self.write
        assert write
        return write.anchor is None or self.moments[write.rows[write.anchor].id] < self.moments[row.id]

    def _is_soon(self, row: LightRow) -> bool:
        """Whether the row goes on with the open write and has a moment of the same earlier write, of which rows between
        were left out.
        """
        write = self.write
        if not write or write.anchor is None:
            return False
        since = self.moments[row.id] - self.moments[write.rows[write.anchor].id]
        return 0 < since < _AT_ONCE or (0 < since < _LONGEST and self._says_next(row, write.last))

    def _goes_on(self, index: int, row: LightRow, earlier: LightRow) -> bool:
        """Whether a row that kept its time goes on with the open write: rows stand in order, but for a request that was
        put where the agent needed one. Another write begins with what the context begins with.
        """
        write = self.write
        assert write
        if earlier.id in write.ids or not self._may_stay(row):
            return False
        if write.stamped:  # in an agent's memory, what was read from the store stands before what was said since
            return row.role == "user" and self._fits(self.rows[index + 1], 2) if index + 1 < len(self.rows) else False
        places = self.of.get(earlier.id, [])
        if not places or places[0] > write.last:
            return True
        if len(write.rows) - 1 not in write.lost and row.time > write.rows[-1].time > 0:
            return True  # the older of two may be known by rows of later blocks alone
        newest = len(write.rows) - 1
        said_before = [place for at, each in write.said.items() if at != newest for place in each]
        if write.rows[-1].role == "user" and places[0] > max(said_before, default=-1):
            return places[0] not in write.said.get(newest, ())
        return row.role == "user" and places[0] not in said_before and places[0] != min(said_before, default=-1)

    def _may_stay(self, row: LightRow) -> bool:
        """Whether its state lets a row be of the open write: take-backs go from the end."""
        write = self.write
        assert write
        handoff = next((each for each in write.rows if each.handoff), None)
        if handoff is not None and handoff.state == "out" != row.state:
            return self._is_carried(row)
        return row.state != "live" or write.rows[-1].state == "live"

    def _is_carried(self, row: LightRow) -> bool:
        """Whether a write behind this row carried the summary of the open one along, which is out of context then, but
        was not taken back.
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
        """The newest row before that has the time of this one, and may say the same. What was in context together is
        two.
        """
        if not row.time:
            return None
        rows = reversed(self.at.get((row.role, row.time), ()))
        return next((each for each in rows if related(row, each) and not self.noted.were_together(row, each)), None)

    def _add(self, row: LightRow, earlier: LightRow | None) -> None:
        write = self.write
        assert write
        place = len(write.rows)
        block = self.of_block.get(row.id)
        source = block.copies.get(row.id) if block else None
        if source in self.of:
            write.said[place] = self.of[source]
        elif earlier is not None:
            places = self.of.get(earlier.id, [])
            write.said[place] = self.past.merged(row, places[0], ()) if places else []
            write.merged = write.merged or row.id in self.opening
            if not places and row.handoff == "merged":
                write.lost.add(place)  # it kept the time of a summary that it was merged with
        elif self._is_stamped(row):
            write.anchor = place
            write.stamped = write.stamped or not (row.handoff or row.scaffold or (row.role == "user" and not place))
            write.handoff = write.handoff or bool(row.handoff)
            write.lost.add(place)
        elif not row.time or self._is_soon(row):
            write.lost.add(place)
            following = self.past.follows(row, write.last)
            write.last = write.last if following is None else following
        places = write.said.get(place, [])
        if places and places[0] < write.last and write.rows[-1].role == "user" != row.role:
            write.last = -1  # the request before it was put there
        write.last = max([write.last, *places])
        write.rows.append(row)
        write.ids.add(row.id)
        self.at[row.role, row.time].append(row)

    def _close(self) -> None:
        """Tell what the rows of the open write say, now that all of them are there."""
        write, self.write = self.write, None
        if write is None:
            return
        said = {place: places for place, places in write.said.items() if places}
        taken = {places[0] for places in said.values()}
        for at, places in said.items() if write.known is None else ():
            said[at] = self.past.merged(write.rows[at], places[0], taken)
        sure = 0 in write.said or write.rows[0].of_compaction
        typed = {at: row for at, row in enumerate(map(typed_in, write.rows)) if row is not None}
        rows = [typed.get(at, row) for at, row in enumerate(write.rows)]
        lost = {*write.lost, *typed, *(at for at, row in enumerate(rows) if row.id in self.stamped)}
        told = [at not in lost or at in said for at in range(len(rows))]
        for run in runs(told, rows):
            said |= self.past.placed(rows, run, said)
        said = self.past.with_results(rows, said, write.said)
        if write.handoff:
            said |= self.past.pulled(rows, said)
        if (sure or 0 in said) and not any(row.id in self.opening for row in write.rows):
            self.anew.add(write.rows[0].id)
        stays = write.known is None and any(
            row.state != "out" for row in write.rows
        )  # what is out of it was taken back
        for at, row in enumerate(write.rows):
            self.write_of[row.id] = write.rows[0].id
            self._settle(row, said.get(at, []), back=stays and row.state == "out")

    # -- names

    def _said(self, row: LightRow) -> None:
        """Take in a row that has a name of the agent's."""
        if row.handoff != "standalone" and not row.of_compaction:
            place = self.by_name.setdefault(row.uid, len(self.past.messages))
            self._carry(row, [place])
        self.found.append(row)

    def _settle(self, row: LightRow, places: list[int], *, back: bool = False) -> None:
        """Give a row the names of what it says, a name of its own where that is new."""
        typed = typed_in(row)
        if row.handoff == "standalone" or (row.of_compaction and typed is None):
            self.found.append(replace(row, uid=self._name(row), absorbed=()))
            return
        places = places or [len(self.past.messages)]
        self._carry(typed or row, places, back=back)
        names = [self.past.messages[place].name for place in places]
        if typed is not None:
            self.found.append(replace(row, uid=self._name(row), absorbed=tuple(names)))
            return
        self.found.append(replace(row, uid=names[0], absorbed=tuple(names[1:])))

    def _name(self, row: LightRow) -> str:
        """The name of a row that is no message: of the row that it is a copy of, or its own."""
        earlier = next((each for each in self.at.get((row.role, row.time), ()) if each.id in self.name), None)
        name = self.name[earlier.id] if earlier else row.uid or own_name(row)
        if row.handoff and row.id not in self.opening:
            name = self.handoffs.get(row.handoff_key, name)
        self.name[row.id] = name
        if row.handoff:
            self.handoffs[row.handoff_key] = name
        return name

    def _carry(self, row: LightRow, places: list[int], *, back: bool = False) -> None:
        name = row.uid or own_name(row)
        if row.uid and places[0] == len(self.past.messages):
            self.by_name[name] = places[0]
        self.past.carry(row, name, places, back=back)
        self.of[row.id] = places
        if row.id not in self.write_of:
            self.at[row.role, row.time].append(row)
