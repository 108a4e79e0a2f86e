"""Which messages rows carry whose times are lost: they go on in order from their neighbours.

Among all messages of the session, in the order in which they were said, whether or not somebody compacted it meanwhile:
an agent that has it in memory need not know.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import NamedTuple

from viewer.stores.hermes.light_row import LightRow

from .alignment import ending, may_pair, related, text_limit, without_image, words

_SHORTENED = "["  # what the agent writes in place of a result begins so (`docs/hermes.md`, section 4)
_ASKED = 1_000  # messages among which requests are sought that were put elsewhere
_NEAR = 8  # messages that may be passed over: they were said elsewhere, or taken back


@dataclass(slots=True)
class PlacedMessage:
    """A message: its first row and the last that says it alone, its newest row, and whether it was not taken back."""

    name: str
    alone: LightRow
    last_alone: LightRow
    newest: LightRow
    standing: bool


class _Line(NamedTuple):
    """What rows of a run say, by their place in the write, and how many messages between them were passed over."""

    said: dict[int, list[int]]
    passed: int = 0

    @property
    def score(self) -> float:
        return len(self.said) - self.passed if self.said else -float("inf")


class Past:
    """The messages so far, in order. A place is an index of `messages`."""

    def __init__(self) -> None:
        self.messages: list[PlacedMessage] = []
        self.alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self.behind: dict[int, int] = {}  # place -> place of what the row behind its newest row says
        self.last = -1  # place of what the newest row says
        self.all = False  # whether messages count that were taken back

    def carry(self, row: LightRow, name: str, places: list[int], *, back: bool = False) -> None:
        """Take in a row that says what stands at these places; the first may be new; `back`: it was taken back."""
        if places[0] == len(self.messages):
            self.messages.append(PlacedMessage(name, row, row, row, row.state != "out"))
        for place in places:
            message = self.messages[place]
            message.newest = row
            message.last_alone = row if len(places) == 1 else message.last_alone
            message.standing = not back and (message.standing or row.state != "out")
        if row.state != "out":
            self.behind[self.last] = places[0]
            self.last = places[-1]
        alike = self.alike[words(row)] if len(places) == 1 else []
        if places[0] not in alike[-1:]:
            insort(alike, places[0])

    def stands(self, places: Iterable[int]) -> None:
        """Take in that these messages were in context, whatever the states of their rows."""
        for place in places:
            self.messages[place].standing = True

    def follows(self, row: LightRow, place: int) -> int | None:
        """What a row may say behind this place: the next message, or one near that was not said elsewhere; behind none
        (-1) the newest with its words.
        """
        if place < 0:
            alike = self.alike.get(words(row), [])
            return next((each for each in reversed(alike) if self._counts(each)), next(reversed(alike), None))
        near = [*islice(self._standing(place + 1, 1), _NEAR)]
        candidates = [each for each in near[:1] if _may_say(row, self.messages[each])]
        candidates += [each for each in near if _says_the_same(row, self.messages[each])]
        # Take-backs go from the end: of what was taken back, only the first may be said, as nothing behind it is.
        out = next((each for each in range(place + 1, len(self.messages))[:_NEAR] if not self._counts(each)), None)
        if out is not None and _says_the_same(row, self.messages[out]):
            candidates.append(out)
        return next(iter(candidates), None)

    def ended_with(self, row: LightRow, place: int) -> bool:
        """Whether a row says all of several messages that were said last, behind this place, or the request that was:
        what is written anew keeps that.
        """
        last = next(self._standing(len(self.messages) - 1, -1), -1)
        places = self._merged_before(row, last) if last > place else []
        if len(places) == 1:
            return row.role == "user" and _says_the_same(row, self.messages[last])
        return bool(places) and places[0] > place

    def placed(self, rows: Sequence[LightRow], run: range, said: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        """The messages of rows whose times are lost: on from what comes before them, or back from what follows."""
        line = self._best(rows, run, said)
        if line.score < len(run) and any(not message.standing for message in self.messages[-len(rows) :]):
            # From schema 23 on a compaction marks the originals of its tail as it marks what was taken back.
            self.all = True
            line = max(line, self._best(rows, run, said), key=lambda each: each.score)
            self.all = False
        if line.score < len(run) and all(row.of_compaction for row in rows[: run.start]):  # what was first is out
            begun = self._along(rows, run, next(self._standing(0, 1), 0), 1, False, True)
            line = max(line, begun, key=lambda each: each.score)
        return line.said

    def _best(self, rows: Sequence[LightRow], run: range, said: Mapping[int, Sequence[int]]) -> _Line:
        found = self._lines(rows, run, said)
        if all(line.score < len(run) for line in found):  # a request may have been put elsewhere: `pulled`
            found += self._lines(rows, run, said, in_order=False)
        return max(found, key=lambda line: line.score)

    def _lines(
        self, rows: Sequence[LightRow], run: range, said: Mapping[int, Sequence[int]], *, in_order: bool = True
    ) -> list[_Line]:
        found: list[_Line] = []
        if run.start - 1 in said:
            found.append(self._along(rows, run, said[run.start - 1][-1] + 1, 1, True, in_order))
        if run.stop in said:
            found.append(self._along(rows, run[::-1], said[run.stop][0] - 1, -1, True, in_order))
        if all(line.score < len(run) for line in found):
            found.append(self._along(rows, run[::-1], len(self.messages) - 1, -1, False, in_order))
        if all(row.of_compaction for row in rows[: run.start]):
            found.insert(0 if run.stop < len(rows) else len(found), self._along(rows, run, 0, 1, False, in_order))
        return found

    def pulled(self, rows: Sequence[LightRow], said: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        """What a row of the user's says that a compaction put where the agent needed one: what was said before."""
        taken = {place for places in said.values() for place in places}
        found: dict[int, list[int]] = {}
        for at, row in enumerate(rows):
            if at not in said and row.role == "user" and row.handoff != "standalone" and not row.scaffold:
                alike = ([place] for place in reversed(self.alike.get(words(row), ())) if place not in taken)
                places = next(alike, None) or self._asked(row, taken)
                found |= {at: places} if places else {}
        return found

    def _asked(self, row: LightRow, taken: Collection[int]) -> list[int]:
        """The newest requests that were merged into a row."""
        for first in range(len(self.messages))[: -_ASKED - 1 : -1]:
            begins = self.messages[first].alone
            if begins.role == "user" and first not in taken and begins.text and row.text.startswith(begins.text):
                places = self.merged(row, first, taken)
                if len(places) > 1:
                    return places
        return []

    def with_results(
        self, rows: Sequence[LightRow], said: Mapping[int, list[int]], kept: Mapping[int, list[int]]
    ) -> dict[int, list[int]]:
        """What the rows say, but for calls with results that are new, and for those: ids of calls may come again. What
        was said without calls, before such were merged into its row, stays.
        """
        found = dict(said)
        turn: list[int] = []
        for at, row in [*enumerate(rows), (len(rows), None)]:
            if row is not None and row.role == "tool":
                turn.append(at)
                continue
            if any(each not in found for each in turn):
                for each in turn:
                    if each not in kept and self._are_called(found.get(each, ())):
                        found.pop(each, None)
            turn = [at] if row is not None and row.calls else []
        return found

    def _are_called(self, places: Iterable[int]) -> bool:
        """Whether one of these messages is a result, or has calls."""
        rows = [self.messages[place].alone for place in places]
        return any(each.role == "tool" or each.calls for each in rows)

    def _along(
        self, rows: Sequence[LightRow], run: Sequence[int], edge: int, step: int, sure: bool, in_order: bool
    ) -> _Line:
        """What the rows of a run say from `edge` on; requests only where they come next, if not all is `in_order`."""
        said: dict[int, list[int]] = {}
        passed = 0
        for at in run:
            places = self._place(rows[at], edge, step, sure or bool(said))
            first = (places[0] if step == 1 else places[-1]) if places else edge
            if places and (in_order or first == edge or rows[at].role != "user"):
                said[at] = places
                passed += min(abs(first - edge), _NEAR)
                edge = places[-1] + 1 if step == 1 else places[0] - 1
        return _Line(said, passed)

    def _place(self, row: LightRow, edge: int, step: int, sure: bool) -> list[int]:
        """The messages that a row says, the next from `edge` on if it may say them, else the nearest with its words: of
        several only where it is not `sure` yet what stands beside it.
        """
        for passed, place in enumerate(islice(self._standing(edge, step), _NEAR)):
            places = self.merged(row, place, ()) if step == 1 else self._merged_before(row, place)
            first = self.messages[places[0]]
            if len(places) > 1 or (_may_begin(row, first) if not passed else _says_the_same(row, first)):
                return places
        alike = self.alike.get(words(row), [])
        cut = bisect_left(alike, edge if step == 1 else edge + 1)
        order = alike[cut:] if step == 1 else alike[:cut][::-1]
        found = next((place for place in order if self._counts(place)), None)
        if found is None or (sure and len(alike) > 1 and found not in islice(self._standing(edge, step), _NEAR)):
            return []
        return [found]

    def merged(self, row: LightRow, first: int, taken: Collection[int]) -> list[int]:
        """The messages from `first` on that were merged into a row; what somebody else said in between was not.

        A request may have been put behind a tail: what was said next stands behind its newest row.
        """
        places = [first]
        while self._says_more(row, places):
            behind = places[-1] + 1
            near = [*islice(self._standing(behind, 1), _NEAR), *range(behind, min(behind + _NEAR, len(self.messages)))]
            if (beside := self.behind.get(places[-1], -1)) >= behind:
                near.append(beside)
            said = (each for each in near if each not in taken and self._says_all(row, [*places, each]))
            following = next(said, None)
            if following is None:
                break
            places.append(following)
        return places

    def _says_more(self, row: LightRow, places: Sequence[int]) -> bool:
        """Whether a row of the user's, or of the agent's, says more than these messages."""
        rows = [self.messages[place].alone for place in places]
        calls = [call for each in rows for call in each.calls.split()]
        limit = text_limit(row.role)
        text = " ".join(each.text for each in rows if each.text)[:limit]
        if row.role not in ("user", "assistant"):
            return False
        if len(text) == limit and row.text == text:
            return row.size > sum(each.size + 2 for each in rows)
        return row.text != text or row.calls.split() != calls

    def _says_all(self, row: LightRow, places: Sequence[int]) -> bool:
        placed_messages = [self.messages[place] for place in places]
        rows = [each.alone for each in placed_messages], [each.last_alone for each in placed_messages]
        return all(each.role == row.role for each in rows[0]) and any(_says_all(row, each) for each in rows)

    def _merged_before(self, row: LightRow, last: int) -> list[int]:
        """The messages up to `last` that were merged into a row."""
        places = [last, *self._beside(last, -1)][::-1]
        for at in range(len(places) - 1):
            if self._says_all(row, places[at:]):
                return places[at:]
        return [last]

    def _beside(self, place: int, step: int) -> Iterator[int]:
        """The neighbours of this message that no model may be sent in a row with it."""
        role = self.messages[place].alone.role
        for each in self._standing(place + step, step):
            if self.messages[each].alone.role != role or role not in ("user", "assistant"):
                return
            yield each

    def _standing(self, place: int, step: int) -> Iterator[int]:
        stop = len(self.messages) if step == 1 else -1
        return (each for each in range(place, stop, step) if self._counts(each))

    def _counts(self, place: int) -> bool:
        return self.all or self.messages[place].standing


