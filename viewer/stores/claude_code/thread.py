"""Which records a resume of a session sends. The rule was found by running the client (`docs/claude-code.md`).

The newest compaction boundary decides: it may keep earlier records by reference, in an order of its own, and everything
else before it is dropped. Of the rest, the thread ends where the last `last-prompt` line says, or else at the newest
record (`_leaf`), and goes up from there by parents: to a boundary, or to a record without a parent. Where a parent is
missing, or was visited already, it continues with the newest earlier record by time, if one is within `NEAR_IN_TIME`.
Parallel tool calls are lines of their own, each the parent of its result, so that the way up misses most of them: they
are added.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby

from .forms import SAID
from .queued import unsent
from .records import NO_UUID, QUEUED, Kept, Record

NEAR_IN_TIME = 5.0  # seconds


@dataclass(slots=True)
class Tree:
    """The records of a conversation. Of several lines with one uuid the last one counts (`nodes`), at the position of
    the first (`rewritten`). `beside` are messages outside of the tree, under keys of ours: lines that the client does
    not read, and earlier lines of a uuid with another content.
    """

    nodes: dict[str, Record] = field(default_factory=dict)
    rewritten: dict[str, Record] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    beside: dict[str, Record] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)  # the id of a response -> all lines that have it
    responses: dict[str, list[str]] = field(default_factory=dict)  # the first line of a response -> its lines
    first_lines: dict[str, str] = field(default_factory=dict)  # a line -> the first line of its response
    open: str = ""  # the response that the next line may belong to
    results: dict[str, list[str]] = field(default_factory=dict)  # call -> the records that have its result
    leaves: list[Record] = field(default_factory=list)
    gone_on_aside: list[str] = field(default_factory=list)  # parents, outside of the tree, of sub-agents' messages

    def place(self, uuid: str, missing: int = -1) -> int:
        """The position of a record, `missing` for one that is not there."""
        first = self.rewritten.get(uuid) or self.nodes.get(uuid)
        return missing if first is None else first.place

    def record(self, uuid: str) -> Record:
        """A record of the tree, or of `beside`."""
        return self.nodes.get(uuid) or self.beside[uuid]

    def offset(self, uuid: str) -> int:
        """The base of the ids of a record's messages: its offset; for a record that was written again, the offset of
        the first line, unless that one has another content.
        """
        now, first = self.record(uuid), self.rewritten.get(uuid)
        return now.offset if first is None or says_another(first, now) else first.offset

    def append(self, record: Record) -> None:
        """Append a record with a new `uuid`; lists that are shared with another tree stay unchanged."""
        self.nodes[record.uuid] = record
        self.order.append(record.uuid)
        for call in record.answers:
            self.results[call] = [*self.results.get(call, ())]
        if record.group:
            self.groups[record.group] = [*self.groups.get(record.group, ())]
            self.responses |= {self.open: [*self.responses[self.open]]} if self.open else {}
        self.link(record)

    def link(self, record: Record) -> None:
        """Record the calls that a record answers, and its response: lines of one id are one response if no request and
        no other response is between them.
        """
        for call in record.answers:
            self.results.setdefault(call, []).append(record.uuid)
        if record.group:
            self.groups.setdefault(record.group, []).append(record.uuid)
            if not self.open or self.nodes[self.open].group != record.group:
                self.open = record.uuid
            self.responses.setdefault(self.open, []).append(record.uuid)
            self.first_lines[record.uuid] = self.open
        elif record.ends_response:
            self.open = ""

    def lines(self, uuid: str) -> list[str]:
        """The lines of the response that a record belongs to, or that record alone."""
        return self.responses.get(self.first_lines.get(uuid, ""), [uuid])

    @property
    def boundaries(self) -> list[str]:
        """The compaction boundaries, oldest first."""
        return [uuid for uuid in self.order if self.nodes[uuid].is_boundary]

    def between(self, after: int, until: int) -> list[str]:
        """The records whose position is after `after` and before `until`, in order."""
        start = bisect_right(self.order, after, key=self.place)
        return self.order[start : bisect_left(self.order, until, key=self.place)]


def says_another(first: Record, now: Record) -> bool:
    """Whether two lines of one uuid both have messages, and different ones."""
    is_other = (first.pieces, first.time, first.group) != (now.pieces, now.time, now.group)
    return bool(first.pieces and now.pieces) and (is_other or now.uuid == NO_UUID)


def tree_of(records: Iterable[Record], *, sidechain: bool = False) -> Tree:
    """The tree of a file's records; with `sidechain` those of a sub-agent."""
    tree, records = Tree(), list(records)
    aside = [] if sidechain else unsent(records)
    side: dict[str, Record] = {}
    for record in records:
        if record.leaf:
            tree.leaves.append(record)
        if record.is_sidechain and not sidechain:
            side[record.uuid] = record
            continue
        if not record.is_in_tree:
            if record.pieces and record.type != QUEUED:
                aside.append(record)
            continue
        if record.uuid in tree.nodes:
            tree.rewritten.setdefault(record.uuid, tree.nodes[record.uuid])
            aside.append(tree.nodes[record.uuid])
        else:
            tree.order.append(record.uuid)
        tree.nodes[record.uuid] = record
    _adopt(tree, side)
    tree.gone_on_aside += [each.parent for each in side.values() if each.type in SAID and each.uuid not in tree.nodes]
    for uuid in tree.order:
        tree.link(tree.nodes[uuid])
    tree.beside.update((f"\0{each.offset}", each) for each in _outside_tree(tree, aside))
    return tree


