"""OpenClaw's rules for a tree: which entries count, and what their parents are. Taken from the client's own code
(2026.9.6).

An entry that lacks a field of its type is a link: it is skipped on the way to the root. An entry that was appended at
the side does not move the leaf, and the next entry becomes a child of the leaf. Nothing after a reset leads before it:
a leaf cannot be set there, and an entry that names a parent there becomes a child of the leaf.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .plain_tree import EntryTree
from .records import RESET, TreeEntry
from .strict_schema import KNOWN, LEAF_SET, LINK


@dataclass
class StrictTree(EntryTree):
    """The entries of a session of OpenClaw. `links` has the parents of entries that are not in the tree, and the
    targets of set leaves; `hung` the actual parents of entries that name another parent. For the newest `reset`,
    `below` are all entries after it. `void` are leaves that were set to missing entries.
    """

    is_strict: bool = True
    links: dict[str, str] = field(default_factory=dict)
    hung: dict[str, str] = field(default_factory=dict)
    void: set[str] = field(default_factory=set)
    reset: str = ""
    below: set[str] = field(default_factory=set)

    def copy(self) -> StrictTree:
        return replace(
            self,
            nodes=dict(self.nodes),
            path=list(self.path),
            links=dict(self.links),
            hung=dict(self.hung),
            void=set(self.void),
            below=set(self.below),
        )

    def has(self, entry: TreeEntry) -> bool:
        return self._form(entry) == KNOWN

    def _form(self, entry: TreeEntry) -> str:
        """As `TreeEntry.form`, but a label of a missing entry is a link."""
        is_lost = entry.type == "label" and entry.form == KNOWN and entry.target not in self.nodes
        return LINK if is_lost else entry.form

    def _take(self, entry: TreeEntry, goes_on: bool) -> bool:
        form = self._form(entry)
        if form == KNOWN:
            return self._add_known(entry, goes_on)
        if form == LINK:
            return self._lost_label(entry, goes_on) if entry.form == KNOWN else self._link(entry, goes_on)
        return self._set_leaf(entry, goes_on) if form == LEAF_SET else goes_on

    def _add_known(self, entry: TreeEntry, goes_on: bool) -> bool:
        goes_on = goes_on and entry.id not in self.nodes and entry.id not in self.links and entry.id != self.missing
        leads_before = bool(self.reset) and not entry.is_side and entry.parent not in self.below
        is_behind_side = not entry.is_side and entry.parent == self.append_parent != self.leaf
        if leads_before or not entry.has_parent or is_behind_side:
            self.hung[entry.id] = self.leaf
        self.nodes[entry.id] = entry
        self.count += 1
        if entry.type == RESET:
            self.reset, self.below = entry.id, {entry.id}
        elif self.reset and self.hung.get(entry.id, entry.parent) in self.below:
            self.below.add(entry.id)
        self.append_parent = entry.id
        if entry.is_side:
            return goes_on
        self.leaf = entry.id
        return self._append(entry, goes_on)

    def _link(self, entry: TreeEntry, goes_on: bool) -> bool:
        goes_on = goes_on and entry.id not in self.links and entry.id != self.missing
        self.links[entry.id] = entry.parent
        if self.reset and entry.parent in self.below:
            self.below.add(entry.id)
        self.append_parent = entry.id
        return goes_on

    def _lost_label(self, entry: TreeEntry, goes_on: bool) -> bool:
        goes_on = goes_on and entry.id not in self.links and entry.id != self.missing
        self.links[entry.id] = self.known_before(entry.parent)
        return goes_on

    def _set_leaf(self, entry: TreeEntry, goes_on: bool) -> bool:
        goes_on = goes_on and entry.id not in self.links and entry.id != self.missing
        behind = entry.append_parent
        if not self._is_there(entry.target) or (behind is not None and not self._is_there(behind)):
            self.void.add(entry.id)
            self.links[entry.id] = self._existing(entry.parent)
            return goes_on
        leaf = self.known_before(entry.target)
        append_parent = leaf if behind is None else self._existing(behind)
        if self.reset and leaf not in self.below:
            leaf = append_parent = self.leaf
        self.links[entry.id] = leaf
        if self.reset and leaf in self.below:
            self.below.add(entry.id)
        self.leaf, self.append_parent = leaf, append_parent
        return goes_on and self.leaf == self._end() and not self.missing

    def _is_there(self, name: str) -> bool:
        return not name or name in self.nodes or (name in self.links and name not in self.void)

    def _existing(self, name: str) -> str:
        return name if not name or name in self.nodes or name in self.links else ""

    def known_before(self, name: str) -> str:
        visited = set[str]()
        while name and name not in self.nodes:
            if name in visited:
                return ""
            visited.add(name)
            name = self.links.get(name, "")
        return name

    def before(self, entry: TreeEntry) -> str:
        parent = self.hung[entry.id] if entry.id in self.hung else self.known_before(entry.parent)
        return "" if parent == entry.id else parent

    def went_back_to(self, name: str) -> bool:
        """Whether somebody went back to this entry of the path, or to before it; a `leaf` entry does that as well."""
        return bool(name) or (bool(self.path) and not self.missing and not self.before(self.path[0]))

    def _append(self, entry: TreeEntry, goes_on: bool) -> bool:
        is_lost = not self.path and bool(entry.parent) and entry.id not in self.hung
        return super()._append(entry, goes_on and not is_lost)

    def _walk(self) -> None:
        self.path, self.missing, self.is_cyclic = [], "", False
        at, visited = self.known_before(self.leaf), set[str]()
        entry = None
        while at:
            if at in visited:
                self.is_cyclic = True
                break
            visited.add(at)
            entry = self.nodes[at]
            self.path.append(entry)
            at = self.before(entry)
        if entry is not None and not at and entry.id not in self.hung and entry.parent not in ("", entry.id):
            self.missing = self._lost(entry.parent)
        self.path.reverse()

    def _lost(self, name: str) -> str:
        """The missing id that the links from this one lead to, "" for none."""
        visited = set[str]()
        while name in self.links and name not in visited:
            visited.add(name)
            name = self.links[name]
        return "" if name in visited else name

    def keeps_by_link(self, boundary: TreeEntry) -> bool:
        return boundary.first_kept in self.links and boundary.first_kept not in self.nodes

    def kept_from(self, boundary: TreeEntry) -> str:
        """If it names a link, the entry that this leads to; else the first one after it, on the path if there is one;
        else the one before the boundary.
        """
        first = boundary.first_kept
        if first in self.nodes or first not in self.links:
            return first
        return (
            self.known_before(first)
            or self._above(boundary, first)
            or self._first_descendant(first)
            or self.before(boundary)
        )

    def _above(self, boundary: TreeEntry, first: str) -> str:
        """The entry nearest to this link on the way from it to a boundary; "" where it is not on that way."""
        at, visited, nearest = self.known_before(boundary.parent), set[str](), ""
        while at and at not in visited:
            if at == first:
                return nearest
            visited.add(at)
            entry = self.nodes.get(at)
            nearest = at if entry is not None else nearest
            at = self.links.get(at, "") if entry is None else entry.parent
        return ""

    def _first_descendant(self, first: str) -> str:
        """The first descendant of this link, "" for none."""
        for entry in self.nodes.values():
            at, visited = entry.parent, set[str]()
            while at in self.links and at not in visited:
                if at == first:
                    return entry.id
                visited.add(at)
                at = self.links[at]
        return ""
