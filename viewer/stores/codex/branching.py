"""A new session with the context of a moment: a copy of the lines that say it, in a file of its own.

The client's own forks point into the file that they come from. An undo changes bytes of that file, and it may be
deleted: a branch made here is to stay as it was made.
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

from . import commits, items, lines, places
from .codec import ItemReader
from .lineage import RolloutPart
from .records import TURN_STARTS, RolloutRecord
from .replay import PlacedItem, ReplayedCompaction
from .units import RolloutMessages

NO_MESSAGES = "There are no messages to branch from."
NO_MOMENT = "These messages are not the context of any moment of this session. Look at it, then branch again."
NOT_AS_MEANT = "The branch did not read back as it was meant, and was removed again. Please report this session."
INHERITED = ("forked_from_ordinal_exclusive", "history_base", "parent_thread_id")  # of a file, not of its copy


@dataclass(frozen=True, slots=True)
class BranchCut:
    """Where a copy ends: before the line at this place of the session's part of this number. Of the context in the
    line of the newest compaction before that, the items at the places `left_out` are not copied.
    """

    part: int
    place: int
    compaction: ReplayedCompaction | None
    left_out: frozenset[int]


def branch(store: Store, session_id: str, ids: Sequence[int], *, now: float) -> str:
    """Write it; the id of the new session. Raises NotBranchable, StoreReadOnly, StoreUnavailable."""
    found, made = commits.messages_now(store, session_id), lines.new_id(now)
    if not ids:
        raise NotBranchable(NO_MESSAGES)
    kept, cut = _moment(found, ids)
    path = _path(store, made, now)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreUnavailable(f"{path.parent} cannot be written to: {problem.strerror or problem}.") from problem
    with ItemReader() as reader:
        create(path, _copied(reader, found, cut, meta=(session_id, made, now)))
    if not _is_as_meant(store, made, [found.replay.items[each].facts.digest for each in kept]):
        path.unlink()
        raise NotBranchable(NOT_AS_MEANT)
    return made


def _path(store: Store, session_id: str, now: float) -> Path:
    """Named by the local time, as the client's files."""
    here = time.localtime(now)
    return store.path / places.ROOMS[0] / time.strftime(f"%Y/%m/%d/rollout-%Y-%m-%dT%H-%M-%S-{session_id}.jsonl", here)


def _is_as_meant(store: Store, session_id: str, meant: Sequence[int]) -> bool:
    made = commits.messages_now(store, session_id)
    return [made.replay.items[each].facts.digest for each in made.replay.live] == list(meant)


# -- which moment ------------------------------------------------------------------------------------------------------


def _moment(found: RolloutMessages, ids: Sequence[int]) -> tuple[list[int], BranchCut]:
    """The items in context at the moment that these messages are the context of, but for some at its end; and where
    the lines that say it end. Raises NotBranchable.
    """
    compactions, wanted = found.replay.compactions, frozenset(ids)
    for number in range(len(compactions), -1, -1):
        until = compactions[number] if number < len(compactions) else None
        context = found.replay.live if until is None else until.before
        said = [each for each in found.ids_of(context) if each in wanted or not _is_lone_result(found, each)]
        if said[: len(ids)] == list(ids):
            return _cut(found, until, context, compactions[number - 1] if number else None, wanted)
    raise NotBranchable(NO_MOMENT)


def _is_lone_result(found: RolloutMessages, message_id: int) -> bool:
    """Whether the client leaves it out of every request, so that no message of a context is it."""
    return found.replay.items[message_id].facts.answers in found.lone_results


def _cut(
    found: RolloutMessages,
    until: ReplayedCompaction | None,
    context: Sequence[int],
    newest: ReplayedCompaction | None,
    ids: frozenset[int],
) -> tuple[list[int], BranchCut]:
    """The items of a context up to the last one of these messages, with what the client tells behind it; and where
    their lines end. The context begins with what the compaction `newest` left.
    """
    first, placed = found.replay.first, found.replay.items
    count = 1 + max(at for at, each in enumerate(context) if first[each] in ids)
    while count < len(context) and placed[context[count]].facts.role == items.CONTEXT:
        count += 1
    left_out = frozenset(range(count, len(newest.after) if newest is not None else 0))
    part, place = _end(found, until)
    behind = context[count + len(left_out) :]
    if behind:
        part, place = min((part, place), _line_of(placed[behind[0]]))
    return list(context[:count]), BranchCut(part, place, newest, left_out)


def _line_of(item: PlacedItem) -> tuple[int, int]:
    return item.part.number, item.record.place


def _end(found: RolloutMessages, until: ReplayedCompaction | None) -> tuple[int, int]:
    """The part and the place before which the lines of a moment end: before the turn of a compaction, where that had a
    turn of its own, or before what a model was asked for it.
    """
    if until is None:
        return len(found.lineage.parts), 0
    records, place = until.part.records, until.record.place
    for at in range(place - 1, 0, -1):
        record = records[at]
        if record.item is not None and not record.is_summarizing:
            break
        if record.is_summarizing or (until.is_own_turn and record.subtype in TURN_STARTS):
            place = at
        if record.subtype in TURN_STARTS:
            break
    return until.part.number, place


# -- lines -------------------------------------------------------------------------------------------------------------


def _copied(
    reader: ItemReader, found: RolloutMessages, cut: BranchCut, *, meta: tuple[str, str, float]
) -> Iterator[bytes]:
    """The lines of the new file: a first line of its own, then those of the session's files byte for byte."""
    sent, current = [each for each in found.lineage.parts if each.is_sent], found.lineage.current
    told = items.payload_of(reader.value(current, current.records[0]))[1]
    yield _first_line(told, sent[0].records[0].ordinal, *meta)
    for part in sent:
        for record in part.sent():
            if (part.number, record.place) >= (cut.part, cut.place):
                return
            if _is_copied(record):
                yield _line(reader, part, record, cut)


def _is_copied(record: RolloutRecord) -> bool:
    """Not the first lines of files, and none that the client leaves out."""
    return record.type not in ("session_meta", "")


def _line(reader: ItemReader, part: RolloutPart, record: RolloutRecord, cut: BranchCut) -> bytes:
    newest = cut.compaction
    if newest is not None and cut.left_out and newest.id == part.start + record.offset:
        return _without(reader.value(part, record), cut.left_out)
    return line_at(reader.file(part), record.offset, record.length).rstrip(b"\r\n") + b"\n"


def _without(value: dict[str, Any] | None, left_out: frozenset[int]) -> bytes:
    """The line of a compaction without the items at these places."""
    if value is None:
        raise NotBranchable(NO_MOMENT)
    payload = dict(value["payload"])
    for name in ("replacement_history", "replacement_history_metadata"):
        if isinstance(payload.get(name), list):
            payload[name] = [each for at, each in enumerate(payload[name]) if at not in left_out]
    return lines.encoded([{**value, "payload": payload}])


def _first_line(payload: dict[str, Any], ordinal: int | None, source: str, made: str, now: float) -> bytes:
    """What the client writes first into a fork of the session, which holds all of its history."""
    own = {name: each for name, each in payload.items() if name not in INHERITED}
    if "session_id" in own:
        own["session_id"] = made
    if "context_window" in own:
        own["context_window"] = {"window_id": lines.new_id(now)}
    number = {} if ordinal is None else {"ordinal": ordinal}
    own |= {"id": made, "forked_from_id": source, "timestamp": lines.stamp(now)}
    return lines.encoded([{"timestamp": lines.stamp(now), **number, "type": "session_meta", "payload": own}])
