"""A new session with the context of a moment: the entries on the path to it as one chain, with their ids.

Both clients fork a session like this. Where entries are left out, the next entry becomes a child of the one before the
gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewer.stores.changes import Json
from viewer.stores.errors import NotBranchable

from .codec import EntrySource
from .messages import EntryMessages
from .records import EDIT, TreeEntry

NO_MOMENT = "These messages are not the context of any moment of this session. Look at it, then branch again."
NOT_AS_MEANT = "The branch did not read back as it was meant, and was removed again. Please report this session."
TOO_LONG = "An entry of this session is too long to be copied into a branch."


@dataclass(frozen=True, slots=True)
class CopiedEntry:
    """An entry of a branch with its new links: the id of its parent there, "" for none, and, for a compaction, the id
    of the first entry that it keeps.
    """

    entry: TreeEntry
    parent: str
    first_kept: str

    @property
    def is_same(self) -> bool:
        """Whether it is identical to the entry in the session."""
        says = self.entry.parent, self.entry.first_kept, self.entry.is_side
        return says == (self.parent, self.first_kept, False)

    def value(self, source: EntrySource) -> Json:
        """Its JSON object in the branch. Raises NotBranchable."""
        value = source.value(self.entry)
        if value is None or self.entry.is_cut:
            raise NotBranchable(TOO_LONG)
        first_kept = {"firstKeptEntryId": self.first_kept} if self.first_kept else {}
        own = {name: each for name, each in value.items() if name != "appendMode"}  # it is on the path here
        return {**own, "parentId": self.parent or None, **first_kept}


@dataclass(frozen=True, slots=True)
class Branch:
    """The entries of a branch, in order, and the ids of those that are messages in context there."""

    copied: list[CopiedEntry]
    live: list[str]

    def is_read_as_meant(self, messages: EntryMessages) -> bool:
        """Whether a session has the context of this branch."""
        return [messages.units[each].id for each in messages.live] == self.live


def branch_of(messages: EntryMessages, ids: Sequence[int]) -> Branch:
    """The branch whose context is these messages. Raises NotBranchable where no moment had this context."""
    context, wanted_ids = messages.context, frozenset(ids)
    for stop in sorted([*context.boundaries, *context.notes, len(context.path)], reverse=True):
        entries = context.at(stop)
        sent_ids = [each for each in messages.ids_of(entries) if each in wanted_ids or messages.is_sent(each)]
        if ids and sent_ids[: len(ids)] == list(ids):
            count = 1 + max(at for at, entry in enumerate(entries) if entry.offset in wanted_ids)
            live = [messages.units[each].id for each in messages.ids_of(entries[:count])]
            return Branch(_in_a_row(messages, _chosen_entries(messages, stop, entries[count - 1])), live)
    raise NotBranchable(NO_MOMENT)


def _chosen_entries(messages: EntryMessages, stop: int, last: TreeEntry) -> list[TreeEntry]:
    """The entries on the path before the position `stop`, without the messages after the last one in context there."""
    context = messages.context
    path, edge = context.path, max((at for at in context.boundaries if at < stop), default=None)
    position = {entry.id: at for at, entry in enumerate(path[:stop])}
    end, limit = position[last.target if last.type == EDIT else last.id], stop
    kept_entries = context.kept(edge) if edge is not None else []
    if edge == end and kept_entries:
        end = position[kept_entries[0].id] - 1
    if edge is not None and end < edge:  # what a compaction keeps is before it
        limit = edge
    while end + 1 < limit and not path[end + 1].role and not context.is_boundary(path[end + 1]):
        end += 1  # records of the client itself
    chosen = list(path[: end + 1])
    names = {entry.id for entry in chosen}
    chosen += [path[edge]] if edge is not None and edge > end else []
    return chosen + [entry for entry in path[end + 1 : stop] if entry.type == EDIT and entry.target in names]


def _in_a_row(messages: EntryMessages, entries: Sequence[TreeEntry]) -> list[CopiedEntry]:
    copied, parent = [], ""
    for entry in entries:
        first = messages.tree.kept_from(entry) if entry.is_boundary and entry.first_kept else entry.first_kept
        copied.append(CopiedEntry(entry, parent, first))
        parent = entry.id
    return copied