def _adopt(tree: Tree, side: Mapping[str, Record]) -> None:
    """Take those records of sub-agents into the tree that the client would visit or add on its way through its own:
    parents of others, lines of one response with others, calls with a result in the tree and results of its calls.
    """
    if not side:
        return
    beside = dict[tuple[str, str], list[str]]()
    for record in side.values():
        for name in _ties(record):
            beside.setdefault(name, []).append(record.uuid)
    waiting = [tree.nodes[uuid] for uuid in tree.order]
    while waiting:
        record = waiting.pop()
        for uuid in (record.parent, *chain.from_iterable(beside.pop(name, ()) for name in _ties(record))):
            if uuid in side and uuid not in tree.nodes and side[uuid].is_in_tree:
                tree.nodes[uuid] = side[uuid]
                tree.order.append(uuid)
                waiting.append(side[uuid])
    tree.order.sort(key=tree.place)


def _ties(record: Record) -> Iterator[tuple[str, str]]:
    """What connects a record to others apart from its parent: its response, and the calls that it makes or answers."""
    if record.group:
        yield "response", record.group
    for call in (*record.calls, *record.answers):
        yield "call", call


def _outside_tree(tree: Tree, lines: Iterable[Record]) -> Iterator[Record]:
    """Those of these lines with messages that no record of the tree has, each once."""
    yielded = set[object]()
    for record in lines:
        has_uuid = record.uuid not in ("", NO_UUID)
        now = tree.nodes.get(record.uuid) if has_uuid or record.is_in_tree else None
        same = (record.uuid, record.pieces, record.time, record.group) if has_uuid else record.offset
        if same not in yielded and record.pieces and (now is None or says_another(record, now)):
            yielded.add(same)
            yield record


SKIPPED_ABOVE = 5 * 1024 * 1024  # bytes of a file


def first_read(records: Sequence[Record]) -> int:
    """The number of the first record that a resume reads: in a long file it skips everything before the last boundary
    that keeps nothing, even if that boundary no longer counts.
    """
    if not records or records[-1].offset + records[-1].length <= SKIPPED_ABOVE:
        return 0
    facts = ((at, records[at].boundary) for at in range(len(records) - 1, -1, -1))
    return next((at for at, boundary in facts if boundary and boundary.keeps_nothing), 0)


