"""Boundaries, generations and once-only History of one session, from light rows alone: a pure function.

Theory (`interop/hermes.md` section 9, proven on databases Hermes wrote). A compaction inserts one *block* of rows: copies of the
head, the handoff, copies of the tail. Nothing marks a copy as a copy, so copies are found by alignment:

- head copies are the longest run just before the handoff that equals the first rows of the generation before it;
- tail copies are the run just after the handoff (with the carrier itself, if live text was merged into it) that lines up, one
  to one, with the *last* rows of the generation before it: role and tool call id always equal, and at least half of the pairs
  surely equal (same time, or same text and call ids). Never equal bytes: the agent strips white space, shortens old tool output,
  writes stubs.

A generation is the id range from one block's start to the next block's. Chaining copy -> origin gives each message its rows; it is
shown once, where its first row stands. Rows at (0,0) are superseded when another row carries the message and taken back otherwise.
A block that stands wholly at (0,0) was undone: it is no boundary and its rows are nobody's copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["live", "under", "out"]


@dataclass(frozen=True, slots=True)
class LightRow:
    """What History needs of one row of `messages`.

    `state` is "live" for (1,0), "under" for (0,1) and "out" for (0,0). `text` is the start of the live text, white space folded;
    `calls` the ids of its tool calls; `size` the octets of its live content and calls. `handoff` says whether the row holds a
    compaction summary, alone ("standalone") or with live text ("merged"); `handoff_key` then identifies the summary's text.
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
    """One compaction that stands: its block and what it did. Ids in `block_ids` and `before_ids` are rows, the others messages.

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

    `full_id` is the row with the fullest text, `newest_id` the newest row, whose state is the message's. `shortened` says that the
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
    """The once-only reading of a session: `items` in the order of display, a boundary directly before the first message it kept."""

    items: tuple[Entry | Boundary, ...]
    boundaries: tuple[Boundary, ...]
    message_of: dict[int, int]  # every shown row id -> message id

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(item for item in self.items if isinstance(item, Entry))


def build(rows: Sequence[LightRow]) -> History:
    """The History of `rows`: all rows of one session, or of a chain of split sessions, in id order. O(rows) but for ties."""
    blocks, ignored = _find_blocks(rows)
    origin = {copy: source for block in blocks for copy, source in block.copies}
    origin.update(_pruned_copies(rows, blocks, ignored))
    chains = _chains(rows, origin, ignored)
    root = {row.id: chain[0].id for chain in chains for row in chain}
    by_id = {row.id: row for row in rows}
    boundaries = tuple(_boundary(block, root, by_id) for block in blocks)
    entries = [entry for chain in chains if (entry := _entry(chain)) is not None]
    message_of = {row_id: entry.id for entry in entries for row_id in entry.rows}
    return History(_ordered(entries, boundaries), boundaries, message_of)


# -- blocks ------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    handoff: LightRow
    rows: tuple[LightRow, ...]
    before: tuple[LightRow, ...]
    copies: tuple[tuple[int, int], ...]
    first_tail: LightRow | None


def _find_blocks(rows: Sequence[LightRow]) -> tuple[list[_Block], set[int]]:
    """The blocks that stand, oldest first, and the ids of the rows of undone blocks."""
    blocks: list[_Block] = []
    ignored: set[int] = set()
    seen: dict[str, float] = {}
    handoffs = [index for index, row in enumerate(rows) if _opens_a_block(row, seen)]
    generation_start = 0
    for number, index in enumerate(handoffs):
        end = handoffs[number + 1] if number + 1 < len(handoffs) else len(rows)
        before = [row for row in rows[generation_start:index] if row.id not in ignored]
        block = _block_around(rows[index], before, rows[index + 1 : end])
        if all(row.state == "out" for row in block.rows):
            ignored.update(row.id for row in block.rows)
            continue
        blocks.append(block)
        generation_start = index - sum(row.id < rows[index].id for row in block.rows)
    return blocks, ignored


def _opens_a_block(row: LightRow, seen: dict[str, float]) -> bool:
    """Whether this row's handoff is new: agents that split sessions carry old handoffs along as if they were turns."""
    if not row.handoff:
        return False
    repeated = row.handoff_key in seen and row.handoff == "standalone"
    seen.setdefault(row.handoff_key, row.time)
    return not repeated


def _block_around(handoff: LightRow, before: list[LightRow], after: Sequence[LightRow]) -> _Block:
    head = _head_run(before, handoff)
    generation = before[: len(before) - len(head)]
    sources = [row for row in generation if row.handoff != "standalone"]
    candidates = ([handoff] if handoff.handoff == "merged" else []) + [row for row in after if row.handoff != "standalone"]
    tail = _tail_run(sources, candidates)
    copied = {source.id for _, source in (*head, *tail)}
    members = [copy for copy, _ in head] + [handoff] + [row for row in _between(after, tail)]
    was_live = [row for row in generation if row.state != "out" or row.id in copied]
    copies = tuple((copy.id, source.id) for copy, source in (*head, *tail))
    return _Block(handoff, tuple(members), tuple(was_live), copies, tail[0][1] if tail else None)


def _between(after: Sequence[LightRow], tail: list[tuple[LightRow, LightRow]]) -> list[LightRow]:
    """The rows behind the handoff that its block inserted: up to the last tail copy, the agent's own scaffolding included."""
    last = tail[-1][0].id if tail else 0
    return [row for row in after if row.id <= last]


