"""Which records a resume of a session sends: the rule was found by running the client (`docs/claude-code.md`).

The newest compaction boundary rules: it may keep earlier records by reference, in an order of its own, and everything
else before it is dropped. Of what is left the thread ends where the last `last-prompt` line says, or else at the newest
record, and goes from there to the root by parents. Parallel tool calls are lines of their own, each the parent of its
result, so that the way up passes most of them: they are added behind the last line of their response that is on it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .records import Kept, Record


@dataclass(frozen=True, slots=True)
class Tree:
    """The records of a conversation. Of several lines with one uuid the last one counts (`nodes`), in the place of the
    first (`rewritten`).
    """

    nodes: dict[str, Record] = field(default_factory=dict)
    rewritten: dict[str, Record] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)  # response -> its lines
    results: dict[str, list[str]] = field(default_factory=dict)  # call -> the records that have its result
    leaves: list[Record] = field(default_factory=list)

    def place(self, uuid: str, missing: int = -1) -> int:
        """The place of a record, `missing` for one that is not there."""
        first = self.rewritten.get(uuid) or self.nodes.get(uuid)
        return missing if first is None else first.place

    def offset(self, uuid: str) -> int:
        return (self.rewritten.get(uuid) or self.nodes[uuid]).offset

    def append(self, record: Record) -> None:
        """Put a record behind all others, whose `uuid` is new."""
        self.nodes[record.uuid] = record
        self.order.append(record.uuid)
        for call in record.answers:
            self.results[call] = [*self.results.get(call, ()), record.uuid]
        if record.group:
            self.groups[record.group] = [*self.groups.get(record.group, ()), record.uuid]

    @property
    def boundaries(self) -> list[str]:
        """The compaction boundaries, oldest first."""
        return [uuid for uuid in self.order if self.nodes[uuid].is_boundary]

    def between(self, after: int, until: int) -> list[str]:
        """The records whose place is behind `after` and before `until`, in order."""
        start = bisect_right(self.order, after, key=self.place)
        return self.order[start : bisect_left(self.order, until, key=self.place)]


def tree_of(records: Iterable[Record], *, sidechain: bool = False) -> Tree:
    """The tree of a file's records; with `sidechain` those of a sub-agent."""
    tree = Tree()
    for record in records:
        if record.leaf:
            tree.leaves.append(record)
        if not record.is_in_tree or (record.is_sidechain and not sidechain):
            continue
        if record.uuid in tree.nodes:
            tree.rewritten.setdefault(record.uuid, tree.nodes[record.uuid])
        else:
            tree.order.append(record.uuid)
        tree.nodes[record.uuid] = record
    for uuid in tree.order:
        record = tree.nodes[uuid]
        if record.group:
            tree.groups.setdefault(record.group, []).append(uuid)
        for call in record.answers:
            tree.results.setdefault(call, []).append(uuid)
    return tree


SKIPPED_ABOVE = 5 * 1024 * 1024  # bytes of a file


def first_read(records: Sequence[Record]) -> int:
    """The number of the first record that a resume reads: of a long file none before a boundary that keeps nothing,
    whatever that is by now.
    """
    if not records or records[-1].offset + records[-1].length <= SKIPPED_ABOVE:
        return 0
    facts = ((at, records[at].boundary) for at in range(len(records) - 1, -1, -1))
    return next((at for at, boundary in facts if boundary and boundary.keeps_nothing), 0)


