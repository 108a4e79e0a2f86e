"""A conversation to which lines were appended, made of the one before: of a long session little has to be made anew.

Only where each new record hangs on the one before it. Everything else (a compaction, a rewind, results of parallel
calls, a record written again) is left to `transcript.conversation_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .records import OWN_RECORD, QUEUED, Record
from .thread import Tree
from .transcript import SessionMessages, Unit, unit_of


def grown(found: SessionMessages, records: Sequence[Record], *, sidechain: bool) -> SessionMessages | None:
    """The conversation with these records behind its own; None where it has to be made anew."""
    made = _copied(found)
    end = found.end
    thread, live, states = list(found.thread), list(found.live), dict(found.states)
    for record in records:
        if record.unknown or record.type == QUEUED or (record.is_sidechain and not sidechain):
            return None
        if found.sidechains and (record.group or record.calls or record.answers):
            return None  # lines of a sub-agent's may belong to it
        if record.typed and any(each.type == QUEUED for each in found.tree.beside.values()):
            return None
        if record.leaf:
            if record.leaf != end:
                return None
            for tree in _trees(made):
                tree.leaves.append(record)
        if not record.is_in_tree:
            if record.pieces:
                return None
            continue
        is_of_compaction = record.is_boundary or record.is_summary or record.copy_of
        if record.uuid in made.tree.nodes or record.parent != end or is_of_compaction:
            return None
        units = _noted(made, record)
        live += [unit.id for unit in units if unit.role != OWN_RECORD]
        states.update((unit.id, "live") for unit in units)
        thread.append(record)
        end = record.uuid
    vars(made).update(thread=thread, live=live, states=states, end=end, boundaries=found.boundaries)
    return made


def _copied(found: SessionMessages) -> SessionMessages:
    tree = _copy(found.tree)
    read = tree if found.read is found.tree else _copy(found.read)
    return SessionMessages(tree, read, dict(found.units), found.is_sub_agent, found.beside, found.sidechains)


def _copy(tree: Tree) -> Tree:
    return Tree(
        dict(tree.nodes), dict(tree.rewritten), list(tree.order), dict(tree.beside), dict(tree.groups),
        dict(tree.responses), dict(tree.first_lines), tree.open, dict(tree.results), list(tree.leaves),
        tree.gone_on_aside,
    )  # fmt: skip


def _noted(made: SessionMessages, record: Record) -> list[Unit]:
    """Put a record into the conversation; the messages that are new with it."""
    for tree in _trees(made):
        tree.append(record)
    lines = made.tree.lines(record.uuid)
    if len(lines) > 1:
        first = made.units[made.tree.offset(lines[0])]
        size = first.size + sum(piece.size for piece in record.pieces)
        made.units[first.id] = replace(first, uuids=tuple(lines), size=size)
        return []
    units = [unit_of(made.tree, lines, piece) for piece in record.pieces]
    made.units.update((unit.id, unit) for unit in units)
    return units


def _trees(made: SessionMessages) -> list[Tree]:
    return [made.tree] if made.read is made.tree else [made.tree, made.read]
