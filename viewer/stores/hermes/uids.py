"""What rows say themselves of the messages they carry (schema 31): names.

The agent gives each message a name (`message_uid`) when it is first written, and every copy keeps it. A row that
several messages were merged into has the first one's name and lists the others (`absorbed_message_uids`). Equal names
are one message, whatever else differs. Different names are different messages where the agent gave them itself; one
that the database made up, for a row written without (by an older build, or before the column was there), only says that
nobody knows. The two can be told apart: the agent's names are version 4 UUIDs, the database's any 128 random bits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, dropwhile, takewhile
from typing import Any

from viewer.stores.hermes.light_row import LightRow

_UUID4 = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")  # uuid4().hex


def is_given(uid: str) -> bool:
    """Whether the agent gave this name itself; one in 64 of the database's looks so by chance (`naming`)."""
    return _UUID4.fullmatch(uid) is not None


def absorbed(stored: Any) -> tuple[str, ...]:
    """The names in a stored `absorbed_message_uids`."""
    try:
        names = json.loads(stored) if stored else None
    except (ValueError, TypeError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def head_of(
    pending: Sequence[LightRow],
    known: Mapping[str, int],
    tail: Iterable[LightRow],
    handoff: LightRow,
    taken_back: Collection[int] = (),
) -> list[LightRow]:
    """The rows at the end of `pending` that belong to the block of the handoff behind them: copies, by their names, in
    the order of their messages, and none that the tail has too. Copies before those were written anew earlier. Of
    rows `taken_back` it is known.
    """
    uids, before, pulled = {row.uid for row in tail if not row.restated}, float("inf"), False
    head: list[LightRow] = []
    for row in reversed(pending):
        message = known.get(row.uid, row.id)
        if message >= row.id or row.uid in uids:
            break
        may_be_out = head or row.id in taken_back
        if handoff.state == "live" != row.state and (row.state == "under" or not may_be_out):
            break  # of a head in context the first may have been taken back
        if not (row.handoff or row.restated):
            if message >= before:
                if row.role != "user" or pulled:
                    break
                pulled = True  # the newest request, put before an assistant that leads
            else:
                before = message
        head.append(row)
    return list(dropwhile(_is_restated, reversed(head)))  # a request is repeated at the end of a block


def unseen_before(
    pending: Sequence[LightRow], known: Mapping[str, int], opening: Sequence[LightRow], behind: Iterable[LightRow]
) -> list[LightRow]:
    """The copies right before a block's head, of what was in the store and not in the agent's memory: the block has
    them nowhere else. A transcript that was written anew has its head, too.
    """
    before = reversed(pending[: len(pending) - len(opening)])
    rows = list(takewhile(lambda row: known.get(row.uid, row.id) < row.id, before))[::-1]
    names = {row.uid for row in (*opening, *behind)}
    return rows if opening and names.isdisjoint(row.uid for row in rows) else []


def _is_restated(row: LightRow) -> bool:
    return row.restated


class Tail:
    """The rows behind a handoff, up to the next one, and which of them belong to its block; `known` has the place of
    each name among messages, before the handoff where one of its rows is. `opening` may be the block's head.
    """

    def __init__(
        self,
        handoff: LightRow,
        after: Sequence[LightRow],
        known: Mapping[str, int],
        opening: Iterable[LightRow] = (),
    ) -> None:
        self.handoff, self.after = handoff, after
        self.opened = {row.uid: at for at, row in enumerate(opening)}
        self.own = {handoff.uid, *handoff.absorbed}
        self.places = [known.get(row.uid, row.id) for row in after]
        self.newest = min([0, *self.places]) - 1
        told = (self.newest if row.restated else place for row, place in zip(after, self.places, strict=True))
        self.newest_from = [*accumulate(reversed([*told]), max)][::-1]  # of each row and those behind it
        self.seen: set[str] = set()

    def block(self, *, carried: bool = False, last: bool = False) -> tuple[list[LightRow], list[LightRow]]:
        """The rows that belong to the block: copies, by their names, and what the agent wrote for itself between them,
        or behind them where a compaction alone writes such rows, as further handoffs of an engine are. No other block
        may follow the `last` one.

        Take-backs go from the end: behind a handoff that is out, the whole block is, unless a later one `carried` it.
        Messages begin anew with the next block's head, where the agent wrote its transcript anew, and with copies of
        what was in the store and not in its memory (`_archive_named_rows`): those come second.
        """
        block: list[LightRow] = []
        waiting: list[LightRow] = []
        for at, row in enumerate(self.after):
            if self.handoff.state == "out" != row.state and not carried:
                break
            if not row.restated and (self._comes_again(at) or (not last and self._is_next_head(at))):
                return block, self._unseen(at)
            waiting.append(row)
            if self._is_copy(at) or row.restated or row.of_compaction or row.handoff == "standalone":
                block += waiting
                waiting = []
                self.newest = self.newest if row.restated else max(self.newest, self.places[at])
            elif not row.scaffold:
                break
            self.seen.add(row.uid)
        return block, []

    def _is_copy(self, at: int) -> bool:
        return self.places[at] < self.handoff.id

    def _comes_again(self, at: int) -> bool:
        """Whether the block has the row's message already. One that its handoff carries may come again, and a request
        that it opened with: nothing else does then.
        """
        row, following = self.after[at], self.after[at + 1] if at + 1 < len(self.after) else None
        opened = self.opened.get(row.uid)
        goes_back = opened == 0 or (opened is not None and self.places[at] < self.newest)
        if row.uid in self.seen or (row.uid in self.own and row.handoff) or (goes_back and row.role != "user"):
            return True
        if following is None:
            return False
        opens = goes_back and (following.uid in self.opened or following.handoff == "standalone")
        return opens or (row.uid in self.own and following.uid in self.seen)

    def _is_next_head(self, at: int) -> bool:
        """Whether all rows from here on are copies of what is older than what the block has."""
        return at + 1 < len(self.after) and self.newest_from[at] < self.newest

    def _unseen(self, at: int) -> list[LightRow]:
        """The copies from here on, each message once, if another handoff is among what follows this one: the next
        block's head has none, and the whole context once more has this one. Behind what the next compaction marked for
        its tail stands nothing else of this block.
        """
        found: dict[str, LightRow] = {}
        for end in range(at, len(self.after)):
            before, row = self.after[end - 1] if end else self.handoff, self.after[end]
            goes_back = before.state == "out" != row.state and self.handoff.state != "out"
            if not self._is_copy(end) or row.uid in found or goes_back:
                break
            found[row.uid] = row
        handoffs = [row.uid for row in self.after[: at + len(found)] if row.handoff]
        return [*found.values()] if handoffs and self.own.isdisjoint(handoffs) else []


def _until_anew(rows: Sequence[LightRow], places: Mapping[str, int], opening: Iterable[LightRow]) -> list[LightRow]:
    """The first of these rows, up to where messages begin anew: with those that a block opens with, or out of order."""
    opened, newest, found = {row.uid for row in opening}, min(places.values(), default=0), list[LightRow]()
    for row in rows:
        place = places.get(row.uid, newest)
        if row.uid in opened or (place < newest and row.role != "user"):
            break
        newest = newest if row.role == "user" else max(newest, place)  # a request may be put elsewhere
        found.append(row)
    return found


def _begins_with(rows: Sequence[LightRow], opening: Sequence[LightRow], handoff: LightRow) -> bool:
    """Whether `opening` opens the block of the handoff, given the rows behind it. What is written anew begins with what
    the block began with; or the block ends with its handoff, whose message it then has twice.
    """
    names = {row.uid for row in opening}
    if handoff.uid in names:
        return not rows or rows[0].uid not in names
    first = next((row.uid for row in opening), "")
    return next((row.uid for row in rows if row.uid in names), first) == first


class UidIndex:
    """Where each name stands among all rows of a session: its `first` and its `last` row, and the last that was not
    taken back or superseded. `moments` are the rows' times as stored.
    """

    def __init__(self, rows: Mapping[int, LightRow], moments: Mapping[int, float]) -> None:
        self.rows, self.moments = rows, moments
        self.first = {row.uid: row.id for row in reversed([*rows.values()]) if row.uid}
        self.last = {name: row.id for row in rows.values() for name in (row.uid, *row.absorbed) if name}
        self.last_kept = {row.uid: row.id for row in rows.values() if row.uid and row.state != "out"}

    def left(self, handoff: LightRow, pending: Sequence[LightRow], after: Sequence[LightRow]) -> list[LightRow]:
        """What is left of a block that was undone, where the agent wrote its messages anew since and deleted the rows
        that they had: only later rows have their names. Nobody took it back: what is taken back does not come again.

        That is so where the handoff carries a message that nothing older has, or where such a copy is next to it.
        """
        if handoff.state != "out":
            return []
        again = self._again(handoff)
        opening = list(takewhile(self._is_left, reversed(head_of(pending, again, (), handoff))))
        together = takewhile(lambda each: each[1].id == handoff.id - each[0], enumerate(opening, 1))  # one write
        opening = [row for _, row in together][::-1]
        if not _begins_with(after, opening, handoff):
            opening = []
        carries = handoff.handoff == "merged" and handoff.uid in again
        carries = carries and (self._is_left(handoff) or handoff.uid in {row.uid for row in opening})
        behind = _until_anew(Tail(handoff, after, again).block()[0], again, opening)
        if not carries:
            said = self.left_behind(handoff)
            behind = list(takewhile(lambda row: row.uid in said, behind))
        return [*opening, handoff, *behind] if carries or behind else []

    def left_behind(self, handoff: LightRow) -> dict[str, int]:
        """The names of rows that were left so behind a handoff with a time of its own: they were said before it."""
        if handoff.state != "out" or handoff.handoff != "standalone":
            return {}
        return {
            uid: place
            for uid, place in self._again(handoff).items()
            if self.first[uid] > handoff.id and self._is_left(self.rows[self.first[uid]])
            if self.moments[self.first[uid]] < self.moments[handoff.id]
        }

    def _again(self, handoff: LightRow) -> dict[str, int]:
        """The names that come again behind a handoff, in order, each before any row."""
        newest, first = max(self.rows), self.first
        return {uid: at - newest - 1 for uid, at in self.last.items() if at > handoff.id and at > first.get(uid, at)}

    def _is_left(self, row: LightRow) -> bool:
        """Whether a row is out, and no row before it has its name."""
        return row.state == "out" and self.first.get(row.uid, row.id) == row.id
