"""Which result answers which call.

Ids may repeat within a session, so a result belongs to the nearest row with a call of that id still open, and there to
the first such call; a result that names no id answers a call of the row directly before its run of results. Every
function walks its rows once.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .messages import Call, Message, answers, calls, is_call_item, role

Place = tuple[int, int]  # a row's position and the call's position within it


class OpenCalls:
    """The calls still waiting for a result, in a walk from the oldest row to the newest."""

    def __init__(self) -> None:
        self.waiting: dict[Place, Call] = {}
        self.answered: list[Call | None] = []  # by the row seen last, for each result in it
        self.places: list[Place | None] = []  # of these calls
        self._by_id: dict[str, list[Place]] = {}
        self._near: deque[Place] = deque()

    def see(self, at: int, row: Message) -> list[str | None]:
        """Take in one row; for each result in it the id it names if no open call fits, else None."""
        named = answers(row)
        closed = [self._close(id_) for id_ in named]
        self.answered = [found[1] if found else None for found in closed]
        self.places = [found[0] if found else None for found in closed]
        if named:
            return [None if call else id_ for call, id_ in zip(self.answered, named, strict=True)]
        self._near = deque()
        for position, call in enumerate(calls(row)):
            self._near.append((at, position))
            self.waiting[at, position] = call
            for id_ in call.ids:
                self._by_id.setdefault(id_, []).append((at, position))
        return []

    def _close(self, id_: str) -> tuple[Place, Call] | None:
        places = self._by_id.get(id_, []) if id_ else self._near
        while places:
            first = bisect_left(places, (places[-1][0], 0)) if id_ else 0
            place = places[first]
            del places[first]
            call = self.waiting.pop(place, None)
            if call:
                return place, call
        return None


class Loose(NamedTuple):
    """What does not pair up.

    `calls` maps a row's position to the positions of its unanswered calls, `results` to those of its orphan results.
    The calls of the last group are not among them if nothing but results follows: they may still be running. `running`
    is the position of that group, None if all its calls are answered.
    """

    calls: dict[int, list[int]]
    results: dict[int, list[int]]
    running: int | None


def goes_on(rows: Sequence[Message], at: int) -> bool:
    """Whether this row is a call item that belongs to the assistant's turn before it: parallel calls are rows there."""
    return is_call_item(rows[at]) and at > 0 and role(rows[at - 1]) == "assistant"


def loose_ends(rows: Sequence[Message]) -> Loose:
    """Pair every result with its call; report the calls and results that stay alone."""
    open_calls = OpenCalls()
    orphans: dict[int, list[int]] = {}
    last = -1
    for at, row in enumerate(rows):
        alone = [position for position, id_ in enumerate(open_calls.see(at, row)) if id_ is not None]
        if alone:
            orphans[at] = alone
        if not answers(row) and not goes_on(rows, at):
            last = at
    unanswered: dict[int, list[int]] = {}
    running = None
    for at, position in open_calls.waiting:
        if at < last:
            unanswered.setdefault(at, []).append(position)
        else:
            running = last
    return Loose(unanswered, orphans, running)


def stray_results(rows: Iterable[Message]) -> Ids:
    """Ids named by the results among these rows whose call is not among them."""
    open_calls = OpenCalls()
    return Ids(id_ for at, row in enumerate(rows) for id_ in open_calls.see(at, row) if id_)


class Ids:
    """Ids of results in some number each; true while there are any. Nothing here costs more for a larger collection."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._times: Counter[str] = Counter()
        self._left = 0
        self.add(ids)

    def __bool__(self) -> bool:
        return self._left > 0

    def add(self, ids: Iterable[str]) -> None:
        """Put in each of these, as often as it is named."""
        for id_ in ids:
            self._times[id_] += 1
            self._left += 1

    def take(self, names: Iterable[str]) -> bool:
        """Use up one of the names; whether there was one."""
        for name in names:
            if self._times[name] > 0:
                self._times[name] -= 1
                self._left -= 1
                return True
        return False

    def drained(self) -> list[str]:
        """All of them; none is left."""
        ids = list(self._times.elements())
        self._times.clear()
        self._left = 0
        return ids
