"""The lines that a compaction writes: the same that the client writes around one. `docs/codex.md` explains the fields.

The client silently skips a line with any mistake, so these lines must stay as they were tested.

It also skips a line whose type it does not know. So the lines are first written with such types and then switched on,
by the first letters of their types, the compaction's line last; an undo switches them off, that line first, and a redo
on again. A process that is killed in between leaves a session as it was before, or as it is after. The first and the
last line of the turn always count, or the client would not find it.
"""

from __future__ import annotations

import copy
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from compaction.policy import IMAGE_TOKENS

from . import items
from .codec import ItemReader
from .plan import NewContext, StoredItem
from .records import COMPACTED, MARK, TURN_STARTS, RolloutRecord
from .replay import Lineage, RolloutPart

Line = dict[str, Any]
IMAGE_CHARACTERS = IMAGE_TOKENS * 4
NO_USAGE = dict.fromkeys(
    (
        "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
        "reasoning_output_tokens", "total_tokens",
    ),
    0,
)  # fmt: skip
Payload = dict[str, Any]
TYPES = (COMPACTED, "world_state", "turn_context", "event_msg")
KEPT = (b'"payload":{"type":"task_started"', b'"payload":{"type":"task_complete"')
OFF = b"x"
_START = b'"type":"'


@dataclass(frozen=True, slots=True)
class OwnTurn:
    """The turn that a compaction of ours is to the client; `ordinal` is the first line's number, None in files without
    numbers; `mark` identifies it here.
    """

    thread: str
    turn: str
    window: str
    mark: str
    ordinal: int | None
    now: float


def encoded(values: Sequence[Mapping[str, Any]]) -> bytes:
    """Lines of a file. They contain no lone surrogate, not even escaped: the client cannot read such a line."""
    lines = (json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values)
    return b"".join(line.encode("utf-8", "replace") + b"\n" for line in lines)


def stamp(now: float) -> str:
    """A time in the form of the lines."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_id(now: float) -> str:
    """An id in the client's form: a UUID of version 7, which begins with the time."""
    octets = bytearray(int(now * 1000).to_bytes(6, "big") + secrets.token_bytes(10))
    octets[6], octets[8] = 0x70 | octets[6] & 15, 0x80 | octets[8] & 63
    text = octets.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def compaction(context: NewContext, last: LastPayloads, own: OwnTurn) -> list[Line]:
    """All lines, in order."""
    seconds, turn = int(own.now), own.turn
    events: list[tuple[str, Line]] = [
        ("event_msg", _started(last, own)),
        (COMPACTED, _compacted(context, last, own)),
        *(("world_state", world) for world in last.worlds),
    ]
    if last.turn is not None:
        root = {"root_turn_id": turn} if "root_turn_id" in last.turn else {}
        events.append(("turn_context", {**last.turn, "turn_id": turn, **root}))
    events.append(("event_msg", {"type": "token_count", "info": _counted(context, last), "rate_limits": None}))
    events.append(("event_msg", _shown(own)))
    done = {
        "type": "task_complete", "root_turn_id": turn, "turn_id": turn, "last_agent_message": None,
        "started_at": seconds, "completed_at": seconds, "duration_ms": 1,
    }  # fmt: skip
    events.append(("event_msg", done))
    return [
        {"timestamp": stamp(own.now), **_ordinal(own, at), "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate(events)
    ]


def _ordinal(own: OwnTurn, at: int) -> Line:
    return {} if own.ordinal is None else {"ordinal": own.ordinal + at}


def _started(last: LastPayloads, own: OwnTurn) -> Line:
    window = (last.counted or {}).get("model_context_window") or (last.started or {}).get("model_context_window")
    return {
        "type": "task_started", "turn_id": own.turn, "root_turn_id": own.turn, "started_at": int(own.now),
        "model_context_window": window, "collaboration_mode_kind": "default",
    }  # fmt: skip


def _compacted(context: NewContext, last: LastPayloads, own: OwnTurn) -> Line:
    """The new context. The metadata list must have the same length, or the client skips the line; older clients write
    no such list.
    """
    has_metadata = any(each.metadata for each in context.stored)
    aligned = {"replacement_history_metadata": _metadata(context)} if has_metadata else {}
    return {
        "message": "",
        "replacement_history": [each.item for each in context.stored],
        **aligned,
        "window_number": last.number + 1,
        "first_window_id": last.first_window,
        "previous_window_id": last.window,
        "window_id": own.window,
        "resume_metadata": _resume(last, own),
        MARK: {"id": own.mark, "handoff": context.handoff},
    }


def _metadata(context: NewContext) -> list[Line]:
    metadata = [each.metadata for each in context.stored if each.metadata]
    ours = {
        "history_sequence": _highest(metadata, "history_sequence") + 1,
        "sampled_through_sequence": _highest(metadata, "sampled_through_sequence"),
        "client_authored": False,
        "mcp_attribution": {"status": "none"},
    }
    all_metadata = [each.metadata or {} for each in context.stored]
    return [*all_metadata[: context.handoff], ours, *all_metadata[context.handoff + 1 :]]


def _highest(metadata: Sequence[Line], name: str) -> int:
    return max((each[name] for each in metadata if isinstance(each.get(name), int)), default=0)


def _resume(last: LastPayloads, own: OwnTurn) -> Line:
    """The facts that a client which reads from the end would miss: without them its tools for other agents would be
    gone.
    """
    tools = {"thread_id": own.thread, "tools": last.meta.get("dynamic_tools") or []}
    resume = copy.deepcopy(last.resume) or {"dynamic_tools": tools}
    if last.turn is not None:
        resume["multi_agent_version"] = last.turn.get("multi_agent_version") or last.meta.get("multi_agent_version")
        settings = ("model", "comp_hash", "realtime_active")
        resume["previous_turn_settings"] = {name: last.turn.get(name) for name in settings}
    if last.started is not None and last.started.get("turn_attribution"):
        resume["turn_attribution"] = last.started["turn_attribution"]
    resume["last_started_turn_id"] = own.turn
    return resume


def _counted(context: NewContext, last: LastPayloads) -> Line:
    """An estimate. The client uses the newest count that it finds: without this one it would compact a full session
    again at once.
    """
    counted = copy.deepcopy(last.counted) or {"total_token_usage": NO_USAGE, "model_context_window": None}
    return {**counted, "last_token_usage": {**NO_USAGE, "total_tokens": estimate(context.stored)}}


def estimate(stored: Sequence[StoredItem]) -> int:
    """Tokens of a context, estimated by its characters; every picture counts the same."""
    return sum(_characters(each.item) for each in stored) // 4


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_characters, value))
    if isinstance(value, dict):
        if value.get("type") == "input_image":
            return IMAGE_CHARACTERS
        return sum(len(name) + 6 + _characters(each) for name, each in value.items())
    return 4


