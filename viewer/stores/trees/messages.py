"""A session's messages, from the entries of its tree: which are in context, and what each compaction did to them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import ClassVar

from cachetools import LRUCache

from viewer.stores.envelopes import Envelopes
from viewer.stores.message import AbandonedBranch, State

from .envelopes import OPENCLAW, PI
from .plain_tree import EntryTree, migrated
from .records import COMPACTION, EDIT, OWN_RECORD, UNKNOWN, TreeEntry
from .replay import PathContext, tree_of
from .strict_schema import KNOWN, LINK, NOTHING


@dataclass(frozen=True, slots=True)
class CompactedEntries:
    """A compaction or reset: ids of the messages in context before and after it, in order. `handoff` is the id of the
    summary, which a reset does not have. If messages were shortened, `entry` is the note, and `edits` are the edits.
    """

    entry: TreeEntry
    handoff: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    edits: tuple[TreeEntry, ...] = ()

    @property
    def time(self) -> float:
        return self.entry.time


@dataclass(frozen=True)
class EntryMessages:
    """All messages of a session by id. `text` differs whenever any of its entries does."""

    entries: Sequence[TreeEntry]
    tree: EntryTree
    text: str

    further_lines: ClassVar[Mapping[int, int]] = {}  # each entry is a message, or belongs to none

    def goes_on_from(self, earlier: EntryMessages) -> bool:
        """Whether these are the earlier ones, none rewritten or removed, and possibly more: the entries are the same
        objects then.
        """
        count = len(earlier.entries)
        return 0 < count <= len(self.entries) and self.entries[count - 1] is earlier.entries[-1]

    @cached_property
    def context(self) -> PathContext:
        """The part of the active path that is sent, at each position of it."""
        return PathContext(self.tree)

    @property
    def envelopes(self) -> Envelopes:
        """What the client of these sessions adds to a person's words."""
        return OPENCLAW if self.tree.is_strict else PI

    @cached_property
    def units(self) -> dict[int, TreeEntry]:
        """The entries that are messages, by their number; edits as copies of those that they change."""
        return {entry.offset: entry for entry in map(self.tree.edited, self.entries) if self._is_message(entry)}

    def _is_message(self, entry: TreeEntry) -> bool:
        if not entry.role or entry.offset in self.repeated:
            return False
        return entry.type != COMPACTION or self.context.is_boundary(entry)

    @cached_property
    def repeated(self) -> frozenset[int]:
        """The numbers of entries that a later one repeats, under the same id."""
        nodes = self.tree.nodes
        earlier = [entry for entry in self.entries if nodes.get(entry.id, entry) is not entry]
        last_offsets = {_as_said(entry): entry.offset for entry in (*earlier, *(nodes[each.id] for each in earlier))}
        return frozenset(entry.offset for entry in earlier if last_offsets[_as_said(entry)] != entry.offset)

    @cached_property
    def unread(self) -> frozenset[str]:
        """The ids of objects that the client does not read as entries."""
        return frozenset(entry.id for entry in self.entries if not self.tree.has(entry))

    def ids_of(self, entries: Iterable[TreeEntry]) -> list[int]:
        """The messages among these entries."""
        units = self.units
        return [entry.offset for entry in entries if entry.offset in units]

    @cached_property
    def lost(self) -> frozenset[str]:
        """The parents of entries, on any path, that are missing."""
        parents = {entry.parent for entry in self.entries if entry.parent}
        return frozenset(parents.difference(self.tree.nodes))

    @cached_property
    def edits(self) -> list[TreeEntry]:
        """The edits of messages, on any path."""
        return [entry for entry in self.entries if entry.type == EDIT]

    @cached_property
    def live(self) -> list[int]:
        """The messages that are in context, in the order in which they are sent."""
        if not self.passed:
            return self.ids_of(self.context.now)
        behind: dict[str, list[int]] = {}
        for each in self.passed:
            behind.setdefault(self.tree.known_before(self.units[each].parent), []).append(each)
        result = [] if self.context.boundaries else behind.pop("", [])
        for entry in self.context.now:
            result += [*self.ids_of([entry]), *behind.get(entry.id, ())]
        return result

    @cached_property
    def passed(self) -> list[int]:
        """The messages that OpenClaw skips because a field is missing. They are shown at their position."""
        if not self.tree.is_strict:
            return []
        lost = [entry for entry in self.units.values() if entry.form == LINK]
        there = {entry.id for entry in self.context.now} if lost else set()
        there |= set() if self.context.boundaries else {""}
        return [entry.offset for entry in lost if self.tree.known_before(entry.parent) in there]

    @cached_property
    def compactions(self) -> list[CompactedEntries]:
        """The compactions and resets of the active path, oldest first."""
        context = self.context
        ends = {at: at + 1 for at in context.boundaries} | {at: context.behind_note(at) for at in context.notes}
        return [
            CompactedEntries(
                context.path[at],
                context.path[at].offset,
                tuple(self.ids_of(context.at(at))),
                tuple(self.ids_of(context.at(end))),
                tuple(each for each in context.path[at:end] if each.type == EDIT),
            )
            for at, end in sorted(ends.items())
        ]

    @cached_property
    def states(self) -> dict[int, State]:
        """The state of every message: in context, summarised away, on an abandoned path, or not reached by any link."""
        result: dict[int, State] = {each: self._state_beside(unit) for each, unit in self.units.items()}
        result.update(dict.fromkeys(self.ids_of(self.tree.path), "under"))
        for each in self.compactions:
            result.update(dict.fromkeys(each.before, "under"))
        result.update(dict.fromkeys(self.live, "live"))
        return result

    def _state_beside(self, unit: TreeEntry) -> State:
        """The state of a message that is not on the path. An edit is not a message of its own."""
        if unit.copy_of is not None or (self.tree.is_strict and (unit.is_side or unit.form != KNOWN)):
            return "out"
        return "out" if unit.offset in self.left else "lost"

    @cached_property
    def unlinked(self) -> int:
        """How many messages no link leads to from where the session continues."""
        return sum(state == "lost" for state in self.states.values())

    @property
    def is_cut(self) -> bool:
        """Whether the context begins where an entry is missing, without a compaction in between."""
        boundaries = self.context.boundaries
        if not self.tree.missing or not boundaries:
            return bool(self.tree.missing)
        path, edge = self.context.path, boundaries[-1]
        first = self.tree.kept_from(path[edge])
        return all(entry.id != first for entry in path[: edge + 1])

    def state_of(self, entry: TreeEntry) -> State:
        """The state of an entry that is not in context: that of its message; one without a message was never sent."""
        return self.states.get(entry.offset, "out")

    @cached_property
    def ids(self) -> list[int]:
        """All messages, in order."""
        return sorted(self.units)

    @cached_property
    def calls(self) -> frozenset[str]:
        """The calls in context."""
        return frozenset(call for each in self.live for call in self.units[each].calls)

    def numbered(self, number: int) -> TreeEntry:
        """The entry with this number. Raises KeyError."""
        at = bisect_left(self.entries, number, key=lambda entry: entry.offset)
        if at == len(self.entries) or self.entries[at].offset != number:
            raise KeyError(number)
        return self.entries[at]

    def is_link(self, unit: TreeEntry) -> bool:
        """Whether OpenClaw skips a message."""
        return self.tree.is_strict and unit.form == LINK

    def role_of(self, message_id: int) -> str:
        """The role that a message is sent in; OWN_RECORD for one that is not sent."""
        unit = self.units[message_id]
        return OWN_RECORD if self.is_link(unit) else unit.sent_role

    def size_of(self, message_id: int) -> int:
        return self.units[message_id].size

    def is_sent(self, message_id: int) -> bool:
        """Whether a request contains a message that is in context: clients leave out replies that broke off and roles
        that they do not know, and OpenClaw results without a call.
        """
        unit = self.units[message_id]
        if unit.is_left_out or self.is_link(unit):
            return False
        return not self.tree.is_strict or unit.answers in ("", UNKNOWN) or unit.answers in self.calls

    @cached_property
    def left(self) -> dict[int, TreeEntry]:
        """The entries that somebody abandoned by going back, by number, each with the first entry of its branch."""
        tree = self.tree
        if len(tree.path) == tree.count:
            return {}
        on_path = {entry.id for entry in tree.path}
        tops: dict[str, TreeEntry | None] = dict.fromkeys(on_path)
        readable = [entry for entry in self.entries if tree.nodes.get(entry.id) is entry]
        for entry in readable:
            chain = []
            at: TreeEntry | None = entry
            while at is not None and at.id not in tops:
                tops[at.id] = None  # in a circle
                chain.append(at)
                at = tree.nodes.get(tree.before(at))
            top = tops[at.id] if at is not None else None
            if at is None or at.id in on_path:
                top = chain[-1] if chain and self._was_left(chain[-1], on_path) else None
            tops.update(dict.fromkeys((each.id for each in chain), top))
        return {each.offset: top for each in readable if (top := tops[each.id]) is not None}

    def _was_left(self, top: TreeEntry, on_path: Collection[str]) -> bool:
        """Whether the path continues from this entry's parent. An entry without a parent must lead to something."""
        parent = self.tree.before(top)
        if parent:
            return parent == self.tree.missing or (parent in on_path and self.tree.went_back_to(parent))
        return self.tree.went_back_to("") and top.id in self._parents

    @cached_property
    def _parents(self) -> frozenset[str]:
        """The entries that have children."""
        return frozenset(self.tree.before(entry) for entry in self.tree.nodes.values())

    @cached_property
    def abandoned(self) -> list[AbandonedBranch]:
        """The branches abandoned by going back, oldest first."""
        members: dict[int, list[int]] = {}
        for entry in self.entries:
            if entry.offset in self.left and self._was_message(entry):
                members.setdefault(self.left[entry.offset].offset, []).append(entry.offset)
        return [
            AbandonedBranch(self._before(self.left[top]), tuple(ids), max(self.units[each].time for each in ids))
            for top, ids in members.items()
        ]

    def _was_message(self, entry: TreeEntry) -> bool:
        return (
            self.states.get(entry.offset) == "out"
            and not entry.is_boundary
            and entry.type != EDIT
            and not entry.is_side
        )

    def _before(self, top: TreeEntry) -> int | None:
        """The message that a branch follows, None where it begins the session."""
        at, visited = self.tree.before(top), set[str]()
        while at in self.tree.nodes and at not in visited:
            visited.add(at)
            entry = self.tree.nodes[at]
            if entry.offset in self.units:
                return entry.offset
            at = self.tree.before(entry)
        return None


def grown(messages: EntryMessages, entries: Sequence[TreeEntry], text: str) -> EntryMessages | None:
    """The messages with the entries that were appended since; None where other entries changed."""
    count, tree, before = len(messages.entries), messages.tree.copy(), len(messages.tree.path)
    grown_messages = EntryMessages(entries, tree, text)
    if not grown_messages.goes_on_from(messages):
        return None
    goes_on = tree.read(entries[count:])
    names = {entry.id for entry in entries[count:]}
    referenced = (messages.tree.nodes, messages.lost, messages.unread, [edit.target for edit in messages.edits])
    if not all(map(names.isdisjoint, referenced)):
        return grown_messages  # an earlier message may have changed
    later = EntryMessages(entries[count:], tree, text)
    new = later.units
    vars(grown_messages).update(
        lost=messages.lost | later.lost,
        unread=messages.unread | later.unread,
        units=messages.units | new,
        ids=[*messages.ids, *sorted(new)],
        edits=[*messages.edits, *later.edits],
    )
    if messages.unlinked:
        return grown_messages  # some of them may be reached through the new entries
    boundaries = (messages.tree.path[at] for at in messages.context.boundaries)
    if any(grown_messages.is_link(unit) for unit in new.values()) or any(map(tree.keeps_by_link, boundaries)):
        return grown_messages
    if goes_on and not any(entry.is_boundary or entry.is_marked or entry.type == EDIT for entry in tree.path[before:]):
        _go_on(messages, grown_messages, tree.path[before:], new)
    return grown_messages


