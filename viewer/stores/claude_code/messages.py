"""A session's messages and compactions, made from its records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from threading import Lock

from cachetools import LRUCache

from viewer.stores.message import State

from . import sidechains
from .paths import SessionFile
from .records import OWN_RECORD, QUEUED, RECORDS, Piece, Record, SessionRecords
from .replay import end_of, first_read, hangs_on_dropped, kept_by, leaves_out_typed, thread
from .schema import MICROCOMPACTED
from .tree import AbandonedRecords, Tree, tree_of

MOST_KEPT = 60_000  # messages in this process, about 30 MB; always enough for two sessions


@dataclass(frozen=True, slots=True)
class SessionMessage:
    """One message: `uuids` are its records, `piece` is which part of a user's record it is. `copy_of` is the message of
    which it is a shortened copy.
    """

    id: int
    role: str
    time: float
    uuids: tuple[str, ...]
    piece: Piece
    size: int
    is_summary: bool
    copy_of: int | None = None

    @property
    def is_prompt(self) -> bool:
        return self.piece.is_prompt


@dataclass(frozen=True, slots=True)
class SessionCompaction:
    """A boundary: ids of the messages in context before and after it, in order, and of its summary. `record` is the
    boundary's, or the summary's where it has no boundary: that is how the client continued in a new session before it
    wrote boundaries.
    """

    record: Record
    handoff: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def time(self) -> float:
        return self.record.time


@dataclass(frozen=True)
class SessionMessages:
    """All messages of a session by id, those that are in context, in order, and the compactions. `read` has the records
    that a resume reads, which are all of them in most files.
    """

    tree: Tree
    read: Tree
    units: dict[int, SessionMessage] = field(default_factory=dict)
    is_sub_agent: bool = False
    outside: tuple[Record, ...] = ()  # records of unknown types, which are not in the tree
    sidechains: tuple[Record, ...] = ()  # the first records of sub-agents that wrote to the session's file

    @cached_property
    def unknown(self) -> str:
        """The unknown form of a record that decides the context, or is on its way (`schema`), "" for none."""
        way = {record.uuid for record in self.thread}
        ahead = {record.parent for record in self.thread}
        records = (self.tree.nodes[uuid] for uuid in self.tree.order)
        odd = (record for record in records if record.unknown and (record.type == "system" or record.uuid in way))
        met = (record for record in self.outside if record.uuid in ahead or record.parent in way)
        return next((record.unknown for record in chain(odd, met)), "")

    @cached_property
    def thread(self) -> list[Record]:
        """The records that a resume sends. For a sub-agent, which is not resumed, everything it said: some of its
        records have parents in its session.
        """
        if self.is_sub_agent and not self.tree.boundaries:
            return [self.tree.nodes[uuid] for uuid in self.tree.order]
        return thread(self.read, next(reversed(self.read.boundaries), ""))

    @cached_property
    def end(self) -> str:
        """The record that the thread ends with, "" for none."""
        return end_of(self.read)

    @cached_property
    def live(self) -> list[int]:
        """The messages that a resume sends."""
        return self.ids_of(self.thread)

    def sent(self, message_id: int) -> SessionMessage:
        """A message with only those of its lines that a resume sends."""
        message = self.units[message_id]
        if len(message.uuids) < 2:
            return message
        lines = sorted(filter(self._sent.__contains__, message.uuids), key=self._sent.__getitem__)
        return replace(message, uuids=tuple(lines))

    @cached_property
    def _sent(self) -> dict[str, int]:
        return {record.uuid: at for at, record in enumerate(self.thread)}

    @cached_property
    def lone(self) -> frozenset[str]:
        """Calls in context without a result, and results without a call, which a resume leaves out. It answers those at
        the end of the thread (`unfinished`) itself.
        """
        calls = {call for record in self.thread for call in record.calls}
        return (self._answered ^ calls) - self.unfinished

    @cached_property
    def unfinished(self) -> frozenset[str]:
        """The calls without a result at the end of the thread."""
        messages = (record for record in reversed(self.thread) if record.pieces and not record.answers)
        end = next(messages, None)
        lines = frozenset(self.tree.lines(end.uuid) if end and end.group else ())
        calls = (call for record in self.thread if record.uuid in lines for call in record.calls)
        return frozenset(calls) - self._answered

    @cached_property
    def _answered(self) -> frozenset[str]:
        return frozenset(call for record in self.thread for call in record.answers)

    @cached_property
    def compactions(self) -> list[SessionCompaction]:
        compactions: list[SessionCompaction] = []
        before = ""
        for uuid in self.tree.boundaries:
            record = self.tree.nodes[uuid]
            compactions.append(self._compacted(record, self.ids_of(thread(self.tree, before, self._start(uuid)))))
            before = uuid
        alone = self._alone({*self.live, *(each for compacted in compactions for each in compacted.before)})
        return sorted([*compactions, *alone], key=lambda each: self.tree.position(each.record.uuid))

    def _alone(self, sent: Collection[int]) -> Iterator[SessionCompaction]:
        """The summaries without a boundary that are or were `sent`. Such a summary drops none of its ancestors."""
        summaries = {summary_of(self.tree, uuid) for uuid in self.tree.boundaries}
        before = ""
        for uuid in self.tree.order:
            record = self.tree.nodes[uuid]
            if record.is_boundary:
                before = uuid
            elif record.is_summary and record.pieces and uuid not in summaries:
                (handoff,) = self.of_record(uuid)[:1]
                if handoff in sent:
                    earlier = tuple(self.ids_of(thread(self.tree, before, self.tree.position(uuid))))
                    hangs = record.parent in self.tree.nodes
                    yield SessionCompaction(record, handoff, earlier, (*(earlier if hangs else ()), handoff))

    def _start(self, boundary: str) -> int:
        """The position where a compaction begins: copies come before its boundary."""
        facts = self.tree.nodes[boundary].boundary
        kept_records = facts.kept if facts else None
        copies = (uuid for uuid in (kept_records.uuids if kept_records else ()) if uuid in self.tree.nodes)
        positions = [self.tree.position(uuid) for uuid in copies if self.tree.nodes[uuid].copy_of]
        newer = [position for position in positions if position > self._before(boundary)]
        return min(newer, default=self.tree.position(boundary))

    def _before(self, boundary: str) -> int:
        """The position of the boundary before this one, -1 for none."""
        boundaries = self.tree.boundaries
        at = boundaries.index(boundary)
        return self.tree.position(boundaries[at - 1]) if at else -1

    @cached_property
    def states(self) -> dict[int, State]:
        """The state of every message: in context, summarised away, abandoned or undone ("out"), or not linked to any
        more.
        """
        states: dict[int, State] = dict.fromkeys(self.units, "lost")
        for boundary in self.compactions:
            states.update(dict.fromkeys(boundary.before, "under"))
        states.update((message.id, "live") for message in self.units.values() if message.role == OWN_RECORD)
        states.update(dict.fromkeys(self.live, "live"))
        path = {message.uuids[0] for message in self.units.values() if states[message.id] != "lost"}
        begin = next(iter((*(self.compactions[0].before if self.compactions else ()), *self.live)), None)
        branches = AbandonedRecords(
            self.tree, path, self.units[begin].uuids[0] if begin in self.units and len(path) > 1 else ""
        )
        for message in self.units.values():
            is_own = message.is_summary or message.copy_of is not None
            if states[message.id] == "lost" and (is_own or branches.has(message.uuids[0])):
                states[message.id] = "out"
        return states

    @cached_property
    def is_tangled(self) -> bool:
        """Whether it is unknown what the client sends: where the thread contains a record whose parent the boundary
        dropped, or leaves out words that somebody typed at its end, or where lines of one response, some of them calls,
        are not together.
        """
        if hangs_on_dropped(self.read) or leaves_out_typed(self.read):
            return True
        first_lines: dict[str, set[str]] = {}
        for record in self.thread:
            if record.group:
                first_lines.setdefault(record.group, set()).add(self.tree.lines(record.uuid)[0])
        apart = {group for group, firsts in first_lines.items() if len(firsts) > 1}
        return any(record.group in apart and record.calls for record in self.thread)

    def role_of(self, message_id: int) -> str:
        return self.units[message_id].role

    def size_of(self, message_id: int) -> int:
        return self.units[message_id].size

    @cached_property
    def unlinked(self) -> int:
        """How many messages nothing links to any more."""
        return sum(state == "lost" for state in self.states.values())

    @cached_property
    def ids(self) -> list[int]:
        """All messages, in order."""
        return sorted(self.units)

    @cached_property
    def further_lines(self) -> dict[int, int]:
        """The offsets of the further lines of messages, with the message of each."""
        return {self.tree.offset(uuid): message.id for message in self.units.values() for uuid in message.uuids[1:]}

    def of_record(self, uuid: str) -> list[int]:
        """The messages that a record contains or continues; none for a record without messages or a missing one."""
        record = self.tree.nodes.get(uuid)
        if record is None:
            return []
        if record.group:
            return [self.tree.offset(self.tree.lines(uuid)[0])]
        at = self.tree.offset(uuid)
        if record.is_boundary:
            return [at] if at in self.units else []
        return [at + piece.at for piece in record.pieces]

    def ids_of(self, records: Iterable[Record]) -> list[int]:
        """The messages of these records, each once, in order."""
        ids = (self.of_record(record.uuid) for record in records if record.subtype != MICROCOMPACTED)
        return list(dict.fromkeys(chain.from_iterable(ids)))

    def _compacted(self, record: Record, before: Sequence[int]) -> SessionCompaction:
        summary = summary_of(self.tree, record.uuid)
        handoff = self.of_record(summary or record.uuid)[0]
        kept_records = kept_by(self.tree, record.uuid)
        kept_ids = [] if kept_records is None else self.ids_of(self.tree.nodes[uuid] for uuid in kept_records.uuids)
        if handoff not in kept_ids:
            behind = kept_records is not None and kept_records.anchor == record.uuid and kept_ids
            kept_ids = [*kept_ids, handoff] if behind else [handoff, *kept_ids]
        return SessionCompaction(record, handoff, tuple(before), tuple(kept_ids))


NEAR = 20  # lines after a boundary in which its summary is searched: attachments may come before it


def summary_of(tree: Tree, boundary: str) -> str:
    """The summary after a boundary, "" where there is none."""
    start = tree.position(boundary)
    for uuid in tree.between(start, start + NEAR):
        record = tree.nodes[uuid]
        if record.is_boundary:
            break
        if record.is_summary and record.pieces:
            return uuid
    return ""


def conversation_of(records: Sequence[Record], *, sidechain: bool = False) -> SessionMessages:
    """The messages of a file's records; with `sidechain` of a sub-agent's file."""
    tree = tree_of(records, sidechain=sidechain)
    units: dict[int, SessionMessage] = {}
    for uuid in tree.order:
        record = tree.nodes[uuid]
        if record.is_boundary:
            if not summary_of(tree, uuid):  # the boundary replaces the missing summary
                at = tree.offset(uuid)
                units[at] = SessionMessage(at, "system", record.time, (uuid,), Piece(0, "system", 0), 0, True)
        elif (lines := tree.lines(uuid))[0] == uuid:
            for piece in record.pieces:
                message = _message_of(tree, lines, piece)
                units[message.id] = message
    for name, record in tree.outside.items():
        for piece in record.pieces:
            message = _message_of(tree, [name], piece)
            units[message.id] = message
    start = first_read(records)
    outside = tuple(record for record in records if record.unknown and not record.is_in_tree)
    read = tree_of(records[start:]) if start else tree
    return SessionMessages(tree, read, units, sidechain, outside, () if sidechain else tuple(sidechains.begun(records)))


def _message_of(tree: Tree, lines: Sequence[str], piece: Piece) -> SessionMessage:
    """The message, or the piece of one, in these lines."""
    first = tree.record(lines[0])
    size = sum(each.size for uuid in lines for each in tree.nodes[uuid].pieces) if len(lines) > 1 else piece.size
    copied = tree.nodes.get(first.copy_of)
    return SessionMessage(
        copy_of=tree.offset(_first_line(tree, copied)) + piece.at if copied else None,
        id=tree.offset(lines[0]) + piece.at,
        role=piece.role,
        time=first.time,
        uuids=tuple(lines),
        piece=piece,
        size=size,
        is_summary=first.is_summary,
    )


def _first_line(tree: Tree, record: Record) -> str:
    return tree.lines(record.uuid)[0]


# -- after lines were appended -----------------------------------------------------------------------------------------


def extended(conversation: SessionMessages, records: Sequence[Record], *, sidechain: bool) -> SessionMessages | None:
    """The conversation with these records appended; None where it has to be made anew: for a long session little is
    made anew where the parent of each new record is the one before it. Everything else (a compaction, a rewind, results
    of parallel calls, a record written again) is left to `conversation_of`.
    """
    new = _copied(conversation)
    end = conversation.end
    thread, live, states = list(conversation.thread), list(conversation.live), dict(conversation.states)
    for record in records:
        if record.unknown or record.type == QUEUED or (record.is_sidechain and not sidechain):
            return None
        if conversation.sidechains and (record.group or record.calls or record.answers):
            return None  # lines of a sub-agent may belong to it
        if record.typed and any(each.type == QUEUED for each in conversation.tree.outside.values()):
            return None
        if record.leaf:
            if record.leaf != end:
                return None
            for tree in _trees(new):
                tree.leaves.append(record)
        if not record.is_in_tree:
            if record.pieces:
                return None
            continue
        is_of_compaction = record.is_boundary or record.is_summary or record.copy_of
        if record.uuid in new.tree.nodes or record.parent != end or is_of_compaction:
            return None
        units = _append(new, record)
        live += [message.id for message in units if message.role != OWN_RECORD]
        states.update((message.id, "live") for message in units)
        thread.append(record)
        end = record.uuid
    vars(new).update(thread=thread, live=live, states=states, end=end, compactions=conversation.compactions)
    return new


def _copied(conversation: SessionMessages) -> SessionMessages:
    tree = _copy(conversation.tree)
    read = tree if conversation.read is conversation.tree else _copy(conversation.read)
    return SessionMessages(
        tree, read, dict(conversation.units), conversation.is_sub_agent, conversation.outside, conversation.sidechains
    )


def _copy(tree: Tree) -> Tree:
    return Tree(
        dict(tree.nodes), dict(tree.rewritten), list(tree.order), dict(tree.outside), dict(tree.groups),
        dict(tree.responses), dict(tree.first_lines), tree.open, dict(tree.results), list(tree.leaves),
        tree.gone_on_aside,
    )  # fmt: skip


def _append(conversation: SessionMessages, record: Record) -> list[SessionMessage]:
    """Put a record into the conversation; returns the messages that are new with it."""
    for tree in _trees(conversation):
        tree.append(record)
    lines = conversation.tree.lines(record.uuid)
    if len(lines) > 1:
        first = conversation.units[conversation.tree.offset(lines[0])]
        size = first.size + sum(piece.size for piece in record.pieces)
        conversation.units[first.id] = replace(first, uuids=tuple(lines), size=size)
        return []
    units = [_message_of(conversation.tree, lines, piece) for piece in record.pieces]
    conversation.units.update((message.id, message) for message in units)
    return units


def _trees(conversation: SessionMessages) -> list[Tree]:
    return [conversation.tree] if conversation.read is conversation.tree else [conversation.tree, conversation.read]


# -- the messages of the latest sessions -------------------------------------------------------------------------------


_kept: LRUCache[str, tuple[SessionRecords, SessionMessages]] = LRUCache(
    MOST_KEPT, getsizeof=lambda each: min(len(each[1].units) + 1, MOST_KEPT // 2)
)
_lock = Lock()


def messages_of(file: SessionFile) -> SessionMessages:
    """The current messages of a session's file. Raises StoreUnavailable."""
    read = RECORDS.read(file.path)
    key = f"{file.path}/{file.sidechain}"
    with _lock:
        cached = _kept.get(key)
    if cached is not None and cached[0].state == read.state:
        return cached[1]
    new = _appended(cached[0], read) if cached and not file.sidechain else None
    conversation = None if cached is None or new is None else extended(cached[1], new, sidechain=bool(file.parent))
    conversation = conversation or conversation_of(_part(file, read.records), sidechain=bool(file.parent))
    with _lock:
        _kept[key] = read, conversation
    return conversation


def records_of(file: SessionFile) -> list[Record]:
    """The lines of a session, which may be a part of its file. Raises StoreUnavailable."""
    return _part(file, RECORDS.read(file.path).records)


def _part(file: SessionFile, records: list[Record]) -> list[Record]:
    return sidechains.of(records, file.sidechain) if file.sidechain else records


def _appended(cached: SessionRecords, now: SessionRecords) -> list[Record] | None:
    """The records that were read after the cached ones; None where the cached ones have changed."""
    count = len(cached.records)
    same = 0 < count <= len(now.records) and now.records[count - 1] is cached.records[-1]
    return now.records[count:] if same and first_read(cached.records) == first_read(now.records) else None
