"""What a compaction of a session is planned on, and what a commit makes of its edits: the items of the new context."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from compaction import messages as chat
from viewer.stores.changes import ChangeMessage, Edit, InsertMessage, Json, around_handoff
from viewer.stores.errors import CompactionConflict

from . import items
from .codec import ItemReader
from .messages import RolloutMessages
from .replay import PlacedItem

CHANGED = (
    "Messages this summary was made from were changed or taken back since. Nothing was written and the summary is "
    "kept. Plan again."
)


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item as it would be sent, and the client's metadata for it, None for none."""

    item: dict[str, Any]
    metadata: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class NewContext:
    """The context that edits make: `stored` includes the handoff, at the position `handoff`."""

    stored: list[StoredItem]
    handoff: int


def token_of(messages: RolloutMessages) -> Json:
    """The token of a basis: the current file, the items in context and a digest of their content."""
    state, live = messages.lineage.current.state, messages.replay.live
    return {"file": [state.device, state.inode], "items": list(live), "digest": _digest(messages, live)}


def _digest(messages: RolloutMessages, live: Sequence[int]) -> str:
    digests = [(each, messages.replay.items[each].facts.digest) for each in live]
    return blake2b(repr(digests).encode(), digest_size=16).hexdigest()


def planned_items(messages: RolloutMessages, token: Json) -> list[int]:
    """The planned items, if the context still begins with them. Raises CompactionConflict."""
    state = messages.lineage.current.state
    if [state.device, state.inode] != token["file"]:
        raise CompactionConflict(
            "The session goes on in another file since this summary was made: it was taken back, or the file was "
            "replaced. Nothing was written and the summary is kept. Plan again."
        )
    live = messages.replay.live[: len(token["items"])]
    if live != token["items"] or _digest(messages, live) != token["digest"]:
        raise CompactionConflict(CHANGED)
    return live


def new_context(
    reader: ItemReader, messages: RolloutMessages, planned: Sequence[int], edits: Sequence[Edit]
) -> NewContext:
    """The context that the edits of a plan make of the current one: the client's own context and encrypted items stay
    where they are, and so does everything added since. A note of the client is kept or dropped with the message it
    belongs to.
    """
    before, content, after = around_handoff(edits)
    edits_by_id = {edit.id: edit for edit in (*before, *after) if not isinstance(edit, InsertMessage)}
    after_handoff = {edit.id for edit in after if not isinstance(edit, InsertMessage)}
    first, placed_items = messages.replay.first, messages.replay.items
    cut = next(
        (at for at, each in enumerate(planned) if first[each] in after_handoff and _is_of_message(placed_items[each])),
        len(planned),
    )
    notes = messages.notes_in(planned)
    head = _kept_items(reader, messages, planned[:cut], edits_by_id, notes)
    tail = _kept_items(reader, messages, planned[cut:], edits_by_id, notes)
    later = [_stored(reader, placed_items[each]) for each in messages.replay.live[len(planned) :]]
    handoff = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": content}]}
    return NewContext([*head, StoredItem(handoff, None), *tail, *later], len(head))


def _is_of_message(item: PlacedItem) -> bool:
    """Whether it belongs to a message: the client's own context and encrypted items are kept whatever was planned."""
    return item.facts.role != items.CONTEXT and item.facts.type not in items.ENCRYPTED


def _kept_items(
    reader: ItemReader,
    messages: RolloutMessages,
    planned: Sequence[int],
    edits_by_id: dict[int, Any],
    notes_by_message: Mapping[int, Sequence[int]],
) -> list[StoredItem]:
    """The items that stay: a note stays if its message does."""
    stored_items: list[StoredItem] = []
    planned_ids, done = set(planned), set[int]()
    dropped_notes = {
        note for message_id, notes in notes_by_message.items() if message_id not in edits_by_id for note in notes
    }
    for each in planned:
        item, message_id = messages.replay.items[each], messages.replay.first[each]
        edit = edits_by_id.get(message_id)
        if each in dropped_notes:
            continue
        if not _is_of_message(item):
            stored_items.append(_stored(reader, item))
        elif isinstance(edit, ChangeMessage) and message_id not in done:
            placed_items = [
                messages.replay.items[other] for other in messages.units[message_id].items if other in planned_ids
            ]
            stored_items += _changed([_stored(reader, other) for other in placed_items], edit)
            done.add(message_id)
        elif edit is not None and message_id not in done:
            stored_items.append(_stored(reader, item))
    return stored_items


def _changed(stored: Sequence[StoredItem], edit: ChangeMessage) -> list[StoredItem]:
    """The items of a message with other words, with unchanged ids."""
    changed_items = (
        StoredItem(item, each.metadata) for each in stored for item in _with_changes(each.item, edit.changes)
    )
    return list(changed_items)


def _stored(reader: ItemReader, placed: PlacedItem) -> StoredItem:
    """Raises CompactionConflict where the item has changed since the file was read."""
    item, metadata = reader.item(placed), reader.metadata(placed)
    if item is None or items.digest_of(item) != placed.facts.digest:
        raise CompactionConflict(CHANGED)
    return StoredItem(item, metadata)


# -- items with other words: the engine changes messages of a chat, the files contain items of a response --------------


def _with_changes(item: dict[str, Any], changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An item after the changes of its message: one item, or none where its call was left out."""
    kind = item.get("type")
    if kind in items.OUTPUTS:
        return [{**item, "output": _output(changes["content"])}] if "content" in changes else [item]
    if kind in items.CALLS:
        return _call(item, changes) if "tool_calls" in changes else [item]
    if kind == "message" and item.get("role") != "assistant" and "content" in changes:
        return [{**item, "content": _parts(changes["content"])}]
    return [item]


def _output(content: Any) -> Any:
    return content if isinstance(content, str) else _parts(content)


def _parts(content: Any) -> list[Any]:
    """Text parts in the client's form: it skips a whole line that has any other part."""
    if not isinstance(content, list):
        return [{"type": "input_text", "text": chat.said(content)}]
    return [_part(part) for part in content]


def _part(part: Any) -> Any:
    return (
        {"type": "input_text", "text": part["text"]} if isinstance(part, dict) and part.get("type") == "text" else part
    )


def _call(item: dict[str, Any], changes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A call with its new arguments."""
    calls = {call.get("id"): call["function"]["arguments"] for call in changes["tool_calls"] or ()}
    if item.get("call_id") not in calls:
        return []
    arguments = calls[item["call_id"]]
    if item.get("type") == "custom_tool_call":
        return [{**item, "input": arguments}]
    if isinstance(item.get("arguments"), str):
        return [{**item, "arguments": arguments}]
    return [_with_object(item, arguments)]


def _with_object(item: dict[str, Any], arguments: str) -> dict[str, Any]:
    """A call whose arguments are an object; unchanged where the new arguments are not an object."""
    name = "arguments" if "arguments" in item else "action"
    try:
        value = json.loads(arguments)
    except ValueError:
        return item
    return {**item, name: value} if isinstance(value, dict) and name in item else item
