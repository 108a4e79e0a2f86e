"""Which rows are copies of which: by lining them up, never by equal bytes (`history` says why and how it is used)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Literal

State = Literal["live", "under", "out"]


@dataclass(frozen=True, slots=True)
class LightRow:
    """What History needs of one row of `messages`.

    `state` is "live" for (1,0), "under" for (0,1) and "out" for (0,0). `text` is the start of the live text, white
    space folded; `calls` the ids of its tool calls; `size` the octets of its live content and calls. `handoff` says
    whether the row holds a compaction summary, alone ("standalone") or with live text ("merged"); `handoff_key` then
    identifies the summary's text. `scaffold` marks a user row that the agent wrote for itself, `of_compaction` one of
    those that only a compaction writes, and `restated` one that repeats a request behind a summary: `text` is then the
    request's. `uid` is the owner's name for the message, which copies keep (schema 31), "" where there is none; `named`
    says that the agent gave it, `absorbed` names the messages that were merged into this row (`uids`).
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
    of_compaction: bool = False
    restated: bool = False
    uid: str = ""
    named: bool = False
    absorbed: tuple[str, ...] = ()


TEXT_CHARACTERS = 300  # of `LightRow.text`
STEP = 1.5e-6  # seconds between two rows that the owner inserts in one write: 1e-6, and what floats are off
Pair = tuple[LightRow, LightRow]  # (copy, the row it was copied from)


