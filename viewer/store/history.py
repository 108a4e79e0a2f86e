"""Boundaries, generations and once-only History of one session, from light rows alone: a pure function.

Theory (`interop/hermes.md` section 9, proven on databases Hermes wrote). A compaction inserts one *block* of rows:
copies of the
head, the handoff, copies of the tail. Nothing marks a copy as a copy, so copies are found by alignment:

- head copies are the longest run just before the handoff that equals the first rows of the generation before it;
- tail copies are the run just after the handoff (with the carrier itself, if live text was merged into it) that lines
up, one
  to one, with the *last* rows of the generation before it: role and tool call id always equal, and at least half of the
  pairs
  surely equal (same time, or same text and call ids). Never equal bytes: the agent strips white space, shortens old
  tool output,
  writes stubs.

A generation is the id range from one block's start to the next block's. Chaining copy -> origin gives each message its
rows; it is
shown once, where its first row stands. Rows at (0,0) are superseded when another row carries the message and taken back
otherwise.
A block that stands wholly at (0,0) was undone: it is no boundary and its rows are nobody's copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

State = Literal["live", "under", "out"]


@dataclass(frozen=True, slots=True)
class LightRow:
    """What History needs of one row of `messages`.

    `state` is "live" for (1,0), "under" for (0,1) and "out" for (0,0). `text` is the start of the live text, white
    space folded;
    `calls` the ids of its tool calls; `size` the octets of its live content and calls. `handoff` says whether the row
    holds a
    compaction summary, alone ("standalone") or with live text ("merged"); `handoff_key` then identifies the summary's
    text.
    `scaffold` marks a user row that the agent wrote for itself around a compaction.
    """

    id: int
    role: str
    state: State
    time: float
    tool_call_id: str = ""
    calls: str = ""
    text: str = ""
    size: int = 0
    handoff: Literal["", "standalone", "merged"] = ""
    handoff_key: str = ""
    scaffold: bool = False


@dataclass(frozen=True, slots=True)
class Boundary:
    """One compaction that stands: its block and what it did. Ids in `block_ids` and `before_ids` are rows, the others
    messages.

    `cut_id` is the message directly before which the boundary is shown, None when the tail kept nothing.
    """

    handoff_id: int
    time: float
    block_ids: tuple[int, ...]
    before_ids: tuple[int, ...]
    cut_id: int | None
    copies: tuple[tuple[int, int], ...]  # (copy row, row it was copied from) within the generation before
    summarised_ids: tuple[int, ...]
    kept_ids: tuple[int, ...]
    shortened_ids: tuple[int, ...]

    @property
    def messages_before(self) -> int:
        return len(self.before_ids)

    @property
    def messages_after(self) -> int:
        return len(self.block_ids)


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of History: `id` is its first row, `rows` all rows that carry it, oldest first.

    `full_id` is the row with the fullest text, `newest_id` the newest row, whose state is the message's. `shortened`
    says that the
    model now sees less than `full_id` holds.
    """

    id: int
    rows: tuple[int, ...]
    full_id: int
    newest_id: int
    state: Literal["live", "under"]
    shortened: bool


@dataclass(frozen=True, slots=True)
class History:
    """The once-only reading of a session: `items` in the order of display, a boundary directly before the first message
    it kept."""

    items: tuple[Entry | Boundary, ...]
    boundaries: tuple[Boundary, ...]
    message_of: dict[int, int]  # every shown row id -> message id

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(item for item in self.items if isinstance(item, Entry))


def build(rows: Sequence[LightRow]) -> History:
    """The History of `rows`: all rows of one session, or of a chain of split sessions, in id order."""
    times = {row.id: row.time for row in rows if row.handoff}
    rows = _with_telling_times(rows)
    openers, carried = _openers(rows)
    reading = _Reading(carried, times)
    reading.append(rows[: openers[0]] if openers else rows)
    for index, end in pairwise([*openers, len(rows)]):
        reading.compaction(rows[index], rows[index + 1 : end])
    reading.settle()
    entries = [entry for chain in reading.chains.values() if (entry := _entry(chain)) is not None]
    message_of = {row_id: entry.id for entry in entries for row_id in entry.rows}
    return History(_ordered(entries, reading.boundaries), tuple(reading.boundaries), message_of)


