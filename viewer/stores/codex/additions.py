"""What the client adds to a request by itself: tools, instructions, surroundings, rules of a project, notices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compaction import messages as chat
from viewer.stores.message import Addition

from .codec import ItemReader
from .items import CONTEXT, as_json, kinds_of
from .units import RolloutMessages

NAMES = {
    "additional_tools": "tools",
    "model.base_instructions": "instructions of the model",
    "environments.environment_context": "environment",
    "permissions.instructions": "permissions",
    "host_skills.instructions": "skills",
    "agents_md.instructions": "AGENTS.md",
    "tools.deferred_namespaces": "tools on demand",
    "collaboration_mode.instructions": "collaboration mode",
    "multi_agent.role_instructions": "role among agents",
    "multi_agent.mode_instructions": "work with other agents",
    "generic.turn_aborted": "note that a turn was interrupted",
}
ABORTED = "When the session is resumed, the client answers them by itself: “aborted”."
MISSING = "This session goes on from another file, {file}, that is not here: what was said before is not shown."


def of_context(reader: ItemReader, found: RolloutMessages, ids: frozenset[int], *, end: bool) -> Iterator[Addition]:
    """The additions directly before these messages, with `end` also those behind the last message, in order."""
    waiting: list[int] = []
    first, items = found.replay.first, found.replay.items
    told: set[int] = set()
    if found.lineage.missing:
        before = next(iter(found.live), None)
        if before in ids or (before is None and end):
            yield Addition(before, "missing history", MISSING.format(file=found.lineage.missing), is_sent=False)
    for each in found.replay.live:
        if items[each].facts.role == CONTEXT:
            waiting.append(each)
            continue
        if first[each] in ids and first[each] not in told:
            yield from (_addition(reader, found, item, first[each]) for item in waiting)
        told.add(first[each])
        waiting = []
    if end:
        yield from (_addition(reader, found, item, None) for item in waiting)
        if found.open_calls:
            yield Addition(None, "results of calls that were not finished", ABORTED, is_sent=False)


def _addition(reader: ItemReader, found: RolloutMessages, item_id: int, before: int | None) -> Addition:
    item = reader.item(found.replay.items[item_id]) or {}
    return Addition(before, name_of(item), _text(item), is_sent=True)


def name_of(item: dict[str, Any]) -> str:
    """What an item tells, in few words."""
    kinds = kinds_of(item) or (str(item.get("type")),)
    said = [NAMES.get(kind, kind.replace("_", " ").replace(".", ": ")) for kind in kinds if kind != "message"]
    return ", ".join(dict.fromkeys(said)) or "instructions"


def _text(item: dict[str, Any]) -> str:
    return as_json(item.get("tools")) if item.get("type") == "additional_tools" else chat.said(item.get("content"))
