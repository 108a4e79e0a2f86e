"""The latest lines of a session that the lines of a compaction are based on."""

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
class LastPayloads:
    """Payloads of the newest line of each kind, None for none; `meta` is the current file's first. `worlds` are the
    last full state of the world and the changes after it, in order. `window` and `first_window` are the ids of the
    client's context windows, `number` that of the newest one; `resume` is the newest compaction's data for a resume.
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


def last_payloads(reader: ItemReader, lineage: Lineage) -> LastPayloads:
    """Read from the end; of the lines with whole contexts as few as possible are read."""
    current = lineage.current
    meta = _payload(reader, current, current.records[0]) if current.records else {}
    last, has_full_world = LastPayloads(meta), False
    for part, record in _newest_first(lineage):
        if record.type == "turn_context" and last.turn is None:
            last.turn = _payload(reader, part, record)
        elif record.subtype in TURN_STARTS and last.started is None:
            last.started = _payload(reader, part, record)
        elif record.subtype == "token_count" and last.counted is None:
            info = _payload(reader, part, record).get("info")
            last.counted = info if isinstance(info, dict) else None
        elif record.type == "world_state" and not has_full_world:
            last.worlds.insert(0, _payload(reader, part, record))
            has_full_world = last.worlds[0].get("full") is True
    if not has_full_world:
        last.worlds.clear()
    _windows(reader, lineage, last)
    return last


def _windows(reader: ItemReader, lineage: Lineage, last: LastPayloads) -> None:
    """Fill in the context windows: from the newest compaction that numbers them, and from the first lines of files."""
    numbered = False
    for part, record in _newest_first(lineage):
        if record.type == "session_meta":
            window_object = _payload(reader, part, record).get("context_window")
            window = _text(window_object.get("window_id")) if isinstance(window_object, dict) else None
            last.window = last.window or window
            if not numbered:
                last.first_window = window or last.first_window  # in the end that of the oldest file
        elif record.type == COMPACTED and record.compacted is not None and not numbered:
            payload = _payload(reader, part, record)
            last.window = last.window or _text(payload.get("window_id"))
            resume = payload.get("resume_metadata")
            last.resume = last.resume or (resume if isinstance(resume, dict) else None)
            number = payload.get("window_number")
            numbered = isinstance(number, int)
            last.number += number if isinstance(number, int) else 1
            if numbered:
                last.first_window = _text(payload.get("first_window_id")) or last.first_window
        if numbered and last.window and last.first_window:
            break


def _newest_first(lineage: Lineage) -> Iterator[tuple[RolloutPart, RolloutRecord]]:
    for part in reversed(lineage.parts):
        if part.is_sent:
            yield from ((part, record) for record in reversed(list(part.sent())))


def _payload(reader: ItemReader, part: RolloutPart, record: RolloutRecord) -> Payload:
    return items.payload_of(reader.value(part, record))[1]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