def head_run(before: list[LightRow], pending: list[LightRow], handoff: LightRow) -> list[Pair]:
    """The longest run at the end of `before`, inside `pending`, that equals the beginning of `before` row for row."""
    best: list[Pair] = []
    for length in range(1, min(len(pending), len(before) // 2, _LONGEST_HEAD) + 1):
        if not may_be_head(before[-length], handoff):
            break
        pairs = _from_the_start(before[:-length], before[-length:])
        best = pairs or best
    return best


def longest_head(
    messages: list[LightRow], generation: list[LightRow], pending: list[LightRow], handoff: LightRow
) -> list[Pair]:
    """Head copies equal the generation's first rows, or the first messages if the agent kept them in memory."""
    return opening_run(generation, pending, handoff) or head_run(messages, pending, handoff)


def opening_run(before: list[LightRow], pending: list[LightRow], handoff: LightRow) -> list[Pair]:
    """The copies at the end of `before`, inside `pending`, that open a block: a head, and behind it perhaps copies of
    messages from inside the middle, which a compaction of ours keeps there. Those keep time and text.
    """
    pulled: list[Pair] = []
    while len(pulled) <= _MOST_PULLED:
        rest = len(pending) - len(pulled)
        head = head_run(before[: len(before) - len(pulled)], pending[:rest], handoff)
        if head or not rest or not may_be_head(pending[rest - 1], handoff):
            return [*head, *pulled[::-1]]
        copy = pending[rest - 1]
        source = next((row for row in before if row.id < copy.id and _same_time(copy, row) and _says(copy, row)), None)
        if source is None:
            break
        pulled.append((copy, source))
    return pulled[:_MOST_PULLED][::-1]


_MOST_PULLED = 4  # the newest request and the newest reply; twice that leaves room for one more kind


def _says(copy: LightRow, source: LightRow) -> bool:
    return may_pair(copy, source) and copy.text == source.text and copy.calls == source.calls


def _may_be_passed(row: LightRow) -> bool:
    return row.state == "out" or row.handoff == "standalone"


def _from_the_start(sources: list[LightRow], copies: list[LightRow]) -> list[Pair]:
    """Each copy with the row it equals, from the first row on; empty when they fall out of step.

    Only rows at (0,0) may be passed over: they were taken back before, and so were not copied.
    """
    pairs: list[Pair] = []
    following = iter(sources)
    for copy in copies:
        source = next((row for row in following if _sure(copy, row) or not _may_be_passed(row)), None)
        if source is None or not _sure(copy, source):
            return []
        pairs.append((copy, source))
    return pairs


_LONGEST_HEAD = 64  # heads are `protect_first_n` rows and their tool results; a longer search would only cost time


def may_be_head(row: LightRow, handoff: LightRow) -> bool:
    """Whether its state lets a row be a head copy: take-backs go from the end, so a live handoff has its head."""
    return row.state == "live" if handoff.state == "live" else handoff.state == "out" or row.state != "live"


def repetition(generation: list[LightRow]) -> list[Pair]:
    """Copies made without a handoff: an agent that only prunes old output archives its rows and inserts them all again,
    perhaps more than once.

    Only told by times: people and programs do say the same things twice, but not at the same moments, nor within
    microseconds.
    """
    rows = [row for row in generation if row.handoff != "standalone" and not row.scaffold]
    kept: dict[tuple[str, float], int] = {}
    told: dict[tuple[str, ...], int] = {}
    found: list[Pair] = []
    repeated = 0
    for start, row in enumerate(rows):
        first = kept.get((row.role, row.time)) if row.time else None
        if first is None and _at_once(rows, start):
            first = told.get(words(row))
        if first is not None and start >= repeated and not _in_one_write(rows, first, start):
            begin = _begin_of_write(rows, start)  # its first rows may have lost an image
            pairs = _repeated(rows[max(0, first - start + begin) : begin], rows[begin:])
            found += pairs
            repeated = begin + len(pairs)
        kept[row.role, row.time] = told[words(row)] = start
    return found


def _repeated(sources: list[LightRow], rows: list[LightRow]) -> list[Pair]:
    """The copies that `rows` begin with, if they say all of `sources` and times tell so."""
    if not sources or (len(sources) < 2 and sources[0].state == rows[0].state):
        return []
    pairs = _line_up(sources, 0, rows)
    told = sum(
        _same_time(copy, source) or (_at_once(rows, at) and _sure(copy, source))
        for at, (copy, source) in enumerate(pairs)
    )
    return pairs if 2 * told > len(pairs) else []


def _begin_of_write(rows: Sequence[LightRow], at: int) -> int:
    while at and 0 < rows[at].time - rows[at - 1].time < STEP:
        at -= 1
    return at


def _in_one_write(rows: Sequence[LightRow], first: int, last: int) -> bool:
    return 0 < (rows[last].time - rows[first].time) / (last - first) < STEP


def _at_once(rows: Sequence[LightRow], at: int) -> bool:
    """Whether the row was written at once with one beside it."""
    beside = pairwise(rows[max(0, at - 1) : at + 2])
    return any(0 < later.time - row.time < STEP for row, later in beside)


def words(row: LightRow) -> tuple[str, ...]:
    """What a row says, as far as it is told by its start and its ids."""
    if row.handoff == "standalone":
        return (row.role, row.handoff_key)
    return (row.role, row.tool_call_id, row.text, row.calls)


def repeats_its_start(generation: list[LightRow]) -> bool:
    """Whether a later row may be a copy of the first one, so that `repetition` might find more with more rows."""
    rows = [row for row in generation if row.handoff != "standalone" and row.state != "out"]
    return any(_same_time(row, rows[0]) for row in rows[2:])


def orphans(messages: list[LightRow]) -> list[Pair]:
    """Copies at the end of `messages` whose block lost its handoff: after a split and a take-back the agent wrote what
    was live anew, and the copies that had been taken back are all that is left of the block. Only told by times.
    """
    taken_back = list(takewhile(lambda row: row.state == "out", reversed(messages)))[::-1]
    pairs = tail_run(messages[: len(messages) - len(taken_back)], taken_back) if taken_back else []
    return pairs if 2 * sum(_same_time(copy, source) for copy, source in pairs) > len(pairs) else []


def _same_time(copy: LightRow, source: LightRow) -> bool:
    return copy.time == source.time != 0


def _key(row: LightRow) -> tuple[str, str]:
    return (row.role, row.tool_call_id)


def may_pair(a: LightRow, b: LightRow) -> bool:
    """Whether nothing speaks against two rows that say one message."""
    return _key(a) == _key(b) and not (a.named and b.named and a.uid != b.uid)


def with_telling_times(rows: Sequence[LightRow]) -> list[LightRow]:
    """The rows, with the time 0 where it tells nothing, because rows that cannot be one message share it."""
    first: dict[float, LightRow] = {}
    shared: set[float] = set()
    for row in rows:
        other = first.setdefault(row.time, row)
        if not (_key(row) == _key(other) and _alike(row, other)):  # a name may be one by chance (`uids.believed`)
            shared.add(row.time)
    return [replace(row, time=0.0) if row.time in shared else row for row in rows]


def related(a: LightRow, b: LightRow) -> bool:
    """Whether two rows may say one message, one of them shortened: alike at the start, or with the same calls, or one
    with words in place of its calls.
    """
    return may_pair(a, b) and _alike(a, b)


def _alike(a: LightRow, b: LightRow) -> bool:
    if a.uid and a.uid == b.uid:
        return True
    alike = a.text.startswith(b.text[:_ALIKE_CHARACTERS]) if b.text else not a.text
    alike = alike or bool(a.text and b.text.startswith(a.text[:_ALIKE_CHARACTERS]))
    alike = alike or any(row.handoff == "merged" and not row.text for row in (a, b))
    alike = alike or bool(a.handoff and b.handoff)  # a summary, and a row that another one was merged into with it
    stub = _CALLS_REMOVED in (a.text, b.text) and bool(a.calls) != bool(b.calls)
    return alike or bool(a.tool_call_id) or stub or bool(a.calls and a.calls == b.calls)


_ALIKE_CHARACTERS = 40
_CALLS_REMOVED = "(tool call removed)"  # what a compaction puts where no result followed (context_compressor)


def _sure(copy: LightRow, source: LightRow) -> bool:
    """Whether these surely say one message: the same uid, equal text and calls, or a time that no other message has."""
    if not may_pair(copy, source) or (copy.handoff == "standalone") != (source.handoff == "standalone"):
        return False
    if copy.handoff == "standalone":
        return copy.handoff_key == source.handoff_key
    if copy.uid and copy.uid == source.uid:
        return True
    told = bool(copy.text or copy.calls)
    return _same_time(copy, source) or (told and copy.text == source.text and copy.calls == source.calls)


def tail_run(sources: list[LightRow], candidates: list[LightRow]) -> list[tuple[LightRow, LightRow]]:
    """The longest run of pairs that lines up the start of `candidates` with the end of `sources`."""
    copies = [row for row in candidates if not row.scaffold]
    best: list[tuple[LightRow, LightRow]] = []
    for first in _starts(sources, copies):
        pairs = _to_the_end(sources, first, copies)
        if len(pairs) >= len(best) and 2 * sum(_sure(copy, source) for copy, source in pairs) >= len(pairs):
            best = pairs
    return best


def longest_tail(messages: list[LightRow], generation: list[LightRow], candidates: list[LightRow]) -> list[Pair]:
    """Tail copies line up with the last rows of the generation, or with the last messages: an agent that compacts from
    memory reaches back behind the last boundary. The longer of the two holds.
    """
    rows = [row for row in generation if row.handoff != "standalone"]
    return max(tail_run(messages, candidates), tail_run(rows, candidates), key=len)


def until_said(rows: list[LightRow], handoff: LightRow, times: Collection[float]) -> list[LightRow]:
    """The rows before the first one that was said after the compaction, as it has none of the `times` of what was there
    before: it and what follows are nobody's copies.
    """
    if handoff.handoff == "merged" or not handoff.time:
        return rows
    said = (
        at
        for at, row in enumerate(rows)
        if row.time > handoff.time + _ONE_WRITE and row.time not in times and not row.scaffold
    )
    return rows[: next(said, len(rows))]


_ONE_WRITE = 1.0  # seconds: an agent that lost its copies' times stamps them all while it writes the block


def _to_the_end(sources: list[LightRow], first: int, copies: list[LightRow]) -> list[Pair]:
    """The pairs from `sources[first]` to the end, but for rows that came while the summary was made.

    Schemas 21 and 22 archive such rows with the others and copy none of them (seen with the real client): they end the
    generation without a copy, and a later message of the same role must not be taken for one.
    """
    for late in range(_LATE + 1):
        if late and (first >= len(sources) - late or sources[-late].state != "under"):
            return []
        pairs = _line_up(sources[: len(sources) - late], first, copies)
        if pairs and (_sure if late else related)(*pairs[-1]):
            return pairs
    return []


_LATE = 64  # rows appended during one summary that may be passed over


_PROBES = 8  # the first copies may be stubs with a lost time; one of the first eight is surely recognisable in practice


def _starts(sources: list[LightRow], copies: list[LightRow]) -> Iterator[int]:
    """Where in `sources` the first copy may come from, found through the first copies that are surely there."""
    by_uid: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    by_time: dict[tuple[str, str, float], list[int]] = defaultdict(list)
    by_text: dict[tuple[str, str, str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(sources):
        if row.uid:
            by_uid[(*_key(row), row.uid)].append(index)
        by_time[(*_key(row), row.time)].append(index)
        if row.text or row.calls:
            by_text[(*_key(row), row.text, row.calls)].append(index)
    tried: set[int] = set()
    for probe, copy in enumerate(copies[:_PROBES]):
        found = (
            by_uid[(*_key(copy), copy.uid)]
            or by_time[(*_key(copy), copy.time)]
            or by_text[(*_key(copy), copy.text, copy.calls)]
        )
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
        if not may_pair(copy, sources[index]):
            return []
        pairs.append((copy, sources[index]))
        index += 1
    return pairs if all(row.state == "out" for row in sources[index:]) else []


def _may_come_from(copy: LightRow, source: LightRow) -> bool:
    """A row at (0,0) may have been taken back before: what was said since must not be taken for its copy."""
    return source.state != "out" or copy.handoff == "merged" or related(copy, source)


def _next_source(sources: list[LightRow], index: int, copy: LightRow) -> int:
    """The next row `copy` can come from: this one, or a surer or fitting one behind rows that were taken back."""
    fitting: int | None = None
    while index < len(sources):
        if _sure(copy, sources[index]):
            return index
        if fitting is None and may_pair(copy, sources[index]) and _may_come_from(copy, sources[index]):
            fitting = index
        if sources[index].state != "out":
            return index if fitting is None else fitting
        index += 1
    return index if fitting is None else fitting
