"""The lines that a compaction writes: those that the client itself writes around one. Fields and why: `docs/codex.md`.

A line that the client finds anything wrong with is left out by it without a word, so these stay as they were tried.
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
from .told import LastTold

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
    """The turn that a compaction of ours is in the client's eyes; `ordinal` is the first line's, None in files whose
    lines have none; `mark` is what it is known by here.
    """

    thread: str
    turn: str
    window: str
    mark: str
    ordinal: int | None
    now: float


def encoded(values: Sequence[Mapping[str, Any]]) -> bytes:
    """Lines of a file. No lone surrogate is in them, even escaped: the client cannot read such a line."""
    lines = (json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values)
    return b"".join(line.encode("utf-8", "replace") + b"\n" for line in lines)


def stamp(now: float) -> str:
    """A time as lines have it."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_id(now: float) -> str:
    """An id as the client makes them: a UUID of version 7, which begins with the time."""
    made = bytearray(int(now * 1000).to_bytes(6, "big") + secrets.token_bytes(10))
    made[6], made[8] = 0x70 | made[6] & 15, 0x80 | made[8] & 63
    text = made.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def compaction(context: NewContext, told: LastTold, own: OwnTurn) -> list[Line]:
    """All lines, in order."""
    seconds, turn = int(own.now), own.turn
    events: list[tuple[str, Line]] = [
        ("event_msg", _started(told, own)),
        (COMPACTED, _compacted(context, told, own)),
        *(("world_state", world) for world in told.worlds),
    ]
    if told.turn is not None:
        root = {"root_turn_id": turn} if "root_turn_id" in told.turn else {}
        events.append(("turn_context", {**told.turn, "turn_id": turn, **root}))
    events.append(("event_msg", {"type": "token_count", "info": _counted(context, told), "rate_limits": None}))
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


def _started(told: LastTold, own: OwnTurn) -> Line:
    window = (told.counted or {}).get("model_context_window") or (told.started or {}).get("model_context_window")
    return {
        "type": "task_started", "turn_id": own.turn, "root_turn_id": own.turn, "started_at": int(own.now),
        "model_context_window": window, "collaboration_mode_kind": "default",
    }  # fmt: skip


def _compacted(context: NewContext, told: LastTold, own: OwnTurn) -> Line:
    """The new context. The list beside it is as long, or the client leaves out the line; older clients write none."""
    known = any(each.metadata for each in context.stored)
    aligned = {"replacement_history_metadata": _metadata(context)} if known else {}
    return {
        "message": "",
        "replacement_history": [each.item for each in context.stored],
        **aligned,
        "window_number": told.number + 1,
        "first_window_id": told.first_window,
        "previous_window_id": told.window,
        "window_id": own.window,
        "resume_metadata": _resume(told, own),
        MARK: {"id": own.mark, "handoff": context.handoff},
    }


def _metadata(context: NewContext) -> list[Line]:
    known = [each.metadata for each in context.stored if each.metadata]
    ours = {
        "history_sequence": _highest(known, "history_sequence") + 1,
        "sampled_through_sequence": _highest(known, "sampled_through_sequence"),
        "client_authored": False,
        "mcp_attribution": {"status": "none"},
    }
    beside = [each.metadata or {} for each in context.stored]
    return [*beside[: context.handoff], ours, *beside[context.handoff + 1 :]]


def _highest(known: Sequence[Line], name: str) -> int:
    return max((each[name] for each in known if isinstance(each.get(name), int)), default=0)


def _resume(told: LastTold, own: OwnTurn) -> Line:
    """What a client that reads from the end does not see otherwise: its tools for other agents would be gone."""
    tools = {"thread_id": own.thread, "tools": told.meta.get("dynamic_tools") or []}
    found = copy.deepcopy(told.resume) or {"dynamic_tools": tools}
    if told.turn is not None:
        found["multi_agent_version"] = told.turn.get("multi_agent_version") or told.meta.get("multi_agent_version")
        settings = ("model", "comp_hash", "realtime_active")
        found["previous_turn_settings"] = {name: told.turn.get(name) for name in settings}
    if told.started is not None and told.started.get("turn_attribution"):
        found["turn_attribution"] = told.started["turn_attribution"]
    found["last_started_turn_id"] = own.turn
    return found


def _counted(context: NewContext, told: LastTold) -> Line:
    """An estimate. The client goes by the newest count that it finds: it would compact a full session again at once."""
    found = copy.deepcopy(told.counted) or {"total_token_usage": NO_USAGE, "model_context_window": None}
    return {**found, "last_token_usage": {**NO_USAGE, "total_tokens": estimate(context.stored)}}


def estimate(stored: Sequence[StoredItem]) -> int:
    """Tokens of a context, by its characters; a picture counts as any other."""
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
    """What the client shows of it; clients that number no lines have an event of their own."""
    if own.ordinal is None:
        return {"type": "context_compacted"}
    milliseconds = int(own.now * 1000)
    return {
        "type": "item_completed", "thread_id": own.thread, "turn_id": own.turn, "started_at_ms": milliseconds,
        "completed_at_ms": milliseconds, "item": {"type": "ContextCompaction", "id": new_id(own.now)},
    }  # fmt: skip
