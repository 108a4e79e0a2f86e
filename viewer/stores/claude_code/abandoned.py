"""Branches of a session's tree that nothing continues any more: what a rewind left."""

from __future__ import annotations

from collections.abc import Sequence

from viewer.stores.message import AbandonedBranch

from .transcript import SessionMessages


def branches(conversation: SessionMessages) -> list[AbandonedBranch]:
    """The branches, oldest first: each with its messages, which are in no context and follow one another."""
    abandoned = {uuid for uuid in conversation.tree.order if _is_left(conversation, conversation.of_record(uuid))}
    tops: dict[str, str] = {}
    members: dict[str, dict[int, None]] = {}
    for (
        uuid
    ) in conversation.tree.order:  # a parent comes before its children, except for records that were written again
        if uuid in abandoned:
            tops[uuid] = top = _top(conversation, uuid, abandoned, tops)
            members.setdefault(top, {}).update(dict.fromkeys(conversation.of_record(uuid)))
    return [
        AbandonedBranch(_before(conversation, top), tuple(sorted(ids)), conversation.units[max(ids)].time)
        for top, ids in members.items()
    ]


def _is_left(conversation: SessionMessages, ids: Sequence[int]) -> bool:
    units = [conversation.units[each] for each in ids if conversation.states[each] == "out"]
    return 0 < len(units) == len(ids) and not any(unit.is_summary or unit.copy_of is not None for unit in units)


def _top(conversation: SessionMessages, uuid: str, abandoned: set[str], tops: dict[str, str]) -> str:
    """The first record of the branch that a record is on; records without a message are skipped."""
    top, passed = uuid, {uuid}
    parent = conversation.tree.nodes[uuid].parent
    while parent in conversation.tree.nodes and parent not in passed:
        if parent in tops:
            return tops[parent]
        if parent in abandoned:
            top = parent
        elif conversation.of_record(parent):
            break
        passed.add(parent)
        parent = conversation.tree.nodes[parent].parent
    return top


def _before(conversation: SessionMessages, top: str) -> int | None:
    """The message that a branch follows, None where it begins the session."""
    passed = {top}
    parent = conversation.tree.nodes[top].parent
    while parent in conversation.tree.nodes and parent not in passed:
        if ids := conversation.of_record(parent):
            return ids[-1]
        passed.add(parent)
        parent = conversation.tree.nodes[parent].parent
    return None