@dataclass(frozen=True)
class Segment:
    """The candidates up to a position in a file: the boundary that counts there, what it keeps (`listed`: which
    records), and the records after it.
    """

    tree: Tree
    boundary: str
    until: int
    kept: Kept | None
    listed: frozenset[str]
    region: Sequence[str]
    parents: Mapping[str, str]

    def is_alive(self, uuid: str) -> bool:
        """Whether a resume may send this record."""
        if uuid not in self.tree.nodes or self.tree.place(uuid) >= self.until:
            return False
        dropped = self.kept is not None and self.tree.place(uuid) < self.tree.place(self.boundary)
        return not dropped or uuid in self.listed

    def parent(self, uuid: str) -> str:
        return self.parents.get(uuid, self.tree.nodes[uuid].parent)

    @cached_property
    def by_time(self) -> list[tuple[float, int, str]]:
        """The records with which the way may continue where a link is lost, oldest first; with equal times, the first
        one comes last.
        """
        nodes, position = self.tree.nodes, self.tree.place
        alive = (uuid for uuid in self.tree.order if nodes[uuid].type != "progress" and self.is_alive(uuid))
        return sorted((nodes[uuid].time, -position(uuid), uuid) for uuid in alive if nodes[uuid].time)


def thread(tree: Tree, boundary: str = "", until: int = 2**62) -> list[Record]:
    """The records that a resume sends, in order, among those before the position `until`; `boundary` is the newest one
    there.
    """
    segment = _segment(tree, boundary, until)
    return list(_results_in_order(segment, _with_siblings(segment, _up(segment, _leaf(segment)))))


def hangs_on_dropped(tree: Tree) -> bool:
    """Whether the thread contains a record whose parent the boundary dropped."""
    boundary = next(reversed(tree.boundaries), "")
    segment = _segment(tree, boundary, 2**62)
    if segment.kept is None:
        return False
    return any(
        record.parent in tree.nodes and not segment.is_alive(record.parent)
        for record in _up(segment, _leaf(segment))
        if tree.place(record.uuid) > tree.place(boundary)
    )


def leaves_out_typed(tree: Tree) -> bool:
    """Whether words that a person typed while a turn ran follow the message that the thread ends with, and are not in
    the thread: the client sends those, too.
    """
    segment = _segment(tree, next(reversed(tree.boundaries), ""), 2**62)
    way = _up(segment, _leaf(segment))
    on_way = {record.uuid for record in way}
    below = set([record.uuid for record in way if record.type in SAID][-1:])
    for uuid in tree.order:
        record = tree.nodes[uuid]
        if record.type not in SAID and segment.is_alive(uuid) and segment.parent(uuid) in below:
            if record.pieces and record.type == "attachment" and uuid not in on_way:
                return True
            below.add(uuid)
    return False


def end_of(tree: Tree) -> str:
    """The record that the thread ends with now, "" for none."""
    return _leaf(_segment(tree, next(reversed(tree.boundaries), ""), 2**62))


def _segment(tree: Tree, boundary: str, until: int) -> Segment:
    edge = tree.place(boundary)
    region, kept_records = tree.between(edge, until), kept_by(tree, boundary, until) if boundary else None
    listed = frozenset(kept_records.uuids if kept_records else ())
    parents = {boundary: ""} if kept_records else {}
    if kept_records and kept_records.uuids:
        before = kept_records.anchor
        for uuid in kept_records.uuids:
            parents[uuid], before = before, uuid
        for uuid in region:
            parent = tree.nodes[uuid].parent
            hangs = parent == kept_records.anchor or (tree.place(parent, edge) < edge and parent not in listed)
            if hangs and uuid not in listed:
                parents[uuid] = kept_records.uuids[-1]
    return Segment(tree, boundary, until, kept_records, listed, region, parents)


def kept_by(tree: Tree, boundary: str, until: int = 2**62) -> Kept | None:
    """What a boundary keeps by reference; None where it keeps nothing, or names a record that is missing."""
    facts = tree.nodes[boundary].boundary
    if facts is None:
        return None
    kept_records = facts.kept or (_walked(tree, facts.segment) if facts.segment else None)
    if kept_records is None:
        return None
    return (
        kept_records
        if kept_records.anchor and all(tree.place(uuid, until) < until for uuid in kept_records.uuids)
        else None
    )


