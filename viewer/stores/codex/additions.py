"""What the client itself adds to a request: tools, instructions, environment, rules of a project, notices."""

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


def of_context(reader: ItemReader, messages: RolloutMessages, ids: frozenset[int], *, end: bool) -> Iterator[Addition]:
    """The additions directly before these messages, with `end` also those after the last message, in order."""
    waiting: list[int] = []
    first, items = messages.replay.first, messages.replay.items
    done: set[int] = set()
    if messages.lineage.missing:
        before = next(iter(messages.live), None)
        if before in ids or (before is None and end):
            yield Addition(before, "missing history", MISSING.format(file=messages.lineage.missing), is_sent=False)
    for each in messages.replay.live:
        if items[each].facts.role == CONTEXT:
            waiting.append(each)
            continue
        if first[each] in ids and first[each] not in done:
            yield from (_addition(reader, messages, item, first[each]) for item in waiting)
        done.add(first[each])
        waiting = []
    if end:
        yield from (_addition(reader, messages, item, None) for item in waiting)
        if messages.open_calls:
            yield Addition(None, "results of calls that were not finished", ABORTED, is_sent=False)


def _addition(reader: ItemReader, messages: RolloutMessages, item_id: int, before: int | None) -> Addition:
    item = reader.item(messages.replay.items[item_id]) or {}
    return Addition(before, name_of(item), _text(item), is_sent=True)


def name_of(item: dict[str, Any]) -> str:
    """A short name of an item's content."""
    kinds = kinds_of(item) or (str(item.get("type")),)
    names = [NAMES.get(kind, kind.replace("_", " ").replace(".", ": ")) for kind in kinds if kind != "message"]
    return ", ".join(dict.fromkeys(names)) or "instructions"


def _text(item: dict[str, Any]) -> str:
    return as_json(item.get("tools")) if item.get("type") == "additional_tools" else chat.said(item.get("content"))
