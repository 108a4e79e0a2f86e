"""Which result answers which call, and repairs of incomplete groups of calls and results.

Ids may repeat within a session, so a result belongs to the nearest row with an open call of that id, and there to the
first such call; a result without an id answers a call of the row directly before its run of results. Every function
walks its rows once.

Calls and results that providers would refuse are left out and reported; a normal transcript needs no repair. Calls of
the last group stay even without results: they may still be running, and Hermes keeps them too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .handoff import UNANSWERED_STUB
from .messages import RESULT_ROLES, Call, Message, answers, as_json, call_entries, calls, is_call_item, role, said

CallPosition = tuple[int, int]  # a row's position and the call's position within it


class OpenCalls:
    """The calls without a result so far, in a walk from the oldest row to the newest."""

    def __init__(self) -> None:
        self.waiting: dict[CallPosition, Call] = {}
        self.answered: list[Call | None] = []  # by the row seen last, for each result in it
        self.places: list[CallPosition | None] = []  # of these calls
        self._by_id: dict[str, list[CallPosition]] = {}
        self._near: deque[CallPosition] = deque()

    def see(self, at: int, row: Message) -> list[str | None]:
        """Process one row; for each result in it, None if an open call fits, else the id that it names."""
        named = answers(row)
        closed = [self._close(id_) for id_ in named]
        self.answered = [pair[1] if pair else None for pair in closed]
        self.places = [pair[0] if pair else None for pair in closed]
        if named:
            return [None if call else id_ for call, id_ in zip(self.answered, named, strict=True)]
        self._near = deque()
        for position, call in enumerate(calls(row)):
            self._near.append((at, position))
            self.waiting[at, position] = call
            for id_ in call.ids:
                self._by_id.setdefault(id_, []).append((at, position))
        return []

    def _close(self, id_: str) -> tuple[CallPosition, Call] | None:
        places = self._by_id.get(id_, []) if id_ else self._near
        while places:
            first = bisect_left(places, (places[-1][0], 0)) if id_ else 0
            position = places[first]
            del places[first]
            call = self.waiting.pop(position, None)
            if call:
                return position, call
        return None


class Loose(NamedTuple):
    """Calls and results without a counterpart.

    `calls` maps a row's position to the positions of its unanswered calls, `results` to those of its orphan results.
    The calls of the last group are not included if only results follow: they may still be running. `running` is the
    position of that group, None if all its calls are answered.
    """

    calls: dict[int, list[int]]
    results: dict[int, list[int]]
    running: int | None


def goes_on(rows: Sequence[Message], at: int) -> bool:
    """Whether this row is a call item that belongs to the assistant's turn before it: parallel calls are separate rows
    there.
    """
    return is_call_item(rows[at]) and at > 0 and role(rows[at - 1]) == "assistant"


def loose_ends(rows: Sequence[Message]) -> Loose:
    """Pair every result with its call and return the calls and results that remain."""
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
    """Ids of the results in these rows whose call is not in them."""
    open_calls = OpenCalls()
    return Ids(id_ for at, row in enumerate(rows) for id_ in open_calls.see(at, row) if id_)


class Ids:
    """Ids of results with a count each; true while there are any. All operations take constant time per id."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._times: Counter[str] = Counter()
        self._left = 0
        self.add(ids)

    def __bool__(self) -> bool:
        return self._left > 0

    def add(self, ids: Iterable[str]) -> None:
        """Add each of these ids as often as it is named."""
        for id_ in ids:
            self._times[id_] += 1
            self._left += 1

    def take(self, names: Iterable[str]) -> bool:
        """Remove one of the names; returns whether there was one."""
        for name in names:
            if self._times[name] > 0:
                self._times[name] -= 1
                self._left -= 1
                return True
        return False

    def drained(self) -> list[str]:
        """All of them; the collection is empty afterwards."""
        ids = list(self._times.elements())
        self._times.clear()
        self._left = 0
        return ids


# --- complete groups -------------------------------------------------------------------------------------------------
# The handoff is between head and tail (alone, or before the first tail message): no group crosses it.
SEPARATOR: Message = {"role": "user"}
Repairs = dict[int, dict[str, Any] | None]  # new values for a row's keys (None removes one), or None to leave it out


def repairs(head: Sequence[Message], tail: Sequence[Message]) -> Repairs:
    """The changes that complete the groups, by position in head + tail."""
    rows = [*head, SEPARATOR, *tail]
    loose = loose_ends(rows)
    changes_at: Repairs = {}
    for at, positions in loose.results.items():
        changes_at[at] = _without_results(rows[at], set(positions))
    for at, positions in loose.calls.items():
        changes_at[at] = _without_calls(rows[at], set(positions))
    return {at - (at > len(head)): changes for at, changes in changes_at.items()}


def _without_results(row: Message, positions: set[int]) -> dict[str, Any] | None:
    if role(row) in RESULT_ROLES:
        return None
    remaining = _without(row["content"], "tool_result", positions)
    return {"content": remaining} if remaining else None


def _without_calls(row: Message, positions: set[int]) -> dict[str, Any] | None:
    if is_call_item(row):
        return None
    entries = call_entries(row)
    remaining = [entry for i, entry in enumerate(entries) if i not in positions]
    changes: dict[str, Any] = {}
    if len(remaining) < len(entries):
        as_text = as_json(remaining) if isinstance(row["tool_calls"], str) else remaining
        changes["tool_calls"] = as_text if remaining else None
    content = row.get("content")
    if isinstance(content, list):
        blocks = _without(content, "tool_use", {p - len(entries) for p in positions})
        if len(blocks) < len(content):
            changes["content"] = content = blocks
    calling = remaining or (isinstance(content, list) and any(_is(b, "tool_use") for b in content))
    if not calling and not said(content).strip():
        changes["content"] = UNANSWERED_STUB
    return changes


def _without(content: list[Any], kind: str, positions: set[int]) -> list[Any]:
    """The blocks except those of one type at these positions (counted among that type)."""
    remaining, number = [], -1
    for block in content:
        number += _is(block, kind)
        if not (_is(block, kind) and number in positions):
            remaining.append(block)
    return remaining


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind
