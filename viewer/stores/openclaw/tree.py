"""The tree of a session's entries and the path that is active in it: from the root to the leaf.

The newest entry in order is the leaf. A `leaf` entry sets it to another one, and what hangs on a `leaf` entry hangs on
that; an entry that was appended at the side does not move it. OpenClaw passes over types that it does not know; in pi
whatever stands last is the leaf.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from .entries import EDIT, LEAF, TreeEntry

# The types that move OpenClaw's leaf.
KNOWN = frozenset({
    "message", "thinking_level_change", "model_change", "compaction", "reset", "branch_summary", "custom",
    "custom_message", "label", "session_info",
})  # fmt: skip


@dataclass
class EntryTree:
    """The entries of a session so far. Of several with one id the last one counts.

    `is_strict` says that OpenClaw's rules hold, and not pi's. `leaf` is the id of the entry that is the leaf, "" for
    none, `append_parent` the one that the client's next entry hangs on; `path` are the entries from the root to the
    leaf, without `leaf` entries. `missing` is the parent that the path would go on to, and that is not there, "" where
    it ends at a root; `is_cyclic` says that it ends where it would come to an entry again. `count` is how many
    entries were read, those with an id that a later one has included.
    """

    is_strict: bool
    nodes: dict[str, TreeEntry] = field(default_factory=dict)
    leaf: str = ""
    append_parent: str = ""
    path: list[TreeEntry] = field(default_factory=list)
    missing: str = ""
    is_cyclic: bool = False
    count: int = 0

    def copy(self) -> EntryTree:
        """The same, to read on without changing this one."""
        return replace(self, nodes=dict(self.nodes), path=list(self.path))

    def read(self, entries: Iterable[TreeEntry]) -> bool:
        """Go on with these entries; whether the path was only made longer by it."""
        goes_on = True
        for entry in entries:
            if not entry.is_in_tree:
                continue
            self.count += 1
            goes_on = goes_on and entry.id not in self.nodes and entry.id != self.missing
            self.nodes[entry.id] = entry
            if entry.type == LEAF:
                self.leaf, self.append_parent = entry.target, entry.append_parent
                goes_on = goes_on and self.leaf == self._end()
                continue
            self.append_parent = entry.id
            if entry.is_side or not self.moves_leaf(entry):
                continue
            self.leaf = entry.id
            if goes_on and entry.parent == self._end() and not (self.missing or self.is_cyclic):
                self.path.append(entry)
            else:
                goes_on = False
        if not goes_on:
            self._walk()
        return goes_on

    def moves_leaf(self, entry: TreeEntry) -> bool:
        """Whether an entry of this type becomes the leaf."""
        return not self.is_strict or entry.type in KNOWN

    def _end(self) -> str:
        return self.path[-1].id if self.path else ""

    def parent_of(self, entry: TreeEntry) -> str:
        """The entry before this one on its path."""
        return entry.target if entry.type == LEAF else entry.parent

    def _walk(self) -> None:
        self.path, self.missing, self.is_cyclic = [], "", False
        at, seen = self.leaf, set[str]()
        while at:
            entry = self.nodes.get(at)
            if entry is None:
                self.missing = at
                break
            if at in seen:
                self.is_cyclic = True
                break
            seen.add(at)
            if entry.type != LEAF:
                self.path.append(entry)
            at = self.parent_of(entry)
        self.path.reverse()

    def edited(self, entry: TreeEntry) -> TreeEntry:
        """An edit as a copy of the message that it gives other words; any other entry as it is."""
        if entry.type != EDIT or not entry.has_words:
            return entry
        target = self.nodes.get(entry.target)
        if target is None or not target.role or target.type == EDIT:
            return entry
        return replace(entry, role=target.role, calls=target.calls, answers=target.answers, copy_of=target.offset)


def tree_of(entries: Iterable[TreeEntry], *, is_strict: bool) -> EntryTree:
    """The tree of a session's entries, in order."""
    tree = EntryTree(is_strict)
    tree.read(entries)
    return tree