def _go_on(
    messages: EntryMessages, grown_messages: EntryMessages, path: Sequence[TreeEntry], new: Mapping[int, TreeEntry]
) -> None:
    """Copies what does not change when a path only gets longer: for a long session, most of the work."""
    sent_ids = [entry.offset for entry in path if entry.offset in new]
    states: dict[int, State] = {
        each: grown_messages._state_beside(unit) for each, unit in new.items() if each not in sent_ids
    }
    context = PathContext(grown_messages.tree)
    earlier = messages.context
    vars(context).update(boundaries=earlier.boundaries, edits=earlier.edits, notes=earlier.notes)
    vars(context).update(now=[*earlier.now, *path])
    vars(grown_messages).update(
        context=context,
        compactions=messages.compactions,
        passed=messages.passed,
        live=[*messages.live, *sent_ids],
        states=messages.states | states | dict.fromkeys(sent_ids, "live"),
    )
    if not states:
        vars(grown_messages).update(abandoned=messages.abandoned, left=messages.left, unlinked=0)


def _as_said(entry: TreeEntry) -> TreeEntry:
    """An entry without its position and the fields that depend on it."""
    return replace(entry, place=0, offset=0, length=0, form=NOTHING, is_in_tree=False)


HELD = 60_000  # messages in this process; always enough for two sessions

_held: LRUCache[str, EntryMessages] = LRUCache(HELD, getsizeof=lambda each: min(len(each.entries) + 1, HELD // 2))
_lock = Lock()


def cached_messages(key: str, entries: Sequence[TreeEntry], text: str, *, is_strict: bool) -> EntryMessages:
    """The messages of the session with this cache key, whose current entries are these. `text` differs whenever they
    do.
    """
    with _lock:
        cached = _held.get(key)
    if cached is not None and cached.text == text:
        return cached
    if not is_strict:
        entries = migrated(entries)
    result = grown(cached, entries, text) if cached is not None else None
    if result is None:
        result = EntryMessages(entries, tree_of(entries, is_strict=is_strict), text)
    with _lock:
        _held[key] = result
    return result
