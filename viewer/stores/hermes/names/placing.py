"""The messages of rows whose times are lost: they continue in order from their neighbours.

All messages of the session are searched, in order, whether or not somebody compacted it meanwhile: an agent that has
the session in memory may not know about that.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import NamedTuple

from viewer.stores.hermes.records import LightRow, ending, text_limit, without_image, words

from .alignment import may_pair, related

_SHORTENED = "["  # the beginning of an agent's replacement for a result (`docs/hermes.md`, section 4)
_ASKED = 1_000  # messages that are searched for requests which were moved
_NEAR = 8  # messages that may be skipped: they were said elsewhere, or taken back


@dataclass(slots=True)
class PlacedMessage:
    """A message: its first row and the last one that carries only it, its newest row, and whether it was not taken
    back.
    """

    name: str
    alone: LightRow
    last_alone: LightRow
    newest: LightRow
    standing: bool


class _Line(NamedTuple):
    """The messages of a run's rows, by the row's index in the write, and how many messages in between were skipped."""

    row_messages: dict[int, list[int]]
    passed: int = 0

    @property
    def score(self) -> float:
        return len(self.row_messages) - self.passed if self.row_messages else -float("inf")


class Past:
    """The messages so far, in order. A position is an index of `messages`."""

    def __init__(self) -> None:
        self.messages: list[PlacedMessage] = []
        self.alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self.behind: dict[int, int] = {}  # position -> position of the message after its newest row
        self.last = -1  # position of the newest row's message
        self.all = False  # whether messages that were taken back count

    def carry(self, row: LightRow, name: str, positions: list[int], *, back: bool = False) -> None:
        """Add a row that carries the messages at these positions; the first may be new; `back` says that it was taken
        back.
        """
        if positions[0] == len(self.messages):
            self.messages.append(PlacedMessage(name, row, row, row, row.state != "out"))
        for position in positions:
            message = self.messages[position]
            message.newest = row
            message.last_alone = row if len(positions) == 1 else message.last_alone
            message.standing = not back and (message.standing or row.state != "out")
        if row.state != "out":
            self.behind[self.last] = positions[0]
            self.last = positions[-1]
        alike = self.alike[words(row)] if len(positions) == 1 else []
        if positions[0] not in alike[-1:]:
            insort(alike, positions[0])

    def stands(self, positions: Iterable[int]) -> None:
        """Record that these messages were in context, whatever the states of their rows."""
        for position in positions:
            self.messages[position].standing = True

    def follows(self, row: LightRow, position: int) -> int | None:
        """The message that a row may carry after this position: the next one, or one nearby that was not said
        elsewhere; for -1 the newest one with its words.
        """
        if position < 0:
            alike = self.alike.get(words(row), [])
            return next((each for each in reversed(alike) if self._counts(each)), next(reversed(alike), None))
        near = [*islice(self._counted_from(position + 1, 1), _NEAR)]
        candidates = [each for each in near[:1] if _may_say(row, self.messages[each])]
        candidates += [each for each in near if _says_the_same(row, self.messages[each])]
        # Rows are taken back from the end: of the taken-back messages only the first may be repeated, since nothing
        # after it is.
        out = next((each for each in range(position + 1, len(self.messages))[:_NEAR] if not self._counts(each)), None)
        if out is not None and _says_the_same(row, self.messages[out]):
            candidates.append(out)
        return next(iter(candidates), None)

    def ended_with(self, row: LightRow, position: int) -> bool:
        """Whether a row carries all of the last several messages after this position, or the last request: a rewritten
        transcript keeps that.
        """
        last = next(self._counted_from(len(self.messages) - 1, -1), -1)
        positions = self._merged_before(row, last) if last > position else []
        if len(positions) == 1:
            return row.role == "user" and _says_the_same(row, self.messages[last])
        return bool(positions) and positions[0] > position

    def placed(
        self, rows: Sequence[LightRow], run: range, row_messages: Mapping[int, Sequence[int]]
    ) -> dict[int, list[int]]:
        """The messages of rows whose times are lost: forwards from those before them, or backwards from those after
        them.
        """
        line = self._best(rows, run, row_messages)
        if line.score < len(run) and any(not message.standing for message in self.messages[-len(rows) :]):
            # From schema 23 on a compaction marks the originals of its tail like rows that were taken back.
            self.all = True
            line = max(line, self._best(rows, run, row_messages), key=lambda each: each.score)
            self.all = False
        if line.score < len(run) and all(row.of_compaction for row in rows[: run.start]):  # the beginning is out
            begun = self._along(rows, run, next(self._counted_from(0, 1), 0), 1, False, True)
            line = max(line, begun, key=lambda each: each.score)
        return line.row_messages

    def _best(self, rows: Sequence[LightRow], run: range, row_messages: Mapping[int, Sequence[int]]) -> _Line:
        lines = self._lines(rows, run, row_messages)
        if all(line.score < len(run) for line in lines):  # a request may have been moved: `pulled`
            lines += self._lines(rows, run, row_messages, in_order=False)
        return max(lines, key=lambda line: line.score)

    def _lines(
        self, rows: Sequence[LightRow], run: range, row_messages: Mapping[int, Sequence[int]], *, in_order: bool = True
    ) -> list[_Line]:
        lines: list[_Line] = []
        if run.start - 1 in row_messages:
            lines.append(self._along(rows, run, row_messages[run.start - 1][-1] + 1, 1, True, in_order))
        if run.stop in row_messages:
            lines.append(self._along(rows, run[::-1], row_messages[run.stop][0] - 1, -1, True, in_order))
        if all(line.score < len(run) for line in lines):
            lines.append(self._along(rows, run[::-1], len(self.messages) - 1, -1, False, in_order))
        if all(row.of_compaction for row in rows[: run.start]):
            lines.insert(0 if run.stop < len(rows) else len(lines), self._along(rows, run, 0, 1, False, in_order))
        return lines

    def pulled(self, rows: Sequence[LightRow], row_messages: Mapping[int, Sequence[int]]) -> dict[int, list[int]]:
        """The earlier messages of user rows that a compaction moved where the agent needed one."""
        claimed = {position for positions in row_messages.values() for position in positions}
        pulled_messages: dict[int, list[int]] = {}
        for at, row in enumerate(rows):
            if at not in row_messages and row.role == "user" and row.handoff != "standalone" and not row.scaffold:
                alike = ([position] for position in reversed(self.alike.get(words(row), ())) if position not in claimed)
                positions = next(alike, None) or self._merged_requests(row, claimed)
                pulled_messages |= {at: positions} if positions else {}
        return pulled_messages

    def _merged_requests(self, row: LightRow, claimed: Collection[int]) -> list[int]:
        """The newest requests that were merged into a row."""
        for first in range(len(self.messages))[: -_ASKED - 1 : -1]:
            begins = self.messages[first].alone
            if begins.role == "user" and first not in claimed and begins.text and row.text.startswith(begins.text):
                positions = self.merged(row, first, claimed)
                if len(positions) > 1:
                    return positions
        return []

    def with_results(
        self, rows: Sequence[LightRow], row_messages: Mapping[int, list[int]], timed: Mapping[int, list[int]]
    ) -> dict[int, list[int]]:
        """The messages of the rows, without calls that have new results, and without those results: ids of calls may be
        used again. A message from before such calls were merged into its row stays.
        """
        result = dict(row_messages)
        turn: list[int] = []
        for at, row in [*enumerate(rows), (len(rows), None)]:
            if row is not None and row.role == "tool":
                turn.append(at)
                continue
            if any(each not in result for each in turn):
                for each in turn:
                    if each not in timed and self._are_called(result.get(each, ())):
                        result.pop(each, None)
            turn = [at] if row is not None and row.calls else []
        return result

    def _are_called(self, positions: Iterable[int]) -> bool:
        """Whether one of these messages is a result, or has calls."""
        rows = [self.messages[position].alone for position in positions]
        return any(each.role == "tool" or each.calls for each in rows)

    def _along(
        self, rows: Sequence[LightRow], run: Sequence[int], edge: int, step: int, sure: bool, in_order: bool
    ) -> _Line:
        """The messages of a run's rows from `edge` on; unless `in_order`, requests only where they come next."""
        row_messages: dict[int, list[int]] = {}
        skipped = 0
        for at in run:
            positions = self._positions_of(rows[at], edge, step, sure or bool(row_messages))
            first = (positions[0] if step == 1 else positions[-1]) if positions else edge
            if positions and (in_order or first == edge or rows[at].role != "user"):
                row_messages[at] = positions
                skipped += min(abs(first - edge), _NEAR)
                edge = positions[-1] + 1 if step == 1 else positions[0] - 1
        return _Line(row_messages, skipped)

    def _positions_of(self, row: LightRow, edge: int, step: int, sure: bool) -> list[int]:
        """The messages of a row: the next from `edge` on if the row may carry it, else the nearest with its words; with
        several such messages, only while the neighbours are not `sure`.
        """
        for skipped, position in enumerate(islice(self._counted_from(edge, step), _NEAR)):
            positions = self.merged(row, position, ()) if step == 1 else self._merged_before(row, position)
            first = self.messages[positions[0]]
            if len(positions) > 1 or (_may_begin(row, first) if not skipped else _says_the_same(row, first)):
                return positions
        alike = self.alike.get(words(row), [])
        cut = bisect_left(alike, edge if step == 1 else edge + 1)
        order = alike[cut:] if step == 1 else alike[:cut][::-1]
        nearest = next((position for position in order if self._counts(position)), None)
        if nearest is None or (
            sure and len(alike) > 1 and nearest not in islice(self._counted_from(edge, step), _NEAR)
        ):
            return []
        return [nearest]

    def merged(self, row: LightRow, first: int, claimed: Collection[int]) -> list[int]:
        """The messages from `first` on that were merged into a row, without those in between that are claimed.

        A request may have been moved behind a tail: the message after it follows its newest row.
        """
        positions = [first]
        while self._says_more(row, positions):
            behind = positions[-1] + 1
            near = [
                *islice(self._counted_from(behind, 1), _NEAR),
                *range(behind, min(behind + _NEAR, len(self.messages))),
            ]
            if (neighbour := self.behind.get(positions[-1], -1)) >= behind:
                near.append(neighbour)
            following_positions = (
                each for each in near if each not in claimed and self._says_all(row, [*positions, each])
            )
            following = next(following_positions, None)
            if following is None:
                break
            positions.append(following)
        return positions

    def _says_more(self, row: LightRow, positions: Sequence[int]) -> bool:
        """Whether a row of the user, or of the agent, has more content than these messages."""
        rows = [self.messages[position].alone for position in positions]
        calls = [call for each in rows for call in each.calls.split()]
        limit = text_limit(row.role)
        text = " ".join(each.text for each in rows if each.text)[:limit]
        if row.role not in ("user", "assistant"):
            return False
        if len(text) == limit and row.text == text:
            return row.size > sum(each.size + 2 for each in rows)
        return row.text != text or row.calls.split() != calls

    def _says_all(self, row: LightRow, positions: Sequence[int]) -> bool:
        placed_messages = [self.messages[position] for position in positions]
        rows = [each.alone for each in placed_messages], [each.last_alone for each in placed_messages]
        return all(each.role == row.role for each in rows[0]) and any(_says_all(row, each) for each in rows)

    def _merged_before(self, row: LightRow, last: int) -> list[int]:
        """The messages up to `last` that were merged into a row."""
        positions = [last, *self._neighbours(last, -1)][::-1]
        for at in range(len(positions) - 1):
            if self._says_all(row, positions[at:]):
                return positions[at:]
        return [last]

    def _neighbours(self, position: int, step: int) -> Iterator[int]:
        """The neighbours of this message that no model may be sent directly next to it."""
        role = self.messages[position].alone.role
        for each in self._counted_from(position + step, step):
            if self.messages[each].alone.role != role or role not in ("user", "assistant"):
                return
            yield each

    def _counted_from(self, position: int, step: int) -> Iterator[int]:
        stop = len(self.messages) if step == 1 else -1
        return (each for each in range(position, stop, step) if self._counts(each))

    def _counts(self, position: int) -> bool:
        return self.all or self.messages[position].standing


