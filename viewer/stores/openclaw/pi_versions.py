"""Older versions of pi's files, as pi itself reads them.

A file of version 1 is a list, whose entries have no ids; version 2 has another name for the messages of extensions. pi
rewrites both when it opens them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .entries import TreeEntry
from .pi_forms import HOOK, TREE, VERSION


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
