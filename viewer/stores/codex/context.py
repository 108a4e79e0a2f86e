"""What a compaction of a session is planned on, and what a commit makes of its edits: the items of the new context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from viewer.stores.changes import ChangeMessage, Edit, InsertMessage, Json, around_handoff
from viewer.stores.errors import CompactionConflict

from . import items
from .changed import with_changes
from .codec import ItemReader
from .items import CONTEXT
from .replay import PlacedItem
from .units import RolloutMessages

CHANGED = (
    "Messages this summary was made from were changed or taken back since. Nothing was written and the summary is "
    "kept. Plan again."
)


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item as it would be sent, and what the client notes beside it, None for nothing."""

    item: dict[str, Any]
    metadata: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class NewContext:
    """The context that edits make: `stored` around the handoff, which stands at the place `handoff`."""

    stored: list[StoredItem]
    handoff: int


def token_of(found: RolloutMessages) -> Json:
    """The token of a basis: the current file, the items in context and a digest of what they say."""
    state, live = found.lineage.current.state, found.replay.live
    return {"file": [state.device, state.inode], "items": list(live), "digest": _digest(found, live)}


def _digest(found: RolloutMessages, live: Sequence[int]) -> str:
    said = [(each, found.replay.items[each].facts.digest) for each in live]
    return blake2b(repr(said).encode(), digest_size=16).hexdigest()


def planned_items(found: RolloutMessages, token: Json) -> list[int]:
    """The items that were planned on, which the context still begins with. Raises CompactionConflict."""
    state = found.lineage.current.state
    if [state.device, state.inode] != token["file"]:
        raise CompactionConflict(
            "The session goes on in another file since this summary was made: it was taken back, or the file was "
            "replaced. Nothing was written and the summary is kept. Plan again."
        )
    live = found.replay.live[: len(token["items"])]
    if live != token["items"] or _digest(found, live) != token["digest"]:
        raise CompactionConflict(CHANGED)
    return live


def new_context(
    reader: ItemReader, found: RolloutMessages, planned: Sequence[int], edits: Sequence[Edit]
) -> NewContext:
    """What the edits of a plan make of the context as it is now: the client's own context and what is encrypted stay
    where they are, and so does what came since. A note of the client goes with the message that it was told beside.
    """
    before, content, after = around_handoff(edits)
    named = {edit.id: edit for edit in (*before, *after) if not isinstance(edit, InsertMessage)}
    behind = {edit.id for edit in after if not isinstance(edit, InsertMessage)}
    first, placed = found.replay.first, found.replay.items
    cut = next(
        (at for at, each in enumerate(planned) if first[each] in behind and _is_said(placed[each])), len(planned)
    )
    beside = found.notes_in(planned)
    head = _kept(reader, found, planned[:cut], named, beside)
    tail = _kept(reader, found, planned[cut:], named, beside)
    later = [_stored(reader, placed[each]) for each in found.replay.live[len(planned) :]]
    handoff = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": content}]}
    return NewContext([*head, StoredItem(handoff, None), *tail, *later], len(head))


def _is_said(item: PlacedItem) -> bool:
    """Whether it is a message's: the client's own context and what is encrypted is kept whatever was planned."""
    return item.facts.role != CONTEXT and item.facts.type not in items.ENCRYPTED


def _kept(
    reader: ItemReader,
    found: RolloutMessages,
    planned: Sequence[int],
    named: dict[int, Any],
    beside: Mapping[int, Sequence[int]],
) -> list[StoredItem]:
    """What stays of these items: notes stay with the message that they are `beside`."""
    kept: list[StoredItem] = []
    there, done = set(planned), set[int]()
    passed = {note for unit, notes in beside.items() if unit not in named for note in notes}
    for each in planned:
        item, unit = found.replay.items[each], found.replay.first[each]
        edit = named.get(unit)
        if each in passed:
            continue
        if not _is_said(item):
            kept.append(_stored(reader, item))
        elif isinstance(edit, ChangeMessage) and unit not in done:
            said = [found.replay.items[other] for other in found.units[unit].items if other in there]
            kept += _changed([_stored(reader, other) for other in said], edit)
            done.add(unit)
        elif edit is not None and unit not in done:
            kept.append(_stored(reader, item))
    return kept


def _changed(stored: Sequence[StoredItem], edit: ChangeMessage) -> list[StoredItem]:
    """The items of a message with other words, under the ids that they have."""
    made = (StoredItem(item, each.metadata) for each in stored for item in with_changes(each.item, edit.changes))
    return list(made)


def _stored(reader: ItemReader, placed: PlacedItem) -> StoredItem:
    """Raises CompactionConflict where it does not say what it said when the file was read."""
    item, metadata = reader.item(placed), reader.metadata(placed)
    if item is None or items.digest_of(item) != placed.facts.digest:
        raise CompactionConflict(CHANGED)
    return StoredItem(item, metadata)
