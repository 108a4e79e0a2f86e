"""Which records a resume of a session sends. The rule was found by running the client (`docs/claude-code.md`).

The newest compaction boundary decides: it may keep earlier records by reference, in an order of its own, and everything
else before it is dropped. Of the rest, the thread ends where the last `last-prompt` line says, or else at the newest
record (`_leaf`), and goes up from there by parents: to a boundary, or to a record without a parent. Where a parent is
missing, or was visited already, it continues with the newest earlier record by time, if one is within `NEAR_IN_TIME`.
Parallel tool calls are lines of their own, each the parent of its result, so that the way up misses most of them: they
are added.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby

from .records import Kept, Record
from .schema import MESSAGE_TYPES
from .tree import Tree

NEAR_IN_TIME = 5.0  # seconds
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
        if uuid not in self.tree.nodes or self.tree.position(uuid) >= self.until:
            return False
        dropped = self.kept is not None and self.tree.position(uuid) < self.tree.position(self.boundary)
        return not dropped or uuid in self.listed

    def parent(self, uuid: str) -> str:
        return self.parents.get(uuid, self.tree.nodes[uuid].parent)

    @cached_property
    def by_time(self) -> list[tuple[float, int, str]]:
        """The records with which the way may continue where a link is lost, oldest first; with equal times, the first
        one comes last.
        """
        nodes, position = self.tree.nodes, self.tree.position
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
        if tree.position(record.uuid) > tree.position(boundary)
    )


def leaves_out_typed(tree: Tree) -> bool:
    """Whether words that a person typed while a turn ran follow the message that the thread ends with, and are not in
    the thread: the client sends those, too.
    """
    segment = _segment(tree, next(reversed(tree.boundaries), ""), 2**62)
    way = _up(segment, _leaf(segment))
    on_way = {record.uuid for record in way}
    below = set([record.uuid for record in way if record.type in MESSAGE_TYPES][-1:])
    for uuid in tree.order:
        record = tree.nodes[uuid]
        if record.type not in MESSAGE_TYPES and segment.is_alive(uuid) and segment.parent(uuid) in below:
            if record.pieces and record.type == "attachment" and uuid not in on_way:
                return True
            below.add(uuid)
    return False


def end_of(tree: Tree) -> str:
    """The record that the thread ends with now, "" for none."""
    return _leaf(_segment(tree, next(reversed(tree.boundaries), ""), 2**62))


def _segment(tree: Tree, boundary: str, until: int) -> Segment:
    edge = tree.position(boundary)
    region, kept_records = tree.between(edge, until), kept_by(tree, boundary, until) if boundary else None
    listed = frozenset(kept_records.uuids if kept_records else ())
    parents = {boundary: ""} if kept_records else {}
    if kept_records and kept_records.uuids:
        before = kept_records.anchor
        for uuid in kept_records.uuids:
            parents[uuid], before = before, uuid
        for uuid in region:
            parent = tree.nodes[uuid].parent
            hangs = parent == kept_records.anchor or (tree.position(parent, edge) < edge and parent not in listed)
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
        if kept_records.anchor and all(tree.position(uuid, until) < until for uuid in kept_records.uuids)
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
    tree, edge = segment.tree, segment.tree.position(segment.boundary)
    kept_uuids = segment.kept.uuids if segment.kept else ()
    near = dict.fromkeys([*([segment.boundary] if segment.boundary else []), *kept_uuids, *segment.region])
    last = max(near, key=tree.position, default="")
    named = next((each.leaf for each in reversed(tree.leaves) if edge < each.position < segment.until), "")
    if not _message_above(segment, named):
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
    position, children = segment.tree.position, dict[str, list[str]]()
    for uuid in near:
        if parent := segment.parent(uuid):
            children.setdefault(parent, []).append(uuid)
    at, visited = last, {last}
    while (hanging := children.get(at)) and (at := max(hanging, key=position)) not in visited:
        visited.add(at)
    newest = last if hanging else max((uuid for uuid in near if uuid not in children), key=position, default="")
    message = _message_above(segment, newest)
    return newest if message and message not in segment.listed else _last_message(segment) or newest


def _last_message(segment: Segment) -> str:
    """Of all messages without a following message, also through the client's notes, the last by time, and with equal
    times the first in the file; the last in the file where no time is known. With the records that follow it; "" where
    there is none.
    """
    nodes = segment.tree.nodes
    alive = list(filter(segment.is_alive, segment.tree.order))
    messages = [uuid for uuid in alive if nodes[uuid].type in MESSAGE_TYPES]
    passed = set[str]()
    for at in chain(map(segment.parent, messages), segment.tree.gone_on_aside):
        while at not in passed and segment.is_alive(at):
            passed.add(at)
            at = "" if nodes[at].type in MESSAGE_TYPES else segment.parent(at)
    ends = [uuid for uuid in messages if uuid not in passed and not nodes[uuid].is_sidechain]
    timed = (uuid for uuid in ends if nodes[uuid].time)
    end = max(timed, key=lambda uuid: nodes[uuid].time, default=ends[-1] if ends else "")
    for uuid in alive if end else ():
        if segment.parent(uuid) == end:
            end = uuid
    return end


def _message_above(segment: Segment, uuid: str) -> str:
    """The first message on the way up from a record, including itself, "" for none."""
    return next((each for each in _above(segment, uuid) if segment.tree.nodes[each].type in MESSAGE_TYPES), "")


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
                newer = (each for each in later if segment.tree.position(each) > segment.tree.position(uuid))
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
        yield from sorted(together, key=lambda record: segment.tree.position(record.uuid)) if may_move else together


def _response(segment: Segment, group: str) -> tuple[list[str], list[str]]:
    """The lines of a response, and the results of its calls."""
    tree = segment.tree
    lines = _alive(segment, tree.groups[group])
    calls = dict.fromkeys(call for uuid in lines for call in tree.nodes[uuid].calls)
    return lines, _alive(segment, {uuid for call in calls for uuid in tree.results.get(call, ())})


def _alive(segment: Segment, uuids: Collection[str]) -> list[str]:
    return sorted(filter(segment.is_alive, uuids), key=segment.tree.position)