def _shown(own: OwnTurn) -> Line:
    """What the client shows of it; clients without line numbers have a different event for it."""
    if own.ordinal is None:
        return {"type": "context_compacted"}
    milliseconds = int(own.now * 1000)
    return {
        "type": "item_completed", "thread_id": own.thread, "turn_id": own.turn, "started_at_ms": milliseconds,
        "completed_at_ms": milliseconds, "item": {"type": "ContextCompaction", "id": new_id(own.now)},
    }  # fmt: skip


# -- the latest lines of a session, which those of a compaction are based on -------------------------------------------


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


# -- the first letters of the lines' types, which decide whether the lines count ---------------------------------------


@dataclass(frozen=True, slots=True)
class TypeLetter:
    """The first letter of a line's type: its offset in the file, and its value where the line counts."""

    offset: int
    letter: bytes
    is_of_compaction: bool


def type_letters(lines: Iterable[tuple[int, bytes]]) -> tuple[TypeLetter, ...] | None:
    """The letters of lines, given by their offsets and beginnings, whether they count or not; the compaction's first.
    None where a line is not one of a compaction's lines.
    """
    result = []
    for offset, line in lines:
        if any(beginning in line for beginning in KEPT):
            continue
        at = line.find(_START) + len(_START)
        kind = next((each for each in TYPES if line[at + 1 :].startswith(f'{each[1:]}"'.encode())), "")
        if not kind or line[at : at + 1] not in (kind[:1].encode(), OFF):
            return None
        result.append(TypeLetter(offset + at, kind[:1].encode(), kind == COMPACTED))
    return tuple(sorted(result, key=lambda each: not each.is_of_compaction))


def with_counting_type(line: str) -> str:
    """A line from its type on, in the form in which it counts."""
    for kind in TYPES:
        line = line.replace(f'"type":"{OFF.decode()}{kind[1:]}"', f'"type":"{kind}"', 1)
    return line


def bytes_off(letters: Iterable[TypeLetter]) -> dict[int, bytes]:
    """The bytes to write, by offset, so that the lines do not count, in this order."""
    return {each.offset: OFF for each in letters}


def bytes_on(letters: tuple[TypeLetter, ...]) -> dict[int, bytes]:
    """The bytes to write, by offset, so that the lines count, in this order."""
    return {each.offset: each.letter for each in reversed(letters)}


def switched_off(data: bytes) -> tuple[bytes, tuple[TypeLetter, ...]]:
    """Lines that do not count yet, and the letters of their types by offset in these lines."""
    lines, offset = [], 0
    for line in data.splitlines(keepends=True):
        lines.append((offset, line))
        offset += len(line)
    letters, off_data = type_letters(lines), bytearray(data)
    assert letters is not None
    for at, letter in bytes_off(letters).items():
        off_data[at : at + 1] = letter
    return bytes(off_data), letters