def _walked(tree: Tree, segment: tuple[str, str, str]) -> Kept:
    """The records from head to tail, by their parents."""
    head, anchor, at = segment
    way: dict[str, None] = {}
    while at in tree.nodes and at not in way:
        way[at] = None
        if at == head:
            break
        at = tree.nodes[at].parent
    return Kept(anchor, tuple(reversed(way)))


def _leaf(segment: Segment) -> str:
    """The end of the thread, "" where there is none: the record that the last `last-prompt` line after the boundary
    names, if that is a message or follows one. The thread ends at the newest record instead if that follows the named
    one, or parallel calls that the named one belongs to (`_is_passed`); and also if the boundary keeps records and the
    conversation continues from the named one.
    """
    tree, edge = segment.tree, segment.tree.place(segment.boundary)
    kept_uuids = segment.kept.uuids if segment.kept else ()
    near = dict.fromkeys([*([segment.boundary] if segment.boundary else []), *kept_uuids, *segment.region])
    last = max(near, key=tree.place, default="")
    named = next((each.leaf for each in reversed(tree.leaves) if edge < each.place < segment.until), "")
    if not _said_above(segment, named):
        return _newest(segment, near, last)
    above = _above(segment, last)
    if named in above or _is_passed(segment, named, above):
        return last
    return _newest(segment, near, last) if kept_uuids and _is_continued(segment, named) else named


def _is_passed(segment: Segment, uuid: str, on_way: Collection[str]) -> bool:
    """Whether a record is a call, or the result of one, that is not in this chain, but another line of
    its response is.
    """
    tree, record = segment.tree, segment.tree.nodes[uuid]
    call = uuid if record.calls else segment.parent(uuid) if record.answers else ""
    group = tree.nodes[call].group if call in tree.nodes else ""
    return any(each != call and each in on_way for each in tree.groups.get(group, ()))


def _is_continued(segment: Segment, uuid: str) -> bool:
    """Whether a message follows this record, also one that the boundary dropped, and through the client's own notes."""
    below = {uuid}
    for each in segment.tree.between(-1, segment.until):  # most come after their parents
        if segment.parent(each) in below:
            if segment.tree.nodes[each].pieces:
                return True
            below.add(each)
    return False


def _newest(segment: Segment, near: Collection[str], last: str) -> str:
    """The last record without a child; the last record of all where the way down from it is a circle. If that follows
    no message, or one that the boundary keeps, the last message by time without a child.
    """
    position, children = segment.tree.place, dict[str, list[str]]()
    for uuid in near:
        if parent := segment.parent(uuid):
            children.setdefault(parent, []).append(uuid)
    at, visited = last, {last}
    while (hanging := children.get(at)) and (at := max(hanging, key=position)) not in visited:
        visited.add(at)
    newest = last if hanging else max((uuid for uuid in near if uuid not in children), key=position, default="")
    message = _said_above(segment, newest)
    return newest if message and message not in segment.listed else _last_said(segment) or newest


def _last_said(segment: Segment) -> str:
    """Of all messages without a following message, also through the client's notes, the last by time, and with equal
    times the first in the file; the last in the file where no time is known. With the records that follow it; "" where
    there is none.
    """
    nodes = segment.tree.nodes
    alive = list(filter(segment.is_alive, segment.tree.order))
    messages = [uuid for uuid in alive if nodes[uuid].type in SAID]
    passed = set[str]()
    for at in chain(map(segment.parent, messages), segment.tree.gone_on_aside):
        while at not in passed and segment.is_alive(at):
            passed.add(at)
            at = "" if nodes[at].type in SAID else segment.parent(at)
    ends = [uuid for uuid in messages if uuid not in passed and not nodes[uuid].is_sidechain]
    timed = (uuid for uuid in ends if nodes[uuid].time)
    end = max(timed, key=lambda uuid: nodes[uuid].time, default=ends[-1] if ends else "")
    for uuid in alive if end else ():
        if segment.parent(uuid) == end:
            end = uuid
    return end