def _head_run(before: list[LightRow], handoff: LightRow) -> list[tuple[LightRow, LightRow]]:
    """The longest run at the end of `before` that equals, row for row, its beginning."""
    best = 0
    for length in range(1, len(before) // 2 + 1):
        run = before[-length:]
        if not _may_be_copy(run[0], handoff):
            break
        if all(_sure(copy, source) for copy, source in zip(run, before, strict=False)):
            best = length
        elif length > _LONGEST_HEAD:
            break
    return list(zip(before[len(before) - best :], before, strict=False)) if best else []


_LONGEST_HEAD = 64  # heads are `protect_first_n` rows and their tool results; a longer search would only cost time


def _may_be_copy(row: LightRow, handoff: LightRow) -> bool:
    """A block's rows are archived together with its handoff: one cannot be under while the other is still in context."""
    return row.state == "out" or handoff.state == "out" or row.state == handoff.state


# -- alignment ---------------------------------------------------------------------------------------------------------------


def _key(row: LightRow) -> tuple[str, str]:
    return (row.role, row.tool_call_id)


def _sure(copy: LightRow, source: LightRow) -> bool:
    if _key(copy) != _key(source):
        return False
    if copy.time == source.time:
        return True
    return copy.text == source.text and copy.calls == source.calls and bool(copy.text or copy.calls)


def _tail_run(sources: list[LightRow], candidates: list[LightRow]) -> list[tuple[LightRow, LightRow]]:
    """(copy, source) pairs of the tail: the start of `candidates` lined up with the end of `sources`; the longest that holds."""
    copies = [row for row in candidates if not row.scaffold]
    best: list[tuple[LightRow, LightRow]] = []
    for first in _starts(sources, copies):
        pairs = _line_up(sources, first, copies)
        if len(pairs) > len(best) and 2 * sum(_sure(copy, source) for copy, source in pairs) >= len(pairs):
            best = pairs
    return best


_PROBES = 8  # the first copies may be stubs with a lost time; one of the first eight is surely recognisable in practice


def _starts(sources: list[LightRow], copies: list[LightRow]) -> Iterator[int]:
    """Places in `sources` where the first copy may come from: found through the first copies that are surely somewhere."""
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


def _pruned_copies(rows: Sequence[LightRow], blocks: list[_Block], ignored: set[int]) -> dict[int, int]:
    """Copies made without any handoff: an agent that only prunes old output archives its rows and inserts them all again."""
    start = blocks[-1].rows[0].id if blocks else 0
    generation = [row for row in rows if row.id >= start and row.id not in ignored and row.handoff != "standalone"]
    archived = [index for index, row in enumerate(generation) if row.state == "under"]
    if not archived:
        return {}
    live = next((index for index in range(archived[-1] + 1, len(generation)) if generation[index].state == "live"), None)
    if live is None:
        return {}
    pairs = _line_up(generation[:live], 0, generation[live:])
    sure = sum(_sure(copy, source) for copy, source in pairs)
    return {copy.id: source.id for copy, source in pairs} if 2 * sure >= len(pairs) else {}


# -- messages ----------------------------------------------------------------------------------------------------------------


def _chains(rows: Sequence[LightRow], origin: dict[int, int], ignored: set[int]) -> list[list[LightRow]]:
    """The rows of each message, oldest first, in the order of the messages' first rows. Standalone handoffs are no messages."""
    chains: dict[int, list[LightRow]] = {}
    first: dict[int, int] = {}
    for row in rows:
        if row.handoff == "standalone" or row.id in ignored:
            continue
        source = origin.get(row.id)
        first[row.id] = row.id if source is None else first[source]
        chains.setdefault(first[row.id], []).append(row)
    return list(chains.values())


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
    """Whether `row` says less than `full`: a smaller size with another text or calls, or a cut behind an equal beginning."""
    return row.size < full.size and (row.text != full.text or row.calls != full.calls or row.size < 0.9 * full.size)


def _boundary(block: _Block, root: dict[int, int], by_id: dict[int, LightRow]) -> Boundary:
    copied = {source for _, source in block.copies}
    summarised = [row.id for row in block.before if row.id not in copied and row.handoff != "standalone"]
    return Boundary(
        handoff_id=block.handoff.id,
        time=block.handoff.time,
        block_ids=tuple(row.id for row in block.rows),
        before_ids=tuple(row.id for row in block.before),
        cut_id=root[block.first_tail.id] if block.first_tail else None,
        copies=block.copies,
        summarised_ids=tuple(root[row_id] for row_id in summarised),
        kept_ids=tuple(root[source] for _, source in block.copies),
        shortened_ids=tuple(root[source] for copy, source in block.copies if _shorter(by_id[copy], by_id[source])),
    )


def _ordered(entries: list[Entry], boundaries: Sequence[Boundary]) -> tuple[Entry | Boundary, ...]:
    """Entries by first row; each boundary before its cut, or by its handoff's id where the tail kept nothing."""

    def place(item: Entry | Boundary) -> tuple[int, int, int]:
        if isinstance(item, Entry):
            return (item.id, 1, 0)
        return (item.handoff_id if item.cut_id is None else item.cut_id, 0, item.handoff_id)

    return tuple(sorted([*entries, *boundaries], key=place))