def _openers(rows: Sequence[LightRow]) -> tuple[list[int], set[str]]:
    """Where the handoffs stand, and the keys of those that stand again: some agents carry old ones along as if they
    were turns."""
    openers: list[int] = []
    seen: set[str] = set()
    carried: set[str] = set()
    for index, row in enumerate(rows):
        if row.handoff == "standalone" and row.handoff_key in seen:
            carried.add(row.handoff_key)
        elif row.handoff:
            openers.append(index)
            seen.add(row.handoff_key)
    return openers, carried


# -- blocks ----------------------------------------------------------------------------------------------------------

Pair = tuple[LightRow, LightRow]  # (copy, the row it was copied from)


class _Reading:
    """Rows taken in from oldest to newest: the chain of rows of each message, the current generation, the boundaries so
    far."""

    def __init__(self, carried: set[str], times: dict[int, float]) -> None:
        self.carried = carried  # keys of handoffs that a later block copied
        self.times = times  # of handoff rows, as stored
        self.chains: dict[int, list[LightRow]] = {}  # message id -> its rows, oldest first
        self.root: dict[int, int] = {}  # row id -> message id
        self.generation: list[LightRow] = []
        self.pending: list[LightRow] = []  # rows since the last block, among them the next block's head copies
        self.boundaries: list[Boundary] = []

    def append(self, rows: Sequence[LightRow]) -> None:
        self.pending.extend(rows)

    def compaction(self, handoff: LightRow, after: Sequence[LightRow]) -> None:
        """Take in a handoff and the rows up to the next one."""
        head = self._head(handoff)
        self.pending = self.pending[: len(self.pending) - len(head)]
        self.settle()
        carrier = [handoff] if handoff.handoff == "merged" else []
        tail = self._tail([*carrier, *(row for row in after if row.handoff != "standalone")])
        last = tail[-1][0].id if tail else handoff.id
        block = [*(copy for copy, _ in head), handoff, *(row for row in after if row.id <= last)]
        if handoff.handoff_key in self.carried or any(row.state != "out" for row in block):
            self._stands(handoff, block, [*head, *tail], tail)
        self.append([row for row in after if row.id > last])

    def settle(self) -> None:
        """Make the pending rows messages of the current generation, copies of a compaction without a handoff aside."""
        self.generation.extend(self.pending)
        self._add(self.pending)
        self.pending = []
        for copy, source in _repetition(self.generation):
            self._join(copy, source)

    def _head(self, handoff: LightRow) -> list[Pair]:
        """Head copies equal the first rows of the generation, or the session's first messages if the agent kept them in
        memory."""
        in_generation = _head_run([*self.generation, *self.pending], self.pending, handoff)
        return in_generation or _head_run([*self._messages(), *self.pending], self.pending, handoff)

    def _tail(self, candidates: list[LightRow]) -> list[Pair]:
        """Tail copies line up with the last messages. An agent that compacts from memory reaches back behind the last
        boundary."""
        return _tail_run(self._messages(), candidates) or _tail_run(
            [row for row in self.generation if row.handoff != "standalone"], candidates
        )

    def _messages(self) -> list[LightRow]:
        return [chain[-1] for chain in self.chains.values()]

    def _stands(self, handoff: LightRow, block: list[LightRow], copies: list[Pair], tail: list[Pair]) -> None:
        copied = {source.id for _, source in copies}
        before = [row for row in self.generation if row.state != "out" or row.id in copied]
        kept = {self.root[source.id] for _, source in copies if source.id in self.root}
        of_messages = [(copy, source) for copy, source in copies if source.id in self.root]
        self.boundaries.append(
            Boundary(
                handoff_id=handoff.id,
                time=self.times[handoff.id],
                block_ids=tuple(row.id for row in block),
                before_ids=tuple(row.id for row in before),
                cut_id=self.root[tail[0][1].id] if tail else None,
                copies=tuple((copy.id, source.id) for copy, source in copies),
                summarised_ids=tuple(
                    self.root[row.id] for row in before if row.id in self.root and self.root[row.id] not in kept
                ),
                kept_ids=tuple(self.root[source.id] for _, source in of_messages),
                shortened_ids=tuple(self.root[source.id] for copy, source in of_messages if _shorter(copy, source)),
            )
        )
        for copy, source in of_messages:
            self._join(copy, source)
        self._add(row for row in block if row.id not in self.root)
        self.generation = block

    def _add(self, rows: Iterable[LightRow]) -> None:
        for row in rows:
            if row.handoff != "standalone":
                self.chains[row.id] = [row]
                self.root[row.id] = row.id

    def _join(self, copy: LightRow, source: LightRow) -> None:
        self.chains.pop(copy.id, None)
        self.root[copy.id] = self.root[source.id]
        self.chains[self.root[source.id]].append(copy)


