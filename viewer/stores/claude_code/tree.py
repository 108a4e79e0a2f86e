"""The records of a session as a tree, by `uuid` and `parentUuid`; the lines of each response, the results of calls."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from .records import NO_UUID, QUEUED, Record
from .schema import MESSAGE_TYPES


@dataclass(slots=True)
class Tree:
    """The records of a conversation. Of several lines with one uuid the last one counts (`nodes`), at the position of
    the first (`rewritten`). `outside` are messages outside of the tree, under keys of ours: lines that the client does
    not read, and earlier lines of a uuid with another content.
    """

    nodes: dict[str, Record] = field(default_factory=dict)
    rewritten: dict[str, Record] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    outside: dict[str, Record] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)  # the id of a response -> all lines that have it
    responses: dict[str, list[str]] = field(default_factory=dict)  # the first line of a response -> its lines
    first_lines: dict[str, str] = field(default_factory=dict)  # a line -> the first line of its response
    open: str = ""  # the response that the next line may belong to
    results: dict[str, list[str]] = field(default_factory=dict)  # call -> the records that have its result
    leaves: list[Record] = field(default_factory=list)
    gone_on_aside: list[str] = field(default_factory=list)  # parents, outside of the tree, of sub-agents' messages

    def position(self, uuid: str, missing: int = -1) -> int:
        """The position of a record, `missing` for one that is not there."""
        first = self.rewritten.get(uuid) or self.nodes.get(uuid)
        return missing if first is None else first.position

    def record(self, uuid: str) -> Record:
        """A record of the tree, or of `outside`."""
        return self.nodes.get(uuid) or self.outside[uuid]

    def offset(self, uuid: str) -> int:
        """The base of the ids of a record's messages: its offset; for a record that was written again, the offset of
        the first line, unless that one has another content.
        """
        now, first = self.record(uuid), self.rewritten.get(uuid)
        return now.offset if first is None or has_other_content(first, now) else first.offset

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
        start = bisect_right(self.order, after, key=self.position)
        return self.order[start : bisect_left(self.order, until, key=self.position)]


def has_other_content(first: Record, now: Record) -> bool:
    """Whether two lines of one uuid both have messages, and different ones."""
    is_other = (first.pieces, first.time, first.group) != (now.pieces, now.time, now.group)
    return bool(first.pieces and now.pieces) and (is_other or now.uuid == NO_UUID)


def tree_of(records: Iterable[Record], *, sidechain: bool = False) -> Tree:
    """The tree of a file's records; with `sidechain` those of a sub-agent."""
    tree, records = Tree(), list(records)
    aside = [] if sidechain else _unsent(records)
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
    tree.gone_on_aside += [
        each.parent for each in side.values() if each.type in MESSAGE_TYPES and each.uuid not in tree.nodes
    ]
    for uuid in tree.order:
        tree.link(tree.nodes[uuid])
    tree.outside.update((f"\0{each.offset}", each) for each in _outside_tree(tree, aside))
    return tree


def _adopt(tree: Tree, side: Mapping[str, Record]) -> None:
    """Take those records of sub-agents into the tree that the client would visit or add on its way through its own:
    parents of others, lines of one response with others, calls with a result in the tree and results of its calls.
    """
    if not side:
        return
    tied = dict[tuple[str, str], list[str]]()
    for record in side.values():
        for name in _ties(record):
            tied.setdefault(name, []).append(record.uuid)
    waiting = [tree.nodes[uuid] for uuid in tree.order]
    while waiting:
        record = waiting.pop()
        for uuid in (record.parent, *chain.from_iterable(tied.pop(name, ()) for name in _ties(record))):
            if uuid in side and uuid not in tree.nodes and side[uuid].is_in_tree:
                tree.nodes[uuid] = side[uuid]
                tree.order.append(uuid)
                waiting.append(side[uuid])
    tree.order.sort(key=tree.position)


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
        if same not in yielded and record.pieces and (now is None or has_other_content(record, now)):
            yielded.add(same)
            yield record


# -- words in the client's queue ---------------------------------------------------------------------------------------


def _unsent(records: Iterable[Record]) -> list[Record]:
    """The lines of the client's queue with a person's words during a turn that no other line contains, and no resume
    sends, as 2.0 and early 2.1 wrote them: without those that were taken back into the editor, and those that a later
    request contains.
    """
    waiting: list[Record] = []
    dequeued: list[Record] = []
    last_positions: dict[int, int] = {}  # lines of requests, with the position of the last request that has each
    for record in records:
        if record.type != QUEUED:
            last_positions.update(dict.fromkeys(record.typed, record.position))
        elif record.subtype == "enqueue":
            waiting.append(record)
        elif record.subtype == "popAll":
            waiting.clear()
        elif waiting:
            dequeued.append(waiting.pop(0))
    with_words = [record for record in (*dequeued, *waiting) if record.pieces]
    return [
        record for record in with_words if any(last_positions.get(line, -1) < record.position for line in record.typed)
    ]


# -- abandoned branches ------------------------------------------------------------------------------------------------


class AbandonedRecords:
    """Which records were abandoned by going back: links lead from them to a message on the path, which is, or was, in
    context. For all other records the links are lost. `path` has the first lines of the messages on it, the oldest of
    which is `begin`, "" for none.
    """

    def __init__(self, tree: Tree, path: Collection[str], begin: str) -> None:
        self._tree, self._path = tree, path
        self._begins_with_prompt = bool(begin) and self._is_prompt(begin) and self._is_root(begin)
        self._known: dict[str, bool] = {}

    def has(self, uuid: str) -> bool:
        """Whether a record that is not on the path is on a branch of it. A branch at the beginning of the path counts
        only if both begin with a request: if records have no links at all, none was abandoned.
        """
        chain: dict[str, None] = {}
        while uuid not in self._known and uuid in self._tree.nodes and uuid not in chain:
            if self._tree.lines(uuid)[0] in self._path:
                break
            chain[uuid] = None
            uuid = self._tree.nodes[uuid].parent
        if uuid in self._known:
            is_branch = self._known[uuid]
        elif uuid:
            is_branch = uuid in self._tree.nodes and uuid not in chain
        else:
            with_messages = [each for each in chain if self._tree.nodes[each].pieces]
            is_branch = self._begins_with_prompt and bool(with_messages) and self._is_prompt(with_messages[-1])
        self._known.update(dict.fromkeys(chain, is_branch))
        return is_branch

    def _is_prompt(self, uuid: str) -> bool:
        return any(piece.is_prompt for piece in self._tree.record(uuid).pieces)

    def _is_root(self, uuid: str) -> bool:
        passed = set[str]()
        while uuid in self._tree.nodes and uuid not in passed:
            passed.add(uuid)
            uuid = self._tree.nodes[uuid].parent
        return not uuid
