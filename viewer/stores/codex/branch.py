"""A new session with the context of a moment: a copy of its lines, in a new file.

The client's own forks point into the file that they come from. An undo changes bytes of that file, and it may be
deleted: a branch made here must not change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viewer.stores.base import Store
from viewer.stores.errors import NotBranchable, StoreUnavailable
from viewer.stores.jsonl.append import create
from viewer.stores.jsonl.files import line_at

from . import encode, items, paths
from .codec import ItemReader
from .messages import RolloutMessages, messages_now
from .records import TURN_STARTS, RolloutRecord
from .replay import PlacedItem, ReplayedCompaction, RolloutPart

NO_MESSAGES = "There are no messages to branch from."
NO_MOMENT = "These messages are not the context of any moment of this session. Look at it, then branch again."
NOT_AS_MEANT = "The branch did not read back as it was meant, and was removed again. Please report this session."
INHERITED = (
    "forked_from_ordinal_exclusive",
    "history_base",
    "parent_thread_id",
)  # fields of a file that its copy must not have


@dataclass(frozen=True, slots=True)
class BranchCut:
    """The end of a copy: before the line at the position `position` in the session's part number `part`. From the
    context in the line of the newest compaction before that, the items at the positions `left_out` are not copied.
    """

    part: int
    position: int
    compaction: ReplayedCompaction | None
    left_out: frozenset[int]


def branch(store: Store, session_id: str, ids: Sequence[int], *, now: float) -> str:
    """Write the branch; returns the id of the new session. Raises NotBranchable, StoreReadOnly, StoreUnavailable."""
    messages, new_id = messages_now(store, session_id), encode.new_id(now)
    if not ids:
        raise NotBranchable(NO_MESSAGES)
    kept_items, cut = _moment(messages, ids)
    path = _path(store, new_id, now)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreUnavailable(f"{path.parent} cannot be written to: {problem.strerror or problem}.") from problem
    with ItemReader() as reader:
        create(path, _copied(reader, messages, cut, meta=(session_id, new_id, now)))
    if not _is_as_meant(store, new_id, [messages.replay.items[each].facts.digest for each in kept_items]):
        path.unlink()
        raise NotBranchable(NOT_AS_MEANT)
    return new_id


def _path(store: Store, session_id: str, now: float) -> Path:
    """The path of a new file, named by the local time like the client's files."""
    here = time.localtime(now)
    name = time.strftime(f"%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S-{session_id}.jsonl", here)
    return store.path / paths.DIRECTORIES[0] / name


def _is_as_meant(store: Store, session_id: str, digests: Sequence[int]) -> bool:
    branch_messages = messages_now(store, session_id)
    return [branch_messages.replay.items[each].facts.digest for each in branch_messages.replay.live] == list(digests)


# -- which moment ------------------------------------------------------------------------------------------------------


def _moment(messages: RolloutMessages, ids: Sequence[int]) -> tuple[list[int], BranchCut]:
    """The items in context at the moment that has these messages as its context, without some at its end; and the end
    of their lines. Raises NotBranchable.
    """
    compactions, wanted_ids = messages.replay.compactions, frozenset(ids)
    for number in range(len(compactions), -1, -1):
        until = compactions[number] if number < len(compactions) else None
        context = messages.replay.live if until is None else until.before
        sent_ids = [
            each for each in messages.ids_of(context) if each in wanted_ids or not _is_lone_result(messages, each)
        ]
        if sent_ids[: len(ids)] == list(ids):
            return _cut(messages, until, context, compactions[number - 1] if number else None, wanted_ids)
    raise NotBranchable(NO_MOMENT)


def _is_lone_result(messages: RolloutMessages, message_id: int) -> bool:
    """Whether the client leaves it out of every request, so that no context contains it."""
    return messages.replay.items[message_id].facts.answers in messages.lone_results


