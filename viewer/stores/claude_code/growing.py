"""A conversation after lines were appended, made from the one before: for a long session little is made anew.

Only where the parent of each new record is the one before it. Everything else (a compaction, a rewind, results of
parallel calls, a record written again) is left to `transcript.conversation_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .records import OWN_RECORD, QUEUED, Record
from .thread import Tree
from .transcript import SessionMessages, Unit, unit_of


def grown(conversation: SessionMessages, records: Sequence[Record], *, sidechain: bool) -> SessionMessages | None:
    """The conversation with these records appended; None where it has to be made anew."""
    new = _copied(conversation)
    end = conversation.end
    thread, live, states = list(conversation.thread), list(conversation.live), dict(conversation.states)
    for record in records:
        if record.unknown or record.type == QUEUED or (record.is_sidechain and not sidechain):
            return None
        if conversation.sidechains and (record.group or record.calls or record.answers):
            return None  # lines of a sub-agent may belong to it
        if record.typed and any(each.type == QUEUED for each in conversation.tree.beside.values()):
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
        live += [unit.id for unit in units if unit.role != OWN_RECORD]
        states.update((unit.id, "live") for unit in units)
        thread.append(record)
        end = record.uuid
    vars(new).update(thread=thread, live=live, states=states, end=end, compactions=conversation.compactions)
    return new


def _copied(conversation: SessionMessages) -> SessionMessages:
    tree = _copy(conversation.tree)
    read = tree if conversation.read is conversation.tree else _copy(conversation.read)
    return SessionMessages(
        tree, read, dict(conversation.units), conversation.is_sub_agent, conversation.beside, conversation.sidechains
    )


def _copy(tree: Tree) -> Tree:
    return Tree(
        dict(tree.nodes), dict(tree.rewritten), list(tree.order), dict(tree.beside), dict(tree.groups),
        dict(tree.responses), dict(tree.first_lines), tree.open, dict(tree.results), list(tree.leaves),
        tree.gone_on_aside,
    )  # fmt: skip


def _append(conversation: SessionMessages, record: Record) -> list[Unit]:
    """Put a record into the conversation; returns the messages that are new with it."""
    for tree in _trees(conversation):
        tree.append(record)
    lines = conversation.tree.lines(record.uuid)
    if len(lines) > 1:
        first = conversation.units[conversation.tree.offset(lines[0])]
        size = first.size + sum(piece.size for piece in record.pieces)
        conversation.units[first.id] = replace(first, uuids=tuple(lines), size=size)
        return []
    units = [unit_of(conversation.tree, lines, piece) for piece in record.pieces]
    conversation.units.update((unit.id, unit) for unit in units)
    return units


def _trees(conversation: SessionMessages) -> list[Tree]:
    return [conversation.tree] if conversation.read is conversation.tree else [conversation.tree, conversation.read]
