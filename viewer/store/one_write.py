"""Blocks of rows without names, told by times: which rows were written with a handoff, and of what each is a copy.

The owner inserts a block in one loop (`_insert_message_rows` in hermes_state.py, 0.18 to 0.22): a message that has a
time keeps it, one without gets the moment of the write, each row a microsecond after the one before. What is said later
is later by more. So the extent of a block is certain before anybody asks what its rows are copies of; and as nearly
every row of it is a copy, only the order is left to decide of what. Two messages may have been merged into one row on
the way: no model is sent two messages of the user, or two of the agent, in a row (`repair_message_sequence`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, zip_longest

from .alignment import STEP, TEXT_CHARACTERS, LightRow, Pair, may_be_head, may_pair, related, words

_NEAR = 64  # rows of the context among which a copy between two others that are placed is sought


class Write:
    """What was written with a handoff, given its `context`: the rows before it, the generation's from `start` on.

    `moments` are the rows' times as stored; in the rows themselves a time that tells nothing is 0.
    """

    def __init__(
        self, context: Sequence[LightRow], start: int, moments: Mapping[int, float], handoff: LightRow
    ) -> None:
        self.context, self.start, self.moments, self.handoff = context, start, moments, handoff
        self.end = len(context)  # of what was there before; the head stands behind it
        self.at: dict[tuple[str, float], list[int]] = defaultdict(list)
        self.alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for at, row in enumerate(context):
            self.at[row.role, row.time].append(at)
            self.alike[words(row)].append(at)
        # When which row was written, counted from the handoff; a carrier may have kept its message's time.
        self.stamp = (moments[handoff.id], 0) if self._message(handoff) is None else None

    # -- which rows

    def before(self, rows: Sequence[LightRow]) -> list[LightRow]:
        """The last of these rows, those directly before the handoff that were written with it: the head."""
        found: list[LightRow] = []
        first = len(self.context)
        for row in reversed(rows):
            kept = self._message(row)
            if not may_be_head(row, self.handoff) or (kept is None and not self._is_stamped(row, -len(found) - 1)):
                break
            if kept is not None and kept >= first:
                found += [row] if row.role == "user" else []  # the newest request, put before an assistant that leads
                break
            found.append(row)
            first = first if kept is None else kept
        return found[::-1]

    def behind(self, rows: Sequence[LightRow], opening: Iterable[LightRow]) -> list[LightRow]:
        """The first of these rows, those directly behind the handoff that were written with it and with `opening`.

        They stand in order, but for a request that was put before what answers it; the next block begins anew. What an
        agent said itself has no time in its memory, what it read from the store has.
        """
        seen = {(row.role, row.time) for row in (*opening, self.handoff) if row.time}
        carried = self._newest(self.handoff)
        last = -1 if carried is None else carried
        self.stamp = self.stamp or self._first_stamp(rows)
        found: list[LightRow] = []
        told = 0
        for row, following in zip_longest(rows, rows[1:]):
            kept = self._newest(row)
            if kept is None and not row.time:
                kept = self._next_alike(row, last)
            if kept is None and (row.scaffold or row.handoff == "standalone"):
                found.append(row)  # what nobody says belongs to what it stands in
                continue
            if (row.role, row.time) in seen or (kept is None and not self._is_stamped(row, len(found) + 1)):
                break
            if kept is not None and kept < last:
                after = self._newest(following) if following else None
                if row.role != "user" or (after is not None and after < last):
                    break
            # What has lost its time is newer than the rest.
            last = len(self.context) if kept is None else max(last, kept)
            seen |= {(row.role, row.time)} if row.time else set()
            found.append(row)
            told = len(found)
        return found[:told]

    def _next_alike(self, row: LightRow, last: int) -> int | None:
        """Where the context goes on behind `last`, if a row whose time tells nothing says just that."""
        for at in range(last + 1, self.end) if last >= 0 else ():
            if words(row) == words(self.context[at]):
                return at
            if not self._is_out(at):
                break
        return None

    def _kept(self, row: LightRow) -> Iterator[int]:
        """Where in the context the rows stand whose time and role this one kept, the oldest first."""
        alike = self.at.get((row.role, row.time), ()) if row.time else ()
        return (at for at in alike if self.context[at].id < row.id and related(row, self.context[at]))

    def _message(self, row: LightRow) -> int | None:
        return next(self._kept(row), None)

    def _newest(self, row: LightRow) -> int | None:
        return max((at for at in self._kept(row) if at < self.end), default=None)

    def _is_stamped(self, row: LightRow, distance: int) -> bool:
        """Whether the row got the moment of the write, so many rows behind the handoff."""
        if self.stamp is None:
            return False
        moment, at = self.stamp
        return distance == at or 0 < (self.moments[row.id] - moment) / (distance - at) < STEP

    def _first_stamp(self, rows: Sequence[LightRow]) -> tuple[float, int] | None:
        """The first row behind a carrier that did not keep a time, if it was written with it: the next one was written
        at once, or it says what the context went on with.
        """
        last = self.handoff
        for distance, (row, following) in enumerate(zip_longest(rows, rows[1:]), 1):
            if self._message(row) is None and not row.scaffold:
                moment = self.moments[row.id]
                if following and 0 < self.moments[following.id] - moment < STEP:
                    return moment, distance
                said = self._merged(last, [self._newest(last) or 0], 1, ())
                rest = (each for each in self.context[max(said) + 1 : self.end] if each.state != "out")
                return (moment, distance) if any(_may_say(row, each) for each in rest) else None
            last = row
        return None

    # -- of what

    def sources(self, opening: Sequence[LightRow], behind: Sequence[LightRow]) -> tuple[list[Pair], list[Pair]]:
        """The rows of the write, in order, each with the rows of the context that it says: those before the handoff,
        which begin where the generation does, and from it on, which end where the context does.
        """
        self.end = len(self.context) - len(opening)
        carrier = [self.handoff] if self.handoff.handoff == "merged" else []
        tail = [row for row in (*carrier, *behind) if row.handoff != "standalone"]
        return self._pairs(opening, 1), self._pairs(tail, -1)

    def _pairs(self, copies: Sequence[LightRow], step: int) -> list[Pair]:
        placed, pulled = self._placed(copies, step)
        self._fill(copies, placed, pulled, step)
        taken = set(placed.values())
        pairs: list[Pair] = []
        for at, source in sorted(placed.items()):
            earlier = self._merged(copies[at], [source], -1, taken)
            said = self._merged(copies[at], earlier, 1, taken)
            pairs += [(copies[at], self.context[each]) for each in sorted(said)]
        return pairs

    def _placed(self, copies: Sequence[LightRow], step: int) -> tuple[dict[int, int], set[int]]:
        """Where in the context the rows stand that these surely say, by time or by what they say, in order; and which
        of them is a request that was put where the agent needed one.
        """
        placed: dict[int, int] = {}
        pulled: set[int] = set()
        edge = self.start if step == 1 else self.end - 1  # where the next one is expected
        for at in range(len(copies))[::step]:
            found = self._place(copies[at], edge, step)
            if found is None:
                continue
            placed[at] = found
            following = self._place(copies[at + step], edge, step) if 0 <= at + step < len(copies) else None
            if copies[at].role == "user" and following is not None and step * (following - found) < 0:
                pulled.add(at)
            else:
                edge = max(edge, found + 1) if step == 1 else min(edge, found - 1)
        return placed, pulled

    def _place(self, copy: LightRow, edge: int, step: int) -> int | None:
        kept = self._newest(copy)
        if kept is not None or copy.scaffold:
            return kept
        beside = next(self._standing(edge, step), None)
        if beside is not None and _may_say(copy, self.context[beside]):
            return beside
        alike = self.alike.get(words(copy), [])
        from_edge = bisect_left(alike, edge if step == 1 else edge + 1)
        order = alike[from_edge : bisect_left(alike, self.end)] if step == 1 else alike[:from_edge][::-1]
        return next((at for at in order if not self._is_out(at)), next(iter(order), None))

    def _fill(self, copies: Sequence[LightRow], placed: dict[int, int], pulled: set[int], step: int) -> None:
        """Give the rows between those that are placed what stands between those in the context."""
        known = sorted((at, source) for at, source in placed.items() if at not in pulled)
        edges = [(-1, self.start - 1 if step == 1 else -1), *known, (len(copies), self.end)]
        taken = set(placed.values())
        for (left, after), (right, until) in pairwise(edges):
            back = step == -1 and left == -1  # a tail's first rows end where its first placed row begins
            free = [at for at in range(after + 1, until)[:: -1 if back else 1] if at not in taken]
            free.sort(key=self._is_out)
            for at in range(left + 1, right)[:: -1 if back else 1]:
                if at in pulled or copies[at].scaffold:
                    continue
                near = list(islice(free, _NEAR))
                found = next((place for place in near if _may_say(copies[at], self.context[place])), None)
                if found is None and near and _agree(copies[at], self.context[near[0]]):
                    found = near[0]  # an image may have been left out of it
                if found is not None:
                    placed[at] = found
                    free = free[free.index(found) + 1 :]

    def _merged(self, row: LightRow, said: list[int], step: int, taken: Collection[int]) -> list[int]:
        """The places that a row says, given some, with those beside them that were merged into it."""
        for beside in self._standing((max(said) if step == 1 else min(said)) + step, step):
            other = self.context[beside]
            merged = beside not in taken and other.role == row.role in ("user", "assistant")
            if not (merged and _says_all(row, [self.context[each] for each in sorted([*said, beside])])):
                break
            said = [*said, beside]
        return said

    def _standing(self, at: int, step: int) -> Iterator[int]:
        """The places from here on that were not taken back."""
        return (each for each in range(at, self.end if step == 1 else -1, step) if not self._is_out(each))

    def _is_out(self, at: int) -> bool:
        return self.context[at].state == "out"


def _may_say(copy: LightRow, source: LightRow) -> bool:
    return _agree(copy, source) and (copy.role == "tool" or related(copy, source))


def _agree(copy: LightRow, source: LightRow) -> bool:
    """Whether role, ids and calls let the one be a copy of the other."""
    calls = set(source.calls.split()) <= set(copy.calls.split())
    return may_pair(copy, source) and (calls or not copy.calls)


def _says_all(row: LightRow, merged: Sequence[LightRow]) -> bool:
    """Whether a row says what these rows say, one after the other."""
    merged = [each for each in merged if each.handoff != "standalone"]
    calls = [call for each in merged for call in each.calls.split()]
    if row.calls.split() != calls or not all(each.calls or each.text for each in merged):
        return False
    text = " ".join(each.text for each in merged if each.text)
    if len(text) <= TEXT_CHARACTERS:
        return text in row.text
    return row.text == text[:TEXT_CHARACTERS] and (bool(calls) or row.size >= sum(each.size for each in merged))
