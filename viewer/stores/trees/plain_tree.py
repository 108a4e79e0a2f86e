"""The tree of a session's entries and its active path, from the root to the leaf.

In pi the newest entry is the leaf. OpenClaw's rules are in `strict_tree`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from .plain_schema import HOOK, TREE, VERSION
from .records import CUSTOM_MESSAGE, EDIT, TreeEntry

EDITABLE = ("user", "assistant", "toolResult", "custom")  # roles of messages whose words an edit may replace


@dataclass
class EntryTree:
    """The entries of a session read so far, by pi's rules. Of several with one id the last one counts.

    `leaf` is the id of the entry that is the leaf, "" for none, `append_parent` the parent of the client's next entry;
    `path` are the entries from the root to the leaf. `missing` is the parent at which the path ends because it is not
    there, "" where the path ends at a root; `is_cyclic` says that it ends where an entry would occur again (on such a
    path pi itself loops forever). `count` is how many entries were read that a path may contain, including those whose
    id a later one has. `is_strict` says that OpenClaw's rules apply.
    """

    nodes: dict[str, TreeEntry] = field(default_factory=dict)
    leaf: str = ""
    append_parent: str = ""
    path: list[TreeEntry] = field(default_factory=list)
    missing: str = ""
    is_cyclic: bool = False
    count: int = 0
    is_strict: bool = False

    def copy(self) -> EntryTree:
        """A copy, to read on without changing this one."""
        return replace(self, nodes=dict(self.nodes), path=list(self.path))

    def read(self, entries: Iterable[TreeEntry]) -> bool:
        """Read these entries as well; returns whether that only made the path longer."""
        goes_on = True
        for entry in entries:
            goes_on = self._take(entry, goes_on)
        if not goes_on:
            self._walk()
        return goes_on

    def has(self, entry: TreeEntry) -> bool:
        """Whether an entry may be on a path."""
        return entry.is_in_tree

    def _take(self, entry: TreeEntry, goes_on: bool) -> bool:
        """Read one entry; returns whether the path was only made longer so far, including this entry."""
        if not entry.is_in_tree:
            return goes_on
        goes_on = goes_on and entry.id not in self.nodes and entry.id != self.missing
        self.nodes[entry.id] = entry
        self.count += 1
        self.leaf = self.append_parent = entry.id
        return self._append(entry, goes_on)

    def _append(self, entry: TreeEntry, goes_on: bool) -> bool:
        """Make the path longer by its new leaf if the leaf's parent is the end of the path; returns whether it is."""
        if not goes_on or self.missing or self.is_cyclic or self.before(entry) != self._end():
            return False
        self.path.append(entry)
        return True

    def _end(self) -> str:
        return self.path[-1].id if self.path else ""

    def before(self, entry: TreeEntry) -> str:
        """The id of the entry before this one on its path, "" for none."""
        return entry.parent

    def went_back_to(self, name: str) -> bool:
        """Whether the path continues from this entry because somebody went back to it; "" means its beginning."""
        return name != self._end() if name else bool(self.path) and not self.before(self.path[0])

    def _walk(self) -> None:
        self.path, self.missing, self.is_cyclic = [], "", False
        at, visited = self.leaf, set[str]()
        while at:
            entry = self.nodes.get(at)
            if entry is None:
                self.missing = at
                break
            if at in visited:
                self.is_cyclic = True
                break
            visited.add(at)
            self.path.append(entry)
            at = self.before(entry)
        self.path.reverse()

    def known_before(self, name: str) -> str:
        """The id itself, or, if the client skips that entry, the id of the entry that replaces it; "" for none."""
        return name

    def keeps_by_link(self, boundary: TreeEntry) -> bool:
        """Whether what a boundary keeps depends on entries that may follow it."""
        return False

    def kept_from(self, boundary: TreeEntry) -> str:
        """The id of the first entry that a compaction or reset keeps."""
        return boundary.first_kept

    def edited(self, entry: TreeEntry) -> TreeEntry:
        """An edit as a copy of the message with its new words; any other entry unchanged."""
        if entry.type != EDIT or not entry.has_words:
            return entry
        target = self.nodes.get(entry.target)
        if target is None or not (target.type == CUSTOM_MESSAGE or target.message_role in EDITABLE):
            return entry
        return replace(entry, role=target.role, calls=target.calls, answers=target.answers, copy_of=target.offset)


# -- older versions of pi's files, as pi itself reads them -------------------------------------------------------------
#
# A file of version 1 is a list, whose entries have no ids; version 2 has another name for the messages of extensions.
# pi rewrites both when it opens them.


def header_of(entries: Iterable[TreeEntry]) -> TreeEntry | None:
    """The first entry that pi reads, if it is a header: without one it does not open a file."""
    first = next((each for each in entries if each.is_in_tree or each.version is not None), None)
    return None if first is None or first.version is None else first


def migrated(entries: Sequence[TreeEntry]) -> Sequence[TreeEntry]:
    """The entries of a file as pi reads them: those of an older file as it would rewrite them."""
    header = header_of(entries)
    if header is None or header.version is None or not header.version < VERSION:
        return entries
    if header.version < TREE:
        entries = _in_a_row(entries)
    return [replace(each, role="user", is_unknown=False) if each.message_role == HOOK else each for each in entries]


def _in_a_row(entries: Sequence[TreeEntry]) -> list[TreeEntry]:
    """A list as a tree: the parent of each entry is the one before it."""
    tree_entries: list[TreeEntry] = []
    read: list[str] = []  # ids of all that pi reads, "" for headers
    parent = ""
    for entry in entries:
        if entry.version is not None:
            read.append("")
        if entry.is_in_tree:
            name = f"{entry.place}"
            read.append(name)
            first = read[entry.first_place] if 0 <= entry.first_place < len(read) else ""
            entry = replace(entry, id=name, parent=parent, first_kept=first or entry.first_kept)
            parent = name
        tree_entries.append(entry)
    return tree_entries