def runs(placed: Sequence[bool], rows: Sequence[LightRow]) -> Iterator[range]:
    """The stretches of rows without known messages, between those with known messages and summaries."""
    edges = [at for at, row in enumerate(rows) if placed[at] or row.handoff == "standalone" or row.of_compaction]
    for left, right in pairwise([-1, *edges, len(rows)]):
        if right - left > 1:
            yield range(left + 1, right)


def _may_say(row: LightRow, message: PlacedMessage) -> bool:
    return any(_agree(row, each) for each in (message.newest, message.alone))


def _may_begin(row: LightRow, message: PlacedMessage) -> bool:
    """Whether a row may carry the message, or that one together with messages that were merged into it and exist
    nowhere else.
    """
    request = message.alone
    goes_on = row.role == request.role == "user" and bool(request.text) and row.text.startswith(f"{request.text} ")
    return goes_on or _may_say(row, message)


def _says_the_same(row: LightRow, message: PlacedMessage) -> bool:
    """Whether role and ids are equal, and the words, where the agent did not shorten them."""
    if _is_shortened(row):
        return _may_say(row, message)
    return words(row) in (words(message.newest), words(message.alone))


def _is_shortened(row: LightRow) -> bool:
    return row.role == "tool" and row.text.startswith(_SHORTENED)


def _agree(copy: LightRow, source: LightRow) -> bool:
    """Whether role, ids, calls and words allow the one to be a copy of the other."""
    goes_on = bool(source.text) and not source.calls and copy.text == source.text  # with calls that exist nowhere else
    if not may_pair(copy, source) or not (goes_on or copy.calls in ("", source.calls)):
        return False
    if _is_shortened(copy):
        return True
    copy, source = (replace(without_image(row), calls="", tool_call_id="") for row in (copy, source))
    ends = {ending(copy), ending(source)} - {""}
    return related(copy, source) and len(ends) < 2


def _says_all(row: LightRow, merged: Sequence[LightRow]) -> bool:
    """Whether a row has the content of these rows, one after the other."""
    calls = [call for each in merged for call in each.calls.split()]
    if row.calls.split() != calls or not all(each.calls or each.text for each in merged):
        return False
    text = " ".join(each.text for each in merged if each.text)
    limit = text_limit(row.role)
    if len(text) <= limit:
        return text in row.text
    return row.text == text[:limit] and (bool(calls) or row.size >= sum(each.size for each in merged))