def runs(placed: Sequence[bool], rows: Sequence[LightRow]) -> Iterator[range]:
    """The stretches of rows that are not placed, between those that are and summaries."""
    edges = [at for at, row in enumerate(rows) if placed[at] or row.handoff == "standalone" or row.of_compaction]
    for left, right in pairwise([-1, *edges, len(rows)]):
        if right - left > 1:
            yield range(left + 1, right)


def _may_say(row: LightRow, message: PlacedMessage) -> bool:
    return any(_agree(row, each) for each in (message.newest, message.alone))


def _may_begin(row: LightRow, message: PlacedMessage) -> bool:
    """Whether a row may say the message, or that one and what was merged with it and stands nowhere else any more."""
    asked = message.alone
    goes_on = row.role == asked.role == "user" and bool(asked.text) and row.text.startswith(f"{asked.text} ")
    return goes_on or _may_say(row, message)


def _says_the_same(row: LightRow, message: PlacedMessage) -> bool:
    """Whether role and ids are alike, and the words, where the agent did not shorten them."""
    if _is_shortened(row):
        return _may_say(row, message)
    return words(row) in (words(message.newest), words(message.alone))


def _is_shortened(row: LightRow) -> bool:
    return row.role == "tool" and row.text.startswith(_SHORTENED)


def _agree(copy: LightRow, source: LightRow) -> bool:
    """Whether role, ids, calls and words let the one be a copy of the other."""
    goes_on = bool(source.text) and not source.calls and copy.text == source.text  # with calls that stand nowhere alone
    if not may_pair(copy, source) or not (goes_on or copy.calls in ("", source.calls)):
        return False
    if _is_shortened(copy):
        return True
    copy, source = (replace(without_image(row), calls="", tool_call_id="") for row in (copy, source))
    ends = {ending(copy), ending(source)} - {""}
    return related(copy, source) and len(ends) < 2


def _says_all(row: LightRow, merged: Sequence[LightRow]) -> bool:
    """Whether a row says what these rows say, one after the other."""
    calls = [call for each in merged for call in each.calls.split()]
    if row.calls.split() != calls or not all(each.calls or each.text for each in merged):
        return False
    text = " ".join(each.text for each in merged if each.text)
    limit = text_limit(row.role)
    if len(text) <= limit:
        return text in row.text
    return row.text == text[:limit] and (bool(calls) or row.size >= sum(each.size for each in merged))