@dataclass(frozen=True, slots=True)
class Segment:
    """What is in question up to some place in a file: the boundary that rules there, what it keeps (`listed`: which
    records), and what stands behind it.
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


def thread(tree: Tree, boundary: str = "", until: int = 2**62) -> list[Record]:
    """The records that a resume sends, in order, of those before the place `until`; `boundary` is the newest there."""
    segment = _segment(tree, boundary, until)
    chain = _up(segment, _leaf(segment))
    return list(_with_siblings(segment, chain))


def end_of(tree: Tree) -> str:
    """The record that the thread ends with now, "" for none."""
    return _leaf(_segment(tree, next(reversed(tree.boundaries), ""), 2**62))


def _segment(tree: Tree, boundary: str, until: int) -> Segment:
    edge = tree.place(boundary)
    region, kept = tree.between(edge, until), kept_by(tree, boundary, until) if boundary else None
    listed = frozenset(kept.uuids if kept else ())
    parents: dict[str, str] = {}
    if kept and kept.uuids:
        before = kept.anchor
        for uuid in kept.uuids:
            parents[uuid], before = before, uuid
        for uuid in region:
            parent = tree.nodes[uuid].parent
            hangs = parent == kept.anchor or (tree.place(parent, edge) < edge and parent not in listed)
            if hangs and uuid not in listed:
                parents[uuid] = kept.uuids[-1]
    return Segment(tree, boundary, until, kept, listed, region, parents)


def kept_by(tree: Tree, boundary: str, until: int = 2**62) -> Kept | None:
    """What a boundary keeps by reference; None where it keeps nothing, or names a record that is not there."""
    record = tree.nodes[boundary]
    if record.parent:
        return None
    facts = record.boundary
    if facts is None:
        return None
    kept = facts.kept or (_walked(tree, facts.segment) if facts.segment else None)
    if kept is None:
        return None
    named = (kept.anchor, *kept.uuids)
    return kept if all(tree.place(uuid, until) < until for uuid in named) else None


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
    """Where the thread ends, "" where there is none: at the newest record behind the one that the last line of its kind
    names, or where that names none, at the newest without a child.
    """
    tree, edge = segment.tree, segment.tree.place(segment.boundary)
    kept = segment.kept.uuids if segment.kept else ()
    near = [*([segment.boundary] if segment.boundary else []), *kept, *segment.region]
    lines = [each.leaf for each in tree.leaves if edge < each.place < segment.until]
    named = lines[-1] if lines and segment.is_alive(lines[-1]) else ""
    children: dict[str, list[str]] = {}
    for uuid in dict.fromkeys(near):
        children.setdefault(segment.parent(uuid), []).append(uuid)
    ends = _below(children, named) if named else [uuid for uuid in near if uuid not in children]
    return max(ends, key=tree.place, default="")


def _below(children: Mapping[str, Sequence[str]], uuid: str) -> list[str]:
    """A record and all that hang on it."""
    found = dict.fromkeys([uuid])
    waiting = [uuid]
    while waiting:
        new = [each for each in children.get(waiting.pop(), ()) if each not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return list(found)


def _up(segment: Segment, leaf: str) -> list[Record]:
    way: dict[str, None] = {}
    while leaf not in way and segment.is_alive(leaf):
        way[leaf] = None
        leaf = segment.parent(leaf)
    return [segment.tree.nodes[uuid] for uuid in reversed(way)]


def _with_siblings(segment: Segment, chain: Sequence[Record]) -> Iterator[Record]:
    """The chain, and behind the last line of each response those of its lines and results that the way passed."""
    on_chain = {record.uuid for record in chain}
    last = {record.group: record.uuid for record in chain if record.group}
    for record in chain:
        yield record
        if record.group and last[record.group] == record.uuid:
            for uuid in _response(segment, record.group):
                if uuid not in on_chain:
                    yield segment.tree.nodes[uuid]


def _response(segment: Segment, group: str) -> list[str]:
    """The lines of a response, then the results of its calls."""
    tree = segment.tree
    lines = _alive(segment, tree.groups[group])
    calls = dict.fromkeys(call for uuid in lines for call in tree.nodes[uuid].calls)
    results = _alive(segment, {uuid for call in calls for uuid in tree.results.get(call, ())})
    return [*lines, *results]


def _alive(segment: Segment, uuids: Collection[str]) -> list[str]:
    return sorted(filter(segment.is_alive, uuids), key=segment.tree.place)
