"""What rows say themselves of the messages they carry (schema 31): names, and what lining up need not guess.

The owner gives each message a name (`message_uid`) when it is first written, and every copy keeps it. A row that
several messages were merged into has the first one's name and lists the others (`absorbed_message_uids`). Equal names
are one message, whatever else differs. Different names are different messages where the agent gave them itself; one
that the database made up, for a row written without (by an older build, or before the column was there), only says that
nobody knows. The two can be told apart: the agent's names are version 4 UUIDs, the database's any 128 random bits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile, takewhile, zip_longest
from typing import Any

from .alignment import LightRow

_UUID4 = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")  # uuid4().hex


def is_given(uid: str) -> bool:
    """Whether the agent gave this name itself; one in 64 of the database's looks so by chance (`believed`)."""
    return _UUID4.fullmatch(uid) is not None


def absorbed(stored: Any) -> tuple[str, ...]:
    """The names in a stored `absorbed_message_uids`."""
    try:
        names = json.loads(stored) if stored else None
    except (ValueError, TypeError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, list) else ()


def believed(rows: Sequence[LightRow], handoff: LightRow, after: Sequence[LightRow]) -> list[LightRow]:
    """The rows, for lining up at this handoff: where it and what follows were written without names, by an older build,
    a name that looks given is one by chance and proves nothing.
    """
    written = [handoff, *after[:8]]
    if 2 * sum(row.named for row in written) > len(written):
        return list(rows)
    return [replace(row, named=False) if row.named else row for row in rows]


def head_of(
    pending: Sequence[LightRow], known: Mapping[str, int], tail: Iterable[LightRow], handoff: LightRow
) -> list[LightRow]:
    """The rows at the end of `pending` that belong to the block of the handoff behind them: copies, by their names, in
    the order of their messages, and none that the tail has too. Copies before those were written anew earlier.
    """
    kept, before, pulled = {row.uid for row in tail}, float("inf"), False
    head: list[LightRow] = []
    for row in reversed(pending):
        message = known.get(row.uid, row.id)
        if message >= row.id or row.uid in kept or (handoff.state == "live" != row.state):
            break
        if row.handoff != "standalone" and not row.restated:
            if message >= before:
                if row.role != "user" or pulled:
                    break
                pulled = True  # the newest request, put before an assistant that leads
            else:
                before = message
        head.append(row)
    return list(dropwhile(_is_restated, reversed(head)))  # a request is repeated at the end of a block


def _is_restated(row: LightRow) -> bool:
    return row.restated


def tail_of(
    handoff: LightRow,
    after: Sequence[LightRow],
    known: Mapping[str, int],
    opening: Sequence[LightRow] = (),
    *,
    carried: bool = False,
    last: bool = False,
) -> tuple[list[LightRow], list[LightRow]]:
    """The rows behind a handoff that belong to its block: copies, by their names, and what the agent wrote for itself
    between them, or behind them where a compaction alone writes such rows. `opening` may be the block's head, and no
    other block may follow the `last` one.

    Take-backs go from the end: behind a handoff that is out, the whole block is, unless a later one `carried` it along.
    Messages begin anew with the next block's head, where the agent wrote its transcript anew, and with copies of what
    was in the store and not in its memory (`_archive_named_rows`): those come second.
    """
    block: list[LightRow] = []
    waiting: list[LightRow] = []
    own = {handoff.uid, *handoff.absorbed}
    seen, opened, newest = set[str](), {row.uid for row in opening}, -1
    for at, (row, following) in enumerate(zip_longest(after, after[1:])):
        if handoff.state == "out" != row.state and not carried:
            break
        place = known.get(row.uid, row.id)
        again = row.uid in opened and place < newest
        twice = row.uid in seen or (row.uid in own and bool(row.handoff)) or (again and row.role != "user")
        alone = following is None or following.uid not in (opened if again else seen)
        if not row.restated and (twice or ((again or row.uid in own) and not alone)):
            run = list(takewhile(lambda each: known.get(each.uid, each.id) < handoff.id, after[at:]))
            is_block = at + len(run) < len(after) or last
            return block, run if is_block and _are_unseen(run, own) else []
        if place < newest and not last and not row.restated and _is_head(after[at:], known, newest):
            break
        waiting.append(row)
        if place < handoff.id or row.restated or row.of_compaction:
            block += waiting
            waiting = []
            newest = newest if row.restated else max(newest, place)
        elif not row.scaffold:
            break
        seen.add(row.uid)
    return block, []


def _is_head(rows: Sequence[LightRow], known: Mapping[str, int], newest: int) -> bool:
    """Whether these rows, the last before a handoff, begin anew: all are copies of what is older than the `newest`."""
    return len(rows) > 1 and all(row.restated or known.get(row.uid, row.id) < newest for row in rows)


def _are_unseen(rows: Iterable[LightRow], own: Container[str]) -> bool:
    """Whether these copies are not the whole context once more: that has the handoff, too."""
    return not any(row.handoff and row.uid in own for row in rows)


def _until_anew(rows: Sequence[LightRow], places: Mapping[str, int], opening: Iterable[LightRow]) -> list[LightRow]:
    """The first of these rows, up to where messages begin anew: with those that a block opens with, or out of order."""
    opened, newest, found = {row.uid for row in opening}, min(places.values(), default=0), list[LightRow]()
    for row in rows:
        place = places.get(row.uid, newest)
        if row.uid in opened or (place < newest and row.role != "user"):
            break
        newest = max(newest, place)
        found.append(row)
    return found


class Names:
    """Where each name stands among all rows of a session: its `first` and its `last` row. `moments` are the rows' times
    as stored.
    """

    def __init__(self, rows: Mapping[int, LightRow], moments: Mapping[int, float]) -> None:
        self.rows, self.moments = rows, moments
        self.first = {row.uid: row.id for row in reversed([*rows.values()]) if row.uid}
        self.last = {name: row.id for row in rows.values() for name in (row.uid, *row.absorbed) if name}

    def left(self, handoff: LightRow, pending: Sequence[LightRow], after: Sequence[LightRow]) -> list[LightRow]:
        """What is left of a block that was undone, where the agent wrote its messages anew since and deleted the rows
        that they had: only later rows have their names. Nobody took it back: what is taken back does not come again.

        That is so where the handoff carries a message that nothing older has, or where such a copy is next to it.
        """
        if handoff.state != "out":
            return []
        again = self._again(handoff)
        carries = handoff.handoff == "merged" and handoff.uid in again and self._is_left(handoff)
        opening = list(takewhile(self._is_left, reversed(head_of(pending, again, (), handoff))))[::-1]
        names = [row.uid for row in opening]
        if next((row.uid for row in after if row.uid in names), "") not in names[:1]:
            opening = []  # what was written anew begins with what the block began with
        behind = _until_anew(tail_of(handoff, after, again)[0], again, opening)
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
