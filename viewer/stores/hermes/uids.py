"""Names of messages in rows (schema 31).

The agent gives each message a name (`message_uid`) when it is first written, and every copy keeps it. A row that
several messages were merged into has the first one's name and lists the others (`absorbed_message_uids`). Equal names
are one message, whatever else differs. Different names are different messages if the agent gave them itself; a name
that the database made, for a row written without one (by an older build, or before the column existed), only means that
the message is unknown. The two can be distinguished: the agent's names are version 4 UUIDs, the database's any 128
random bits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, dropwhile, takewhile
from typing import Any

from .records import LightRow

_UUID4 = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")  # uuid4().hex


def is_given(uid: str) -> bool:
    """Whether the agent gave this name itself; one in 64 of the database's looks like that by chance (`naming`)."""
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
    """The rows at the end of `pending` that belong to the block of the handoff after them: copies, by their names, in
    the order of their messages, and none that the tail has too. Copies before those were rewritten earlier. Rows
    `taken_back` are known for certain.
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
                pulled = True  # the newest request, moved before an assistant that comes first
            else:
                before = message
        head.append(row)
    return list(dropwhile(_is_restated, reversed(head)))  # a request is repeated at the end of a block


def unseen_before(
    pending: Sequence[LightRow], known: Mapping[str, int], opening: Sequence[LightRow], behind: Iterable[LightRow]
) -> list[LightRow]:
    """The copies right before a block's head of messages that were in the store but not in the agent's memory: they are
    nowhere else in the block. A rewritten transcript contains its head, too.
    """
    before = reversed(pending[: len(pending) - len(opening)])
    rows = list(takewhile(lambda row: known.get(row.uid, row.id) < row.id, before))[::-1]
    names = {row.uid for row in (*opening, *behind)}
    return rows if opening and names.isdisjoint(row.uid for row in rows) else []


def _is_restated(row: LightRow) -> bool:
    return row.restated


class Tail:
    """The rows after a handoff, up to the next one, and which of them belong to its block; `known` has the position of
    each name among messages, before the handoff if one of its rows is. `opening` may be the block's head.
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
        self.positions = [known.get(row.uid, row.id) for row in after]
        self.newest = min([0, *self.positions]) - 1
        shown_positions = (
            self.newest if row.restated else position for row, position in zip(after, self.positions, strict=True)
        )
        self.newest_from = [*accumulate(reversed([*shown_positions]), max)][
            ::-1
        ]  # for each row, the newest position among it and those after it
        self.seen: set[str] = set()

    def block(self, *, carried: bool = False, last: bool = False) -> tuple[list[LightRow], list[LightRow]]:
        """The rows that belong to the block: copies, by their names, and the agent's own rows between them, or after
        them where only a compaction writes such rows, such as further handoffs of an engine. No other block may follow
        the `last` one.

        Rows are taken back from the end: after a handoff that is out, the whole block is, unless a later one `carried`
        it. Messages begin again with the next block's head, where the agent rewrote its transcript, and with copies of
        messages that were in the store and not in its memory (`_archive_named_rows`): those come second.
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
                self.newest = self.newest if row.restated else max(self.newest, self.positions[at])
            elif not row.scaffold:
                break
            self.seen.add(row.uid)
        return block, []

    def _is_copy(self, at: int) -> bool:
        return self.positions[at] < self.handoff.id

    def _comes_again(self, at: int) -> bool:
        """Whether the block has the row's message already. Only a message of its handoff may come again, and a request
        that it opened with.
        """
        row, following = self.after[at], self.after[at + 1] if at + 1 < len(self.after) else None
        opened = self.opened.get(row.uid)
        goes_back = opened == 0 or (opened is not None and self.positions[at] < self.newest)
        if row.uid in self.seen or (row.uid in self.own and row.handoff) or (goes_back and row.role != "user"):
            return True
        if following is None:
            return False
        opens = goes_back and (following.uid in self.opened or following.handoff == "standalone")
        return opens or (row.uid in self.own and following.uid in self.seen)

    def _is_next_head(self, at: int) -> bool:
        """Whether all rows from here on are copies of messages older than those of the block."""
        return at + 1 < len(self.after) and self.newest_from[at] < self.newest

    def _unseen(self, at: int) -> list[LightRow]:
        """The copies from here on, each message once, if the rows after this handoff contain another one: the next
        block's head has none, and a repeated whole context has this one. After the rows that the next compaction marked
        for its tail, nothing else belongs to this block.
        """
        copies: dict[str, LightRow] = {}
        for end in range(at, len(self.after)):
            before, row = self.after[end - 1] if end else self.handoff, self.after[end]
            goes_back = before.state == "out" != row.state and self.handoff.state != "out"
            if not self._is_copy(end) or row.uid in copies or goes_back:
                break
            copies[row.uid] = row
        handoffs = [row.uid for row in self.after[: at + len(copies)] if row.handoff]
        return [*copies.values()] if handoffs and self.own.isdisjoint(handoffs) else []


def _until_anew(rows: Sequence[LightRow], positions: Mapping[str, int], opening: Iterable[LightRow]) -> list[LightRow]:
    """The first of these rows, up to where messages begin again: with those that a block opens with, or
    out of order.
    """
    opened, newest, first_rows = {row.uid for row in opening}, min(positions.values(), default=0), list[LightRow]()
    for row in rows:
        position = positions.get(row.uid, newest)
        if row.uid in opened or (position < newest and row.role != "user"):
            break
        newest = newest if row.role == "user" else max(newest, position)  # a request may have been moved
        first_rows.append(row)
    return first_rows


def _begins_with(rows: Sequence[LightRow], opening: Sequence[LightRow], handoff: LightRow) -> bool:
    """Whether `opening` opens the block of the handoff, given the rows after it. A rewritten transcript begins with the
    beginning of the block; or the block ends with its handoff, whose message it then has twice.
    """
    names = {row.uid for row in opening}
    if handoff.uid in names:
        return not rows or rows[0].uid not in names
    first = next((row.uid for row in opening), "")
    return next((row.uid for row in rows if row.uid in names), first) == first


class UidIndex:
    """Where each name is among all rows of a session: its `first` and its `last` row, and the last that was not taken
    back or superseded. `moments` are the rows' stored times.
    """

    def __init__(self, rows: Mapping[int, LightRow], moments: Mapping[int, float]) -> None:
        self.rows, self.moments = rows, moments
        self.first = {row.uid: row.id for row in reversed([*rows.values()]) if row.uid}
        self.last = {name: row.id for row in rows.values() for name in (row.uid, *row.absorbed) if name}
        self.last_kept = {row.uid: row.id for row in rows.values() if row.uid and row.state != "out"}

    def left(self, handoff: LightRow, pending: Sequence[LightRow], after: Sequence[LightRow]) -> list[LightRow]:
        """The rest of an undone block, where the agent rewrote its messages since and deleted their rows: only later
        rows have their names. It was not taken back: taken-back messages do not come again.

        That is so where the handoff carries a message that nothing older has, or where such a copy is next to it.
        """
        if handoff.state != "out":
            return []
        again = self._again(handoff)
        opening = list(takewhile(self._is_left, reversed(head_of(pending, again, (), handoff))))
        adjacent = takewhile(lambda each: each[1].id == handoff.id - each[0], enumerate(opening, 1))  # one write
        opening = [row for _, row in adjacent][::-1]
        if not _begins_with(after, opening, handoff):
            opening = []
        carries = handoff.handoff == "merged" and handoff.uid in again
        carries = carries and (self._is_left(handoff) or handoff.uid in {row.uid for row in opening})
        behind = _until_anew(Tail(handoff, after, again).block()[0], again, opening)
        if not carries:
            names = self.left_behind(handoff)
            behind = list(takewhile(lambda row: row.uid in names, behind))
        return [*opening, handoff, *behind] if carries or behind else []

    def left_behind(self, handoff: LightRow) -> dict[str, int]:
        """The names of such rows after a handoff with its own time: these messages are older than the handoff."""
        if handoff.state != "out" or handoff.handoff != "standalone":
            return {}
        return {
            uid: position
            for uid, position in self._again(handoff).items()
            if self.first[uid] > handoff.id and self._is_left(self.rows[self.first[uid]])
            if self.moments[self.first[uid]] < self.moments[handoff.id]
        }

    def _again(self, handoff: LightRow) -> dict[str, int]:
        """The names that come again after a handoff, in order, each before any row."""
        newest, first = max(self.rows), self.first
        return {uid: at - newest - 1 for uid, at in self.last.items() if at > handoff.id and at > first.get(uid, at)}

    def _is_left(self, row: LightRow) -> bool:
        """Whether a row is out, and no row before it has its name."""
        return row.state == "out" and self.first.get(row.uid, row.id) == row.id