def _cut(
    messages: RolloutMessages,
    until: ReplayedCompaction | None,
    context: Sequence[int],
    newest: ReplayedCompaction | None,
    ids: frozenset[int],
) -> tuple[list[int], BranchCut]:
    """The items of a context up to the last one of these messages, with the client's own context after it; and the end
    of their lines. The context begins with what the compaction `newest` left.
    """
    first, placed_items = messages.replay.first, messages.replay.items
    count = 1 + max(at for at, each in enumerate(context) if first[each] in ids)
    while count < len(context) and placed_items[context[count]].facts.role == items.CONTEXT:
        count += 1
    left_out = frozenset(range(count, len(newest.after) if newest is not None else 0))
    part, position = _end(messages, until)
    behind = context[count + len(left_out) :]
    if behind:
        part, position = min((part, position), _line_of(placed_items[behind[0]]))
    return list(context[:count]), BranchCut(part, position, newest, left_out)


def _line_of(item: PlacedItem) -> tuple[int, int]:
    return item.part.number, item.record.position


def _end(messages: RolloutMessages, until: ReplayedCompaction | None) -> tuple[int, int]:
    """The part and the position before which the lines of a moment end: before the turn of a compaction, if that had
    its own turn, or before the request for its summary.
    """
    if until is None:
        return len(messages.lineage.parts), 0
    records, position = until.part.records, until.record.position
    for at in range(position - 1, 0, -1):
        record = records[at]
        if record.item is not None and not record.is_summarizing:
            break
        if record.is_summarizing or (until.is_own_turn and record.subtype in TURN_STARTS):
            position = at
        if record.subtype in TURN_STARTS:
            break
    return until.part.number, position


# -- lines -------------------------------------------------------------------------------------------------------------


def _copied(
    reader: ItemReader, messages: RolloutMessages, cut: BranchCut, *, meta: tuple[str, str, float]
) -> Iterator[bytes]:
    """The lines of the new file: a new first line, then those of the session's files byte for byte."""
    sent, current = [each for each in messages.lineage.parts if each.is_sent], messages.lineage.current
    meta_payload = items.payload_of(reader.value(current, current.records[0]))[1]
    yield _first_line(meta_payload, sent[0].records[0].ordinal, *meta)
    for part in sent:
        for record in part.sent():
            if (part.number, record.position) >= (cut.part, cut.position):
                return
            if _is_copied(record):
                yield _line(reader, part, record, cut)


def _is_copied(record: RolloutRecord) -> bool:
    """Not the first lines of files, and no lines that the client skips."""
    return record.type not in ("session_meta", "")


def _line(reader: ItemReader, part: RolloutPart, record: RolloutRecord, cut: BranchCut) -> bytes:
    newest = cut.compaction
    if newest is not None and cut.left_out and newest.id == part.start + record.offset:
        return _without(reader.value(part, record), cut.left_out)
    return line_at(reader.file(part), record.offset, record.length).rstrip(b"\r\n") + b"\n"


def _without(value: dict[str, Any] | None, left_out: frozenset[int]) -> bytes:
    """The line of a compaction without the items at these positions."""
    if value is None:
        raise NotBranchable(NO_MOMENT)
    payload = dict(value["payload"])
    for name in ("replacement_history", "replacement_history_metadata"):
        if isinstance(payload.get(name), list):
            payload[name] = [each for at, each in enumerate(payload[name]) if at not in left_out]
    return encode.encoded([{**value, "payload": payload}])


def _first_line(payload: dict[str, Any], ordinal: int | None, source: str, new_id: str, now: float) -> bytes:
    """The line that the client writes first into a fork of the session that contains its whole history."""
    own = {name: each for name, each in payload.items() if name not in INHERITED}
    if "session_id" in own:
        own["session_id"] = new_id
    if "context_window" in own:
        own["context_window"] = {"window_id": encode.new_id(now)}
    number = {} if ordinal is None else {"ordinal": ordinal}
    own |= {"id": new_id, "forked_from_id": source, "timestamp": encode.stamp(now)}
    return encode.encoded([{"timestamp": encode.stamp(now), **number, "type": "session_meta", "payload": own}])