def _head_run(before: list[LightRow], pending: list[LightRow], handoff: LightRow) -> list[Pair]:
    """The longest run at the end of `pending` that equals, row for row, the beginning of `before` (which ends with
    `pending`)."""
    best = 0
    for length in range(1, min(len(pending), len(before) // 2, _LONGEST_HEAD) + 1):
        if not _may_be_copy(before[-length], handoff):
            break
        if all(_sure(copy, source) for copy, source in zip(before[-length:], before, strict=False)):
            best = length
    return list(zip(before[len(before) - best :], before, strict=False)) if best else []


_LONGEST_HEAD = 64  # heads are `protect_first_n` rows and their tool results; a longer search would only cost time


def _may_be_copy(row: LightRow, handoff: LightRow) -> bool:
    """Whether a row can be a head copy by its state: take-backs go from the end, so a live handoff has its whole
    head."""
    return row.state == "live" if handoff.state == "live" else handoff.state == "out" or row.state != "live"


def _repetition(generation: list[LightRow]) -> list[Pair]:
    """Copies made without a handoff: an agent that only prunes old output archives its rows and inserts them all again.

    Only told by times: people and programs do say the same things twice, but not at the same moments.
    """
    rows = [row for row in generation if row.handoff != "standalone"]
    for start in range(2, len(rows) // 2 + 1):
        if _same_time(rows[start], rows[0]) and _sure(rows[start], rows[0]):
            pairs = _line_up(rows[:start], 0, rows[start:])
            if 2 * sum(_same_time(copy, source) for copy, source in pairs) > len(pairs):
                return pairs
    return []


def _same_time(copy: LightRow, source: LightRow) -> bool:
    return copy.time == source.time != 0


# -- alignment -------------------------------------------------------------------------------------------------------


def _key(row: LightRow) -> tuple[str, str]:
    return (row.role, row.tool_call_id)


def _with_telling_times(rows: Sequence[LightRow]) -> list[LightRow]:
    """The rows, with the time 0 where it tells nothing: rows that cannot be one message have it too (imports,
    batches)."""
    first: dict[float, LightRow] = {}
    shared: set[float] = set()
    for row in rows:
        if not _related(row, first.setdefault(row.time, row)):
            shared.add(row.time)
    return [replace(row, time=0.0) if row.time in shared else row for row in rows]


def _related(a: LightRow, b: LightRow) -> bool:
    """Whether two rows may say one message, one of them shortened: texts that begin alike, or a stub for output or
    calls."""
    if _key(a) != _key(b):
        return False
    alike = a.text.startswith(b.text[:_ALIKE]) if b.text else not a.text
    alike = alike or bool(a.text and b.text.startswith(a.text[:_ALIKE]))
    return alike or bool(a.tool_call_id or a.calls or b.calls)


_ALIKE = 40  # characters


def _sure(copy: LightRow, source: LightRow) -> bool:
    """Whether these surely say one message: equal text and calls, or one time that only rows of one message have."""
    if _key(copy) != _key(source) or (copy.handoff == "standalone") != (source.handoff == "standalone"):
        return False
    if copy.handoff == "standalone":
        return copy.handoff_key == source.handoff_key
    told = bool(copy.text or copy.calls)
    return _same_time(copy, source) or (told and copy.text == source.text and copy.calls == source.calls)


def _tail_run(sources: list[LightRow], candidates: list[LightRow]) -> list[tuple[LightRow, LightRow]]:
    """(copy, source) pairs of the tail: the start of `candidates` lined up with the end of `sources`; the longest that
    holds."""
    copies = [row for row in candidates if not row.scaffold]
    best: list[tuple[LightRow, LightRow]] = []
    for first in _starts(sources, copies):
        pairs = _line_up(sources, first, copies)
        if len(pairs) >= len(best) and 2 * sum(_sure(copy, source) for copy, source in pairs) >= len(pairs):
            best = pairs
    return best


_PROBES = 8  # the first copies may be stubs with a lost time; one of the first eight is surely recognisable in practice


def _starts(sources: list[LightRow], copies: list[LightRow]) -> Iterator[int]:
    """Places in `sources` where the first copy may come from: found through the first copies that are surely
    somewhere."""
    by_time: dict[tuple[str, str, float], list[int]] = defaultdict(list)
    by_text: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(sources):
        by_time[(*_key(row), row.time)].append(index)
        if row.text or row.calls:
            by_text[(*_key(row), row.text, row.calls)].append(index)
    tried: set[int] = set()
    for probe, copy in enumerate(copies[:_PROBES]):
        found = by_time[(*_key(copy), copy.time)] or by_text[(*_key(copy), copy.text, copy.calls)]
        for index in found:
            start = _step_back(sources, index, copies[:probe])
            if start is not None and start not in tried:
                tried.add(start)
                yield start
        if tried:
            return


def _step_back(sources: list[LightRow], index: int, copies: list[LightRow]) -> int | None:
    """Where the first of `copies` comes from, when the row behind the last of them comes from `sources[index]`."""
    for copy in reversed(copies):
        index -= 1
        while index >= 0 and _key(sources[index]) != _key(copy) and sources[index].state == "out":
            index -= 1
        if index < 0 or _key(sources[index]) != _key(copy):
            return None
    return index


def _line_up(sources: list[LightRow], first: int, copies: list[LightRow]) -> list[tuple[LightRow, LightRow]]:
    """Pairs from `sources[first]` to the end of `sources`, in step with `copies`; empty when they fall out of step.

    Only rows that are (0,0) may be passed over: they were taken back before the compaction and so were not copied.
    """
    pairs: list[tuple[LightRow, LightRow]] = []
    index = first
    for copy in copies:
        index = _next_source(sources, index, copy)
        if index == len(sources):
            return pairs
        if _key(sources[index]) != _key(copy):
            return []
        pairs.append((copy, sources[index]))
        index += 1
    return pairs if all(row.state == "out" for row in sources[index:]) else []


def _next_source(sources: list[LightRow], index: int, copy: LightRow) -> int:
    """The next row `copy` can come from: this one, or a surer or fitting one behind rows that were taken back."""
    fitting: int | None = None
    while index < len(sources):
        if _sure(copy, sources[index]):
            return index
        if fitting is None and _key(sources[index]) == _key(copy):
            fitting = index
        if sources[index].state != "out":
            return index if fitting is None else fitting
        index += 1
    return index if fitting is None else fitting


# -- messages --------------------------------------------------------------------------------------------------------


def _entry(chain: list[LightRow]) -> Entry | None:
    newest = chain[-1]
    if newest.state == "out":
        return None
    full = max(chain, key=lambda row: row.size)
    return Entry(
        id=chain[0].id,
        rows=tuple(row.id for row in chain),
        full_id=full.id,
        newest_id=newest.id,
        state=newest.state,
        shortened=_shorter(newest, full),
    )


def _shorter(row: LightRow, full: LightRow) -> bool:
    """Whether `row` says less than `full`: a smaller size with another text or calls, or a cut behind an equal
    beginning."""
    return row.size < full.size and (row.text != full.text or row.calls != full.calls or row.size < 0.9 * full.size)


def _ordered(entries: list[Entry], boundaries: Sequence[Boundary]) -> tuple[Entry | Boundary, ...]:
    """Entries by first row; each boundary before its cut, or by its handoff's id where the tail kept nothing."""

    def place(item: Entry | Boundary) -> tuple[int, int, int]:
        if isinstance(item, Entry):
            return (item.id, 1, 0)
        return (item.handoff_id if item.cut_id is None else item.cut_id, 0, item.handoff_id)

    return tuple(sorted([*entries, *boundaries], key=place))
