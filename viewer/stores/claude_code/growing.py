"""A conversation to which lines were appended, made of the one before: of a long session little has to be made anew.

Only where each new record hangs on the one before it. Everything else (a compaction, a rewind, results of parallel
calls, a record written again) is left to `transcript.conversation_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .records import Record
from .thread import Tree
from .transcript import SessionMessages, Unit, unit_of


def grown(found: SessionMessages, records: Sequence[Record], *, sidechain: bool) -> SessionMessages | None:
    """The conversation with these records behind its own; None where it has to be made anew."""
    made = _copied(found)
    end = found.end
    thread, live, states = list(found.thread), list(found.live), dict(found.states)
    for record in records:
        if record.leaf:
            if record.leaf != end:
                return None
            made.tree.leaves.append(record)
        if not record.is_in_tree or (record.is_sidechain and not sidechain):
            continue
        is_of_compaction = record.is_boundary or record.is_summary or record.copy_of
        if record.uuid in made.tree.nodes or record.parent != end or is_of_compaction:
            return None
        for unit in _noted(made, record):
            live.append(unit.id)
            states[unit.id] = "live"
        thread.append(record)
        end = record.uuid
    vars(made).update(thread=thread, live=live, states=states, end=end, boundaries=found.boundaries)
    return made


def _copied(found: SessionMessages) -> SessionMessages:
    tree = found.tree
    copied = Tree(
        dict(tree.nodes), dict(tree.rewritten), list(tree.order),
        {group: list(lines) for group, lines in tree.groups.items()}, dict(tree.results), list(tree.leaves),
    )  # fmt: skip
    return SessionMessages(copied, dict(found.units), found.is_sub_agent)


def _noted(made: SessionMessages, record: Record) -> list[Unit]:
    """Put a record into the conversation; the messages that are new with it."""
    tree, uuid = made.tree, record.uuid
    tree.nodes[uuid] = record
    tree.order.append(uuid)
    for call in record.answers:
        tree.results[call] = [*tree.results.get(call, ()), uuid]
    if record.group:
        lines = tree.groups.setdefault(record.group, [])
        lines.append(uuid)
        if len(lines) > 1:
            first = made.units[tree.offset(lines[0])]
            size = first.size + sum(piece.size for piece in record.pieces)
            made.units[first.id] = replace(first, uuids=tuple(lines), size=size)
            return []
    units = [unit_of(tree, [uuid], piece) for piece in record.pieces]
    for unit in units:
        made.units[unit.id] = unit
    return units
