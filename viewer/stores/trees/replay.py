"""The rule: the tree of a session's entries, and the part of its active path that the client sends to a model: all of
it, or what its newest compaction or reset left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from .plain_tree import EntryTree
from .records import EDIT, MESSAGE, RESET, TreeEntry
from .strict_schema import KNOWN
from .strict_tree import StrictTree


def tree_of(entries: Iterable[TreeEntry], *, is_strict: bool) -> EntryTree:
    """The tree of a session's entries, in order: by OpenClaw's rules where `is_strict`, else by pi's."""
    tree = StrictTree() if is_strict else EntryTree()
    tree.read(entries)
    return tree


@dataclass(frozen=True)
class PathContext:
    """The context at each position of the active path of a tree."""

    tree: EntryTree

    @property
    def path(self) -> Sequence[TreeEntry]:
        """The active path, from the root to the leaf."""
        return self.tree.path

    @cached_property
    def boundaries(self) -> list[int]:
        """The positions of the compactions and resets on the path."""
        return [at for at, entry in enumerate(self.path) if self.is_boundary(entry)]

    def is_boundary(self, entry: TreeEntry) -> bool:
        """Whether the client reads an entry as a compaction or reset: OpenClaw only where no field is missing."""
        return entry.is_boundary and (not self.tree.is_strict or entry.form == KNOWN)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {entry.id: at for at, entry in enumerate(self.path)}

    @cached_property
    def edits(self) -> list[int]:
        """The positions of the edits on the path."""
        return [at for at, entry in enumerate(self.path) if entry.type == EDIT]

    @cached_property
    def notes(self) -> list[int]:
        """The positions of the notes on the path that come before edits of ours."""
        return [at for at, entry in enumerate(self.path) if entry.is_note and entry.is_compaction]

    def behind_note(self, note: int) -> int:
        """The position after the edits that follow a note at this position, including undone ones. Other entries have
        no such edits.
        """
        end = note + 1
        while end < len(self.path) and self.path[end].is_marked and self.path[end].target:
            end += 1
        return end

    def kept(self, boundary: int) -> list[TreeEntry]:
        """The entries before a boundary at this position that it keeps, in order: none where it names itself, or an
        entry that is not before it on the path.
        """
        ruling = self.path[boundary]
        first = self._places.get(self.tree.kept_from(ruling), boundary)
        entries = [entry for entry in self.path[first:boundary] if not (self.is_boundary(entry) or entry.tells)]
        return _behind_reset(entries) if ruling.type == RESET else entries

    def at(self, stop: int) -> list[TreeEntry]:
        """The entries that are in context before this position of the path, in the order in which they are sent."""
        number = bisect_left(self.boundaries, stop)
        if not number:
            return self._with_edits(self.path[:stop])
        edge = self.boundaries[number - 1]
        return self._with_edits([self.path[edge], *self.kept(edge), *self.path[edge + 1 : stop]])

    @cached_property
    def now(self) -> list[TreeEntry]:
        """The entries that are in context."""
        return self.at(len(self.path))

    def _with_edits(self, entries: Sequence[TreeEntry]) -> list[TreeEntry]:
        """The entries, each replaced by its newest edit; those whose edit leaves no words are left out."""
        edits = {entry.target: entry for entry in entries if entry.type == EDIT} if self.edits else {}
        if not edits:
            return list(entries)
        result = []
        for entry in entries:
            edit = edits.get(entry.id)
            if entry.type == EDIT or (edit is not None and not edit.has_words):
                continue
            result.append(entry if edit is None or (copy := self.tree.edited(edit)) is edit else copy)
        return result


def _behind_reset(entries: Sequence[TreeEntry]) -> list[TreeEntry]:
    """What a reset sends of the entries that it keeps: messages of a person and the model, and a result
    for each call.
    """
    waiting: Counter[str] = Counter()
    result = []
    for entry in entries:
        if entry.type != MESSAGE:
            continue
        if entry.role == "tool":
            if not waiting[entry.answers]:
                continue
            waiting[entry.answers] -= 1
        elif entry.role != "assistant" and not entry.is_user:
            continue
        waiting.update(entry.calls)
        result.append(entry)
    return result
