"""Branches of a session's tree that nothing goes on from any more: what a rewind left behind."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.stores.message import AbandonedBranch

from .transcript import SessionMessages


def branches(found: SessionMessages) -> list[AbandonedBranch]:
    """The branches, oldest first: each with the messages that are in no context and hang on one another."""
    left = {uuid for uuid in found.tree.order if _is_left(found, found.of_record(uuid))}
    tops: dict[str, str] = {}
    members: dict[str, dict[int, None]] = {}
    for uuid in found.tree.order:  # a parent stands before its children, but for records that were written again
        if uuid in left:
            tops[uuid] = top = _top(found, uuid, left, tops)
            members.setdefault(top, {}).update(dict.fromkeys(found.of_record(uuid)))
    return [
        AbandonedBranch(_before(found, top), tuple(sorted(ids)), found.units[max(ids)].time)
        for top, ids in members.items()
    ]


def _is_left(found: SessionMessages, ids: Sequence[int]) -> bool:
    units = [found.units[each] for each in ids if found.states[each] == "out"]
    return 0 < len(units) == len(ids) and not any(unit.is_summary or unit.copy_of is not None for unit in units)


def _top(found: SessionMessages, uuid: str, left: set[str], tops: dict[str, str]) -> str:
    """The first record of the branch that a record is on; records without a message are passed."""
    top, passed = uuid, {uuid}
    parent = found.tree.nodes[uuid].parent
    while parent in found.tree.nodes and parent not in passed:
        if parent in tops:
            return tops[parent]
        if parent in left:
            top = parent
        elif found.of_record(parent):
            break
        passed.add(parent)
        parent = found.tree.nodes[parent].parent
    return top


def _before(found: SessionMessages, top: str) -> int | None:
    """The message that a branch hangs on, None where it begins the session."""
    passed = {top}
    parent = found.tree.nodes[top].parent
    while parent in found.tree.nodes and parent not in passed:
        if ids := found.of_record(parent):
            return ids[-1]
        passed.add(parent)
        parent = found.tree.nodes[parent].parent
    return None