def _said_above(segment: Segment, uuid: str) -> str:
    """The first message on the way up from a record, including itself, "" for none."""
    return next((each for each in _above(segment, uuid) if segment.tree.nodes[each].type in SAID), "")


def _above(segment: Segment, uuid: str) -> dict[str, None]:
    """A record and all its ancestors."""
    way: dict[str, None] = {}
    while uuid not in way and segment.is_alive(uuid):
        way[uuid] = None
        uuid = segment.parent(uuid)
    return way


def _up(segment: Segment, leaf: str) -> list[Record]:
    """The way from a record up to its end, in the order of the conversation."""
    way: dict[str, None] = {}
    at = leaf if segment.is_alive(leaf) else ""
    while at:
        way[at] = None
        parent = "" if segment.tree.nodes[at].is_boundary else segment.parent(at)
        is_lost = parent and (parent in way or not segment.is_alive(parent))
        at = _before_in_time(segment, at, way) if is_lost else parent
    return [segment.tree.nodes[uuid] for uuid in reversed(way)]


def _before_in_time(segment: Segment, uuid: str, on_way: Collection[str]) -> str:
    """The record with which the client continues where a record's parent is missing, "" for none."""
    time = segment.tree.nodes[uuid].time
    at = bisect_right(segment.by_time, (time, 1, "")) if time else 0
    while at and time - segment.by_time[at - 1][0] <= NEAR_IN_TIME + 1e-6:
        at -= 1
        if segment.by_time[at][2] not in on_way:
            return segment.by_time[at][2]
    return ""


def _with_siblings(segment: Segment, chain: Sequence[Record]) -> Iterator[Record]:
    """The chain, with those lines of each response that it missed: before the first of its later lines in the chain
    that is newer in the file, or after the last one; followed by the results that it missed.
    """
    on_chain = {record.uuid for record in chain}
    responses: dict[str, list[str]] = {}
    for record in chain:
        if record.group:
            responses.setdefault(record.group, []).append(record.uuid)
    before: dict[str, list[str]] = {}
    behind: dict[str, list[str]] = {}
    for group, (_, *later) in responses.items():
        lines, results = _response(segment, group)
        for uuid in lines:
            if uuid not in on_chain:
                newer = (each for each in later if segment.tree.place(each) > segment.tree.place(uuid))
                at = next(newer, "")
                (before if at else behind).setdefault(at or responses[group][-1], []).append(uuid)
        behind.setdefault(responses[group][-1], []).extend(each for each in results if each not in on_chain)
    for record in chain:
        around = [*before.get(record.uuid, ()), record.uuid, *behind.get(record.uuid, ())]
        yield from map(segment.tree.nodes.__getitem__, around)


def _results_in_order(segment: Segment, records: Iterable[Record]) -> Iterator[Record]:
    """The records, with consecutive results in the order of the file, except for those that a boundary keeps: they have
    the order of its list.
    """

    def moves(record: Record) -> bool:
        return bool(record.answers) and record.uuid not in segment.listed

    for may_move, group in groupby(records, key=moves):
        together = list(group)
        yield from sorted(together, key=lambda record: segment.tree.place(record.uuid)) if may_move else together


def _response(segment: Segment, group: str) -> tuple[list[str], list[str]]:
    """The lines of a response, and the results of its calls."""
    tree = segment.tree
    lines = _alive(segment, tree.groups[group])
    calls = dict.fromkeys(call for uuid in lines for call in tree.nodes[uuid].calls)
    return lines, _alive(segment, {uuid for call in calls for uuid in tree.results.get(call, ())})


def _alive(segment: Segment, uuids: Collection[str]) -> list[str]:
    return sorted(filter(segment.is_alive, uuids), key=segment.tree.place)
