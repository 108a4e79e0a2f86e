"""What the lines of a session say last that the lines of a compaction go on from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import items
from .codec import ItemReader
from .lineage import Lineage, RolloutPart
from .records import COMPACTED, TURN_STARTS, RolloutRecord

Payload = dict[str, Any]


@dataclass
class LastTold:
    """Payloads of the newest lines of each sort, None for none; `meta` is the current file's first. `worlds` are the
    last full state of the world and the changes behind it, in order. `window` and `first_window` are the ids of the
    client's context windows, `number` that of the newest one; `resume` is what the newest compaction has a resume know.
    """

    meta: Payload
    turn: Payload | None = None
    started: Payload | None = None
    counted: Payload | None = None
    resume: Payload | None = None
    worlds: list[Payload] = field(default_factory=list)
    window: str | None = None
    first_window: str | None = None
    number: int = 0


def last_told(reader: ItemReader, lineage: Lineage) -> LastTold:
    """Read from the end; of the lines with whole contexts no more than have to be."""
    current = lineage.current
    meta = _payload(reader, current, current.records[0]) if current.records else {}
    told, has_full_world = LastTold(meta), False
    for part, record in _newest_first(lineage):
        if record.type == "turn_context" and told.turn is None:
            told.turn = _payload(reader, part, record)
        elif record.subtype in TURN_STARTS and told.started is None:
            told.started = _payload(reader, part, record)
        elif record.subtype == "token_count" and told.counted is None:
            info = _payload(reader, part, record).get("info")
            told.counted = info if isinstance(info, dict) else None
        elif record.type == "world_state" and not has_full_world:
            told.worlds.insert(0, _payload(reader, part, record))
            has_full_world = told.worlds[0].get("full") is True
    if not has_full_world:
        told.worlds.clear()
    _windows(reader, lineage, told)
    return told


def _windows(reader: ItemReader, lineage: Lineage, told: LastTold) -> None:
    """The chain of context windows: of the newest compaction that numbers them, and of the first lines of files."""
    numbered = False
    for part, record in _newest_first(lineage):
        if record.type == "session_meta":
            around = _payload(reader, part, record).get("context_window")
            window = _text(around.get("window_id")) if isinstance(around, dict) else None
            told.window = told.window or window
            if not numbered:
                told.first_window = window or told.first_window  # the oldest file's, at the end
        elif record.type == COMPACTED and record.compacted is not None and not numbered:
            payload = _payload(reader, part, record)
            told.window = told.window or _text(payload.get("window_id"))
            found = payload.get("resume_metadata")
            told.resume = told.resume or (found if isinstance(found, dict) else None)
            number = payload.get("window_number")
            numbered = isinstance(number, int)
            told.number += number if isinstance(number, int) else 1
            if numbered:
                told.first_window = _text(payload.get("first_window_id")) or told.first_window
        if numbered and told.window and told.first_window:
            break


def _newest_first(lineage: Lineage) -> Iterator[tuple[RolloutPart, RolloutRecord]]:
    for part in reversed(lineage.parts):
        if part.is_sent:
            yield from ((part, record) for record in reversed(list(part.sent())))


def _payload(reader: ItemReader, part: RolloutPart, record: RolloutRecord) -> Payload:
    return items.payload_of(reader.value(part, record))[1]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
