"""The lines that a compaction writes: the same that the client writes around one. `docs/codex.md` explains the fields.

The client silently skips a line with any mistake, so these lines must stay as they were tested.
"""

from __future__ import annotations

import copy
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from compaction.policy import IMAGE_TOKENS

from .context import NewContext, StoredItem
from .records import COMPACTED, MARK
from .told import LastPayloads

Line = dict[str, Any]
IMAGE_CHARACTERS = IMAGE_TOKENS * 4
NO_USAGE = dict.fromkeys(
    (
        "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
        "reasoning_output_tokens", "total_tokens",
    ),
    0,
)  # fmt: skip


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
