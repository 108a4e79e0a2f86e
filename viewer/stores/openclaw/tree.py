"""The tree of a session's entries, by the rules of its client."""

from __future__ import annotations

from collections.abc import Iterable

from .entries import TreeEntry
from .plain_tree import EntryTree
from .strict_tree import StrictTree

__all__ = ["EntryTree", "tree_of"]


def tree_of(entries: Iterable[TreeEntry], *, is_strict: bool) -> EntryTree:
    """The tree of a session's entries, in order: by OpenClaw's rules where `is_strict`, else by pi's."""
    tree = StrictTree() if is_strict else EntryTree()
    tree.read(entries)
    return tree
