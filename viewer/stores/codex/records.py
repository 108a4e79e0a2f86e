"""The records of a session's files: what the replay and the index need from each line, without texts."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

from viewer.stores.jsonl import compressed
from viewer.stores.jsonl.files import RecordCache
from viewer.stores.jsonl.lines import Line
from viewer.stores.jsonl.values import interned, seconds

from . import items, schema
from .items import ItemFacts

MARK = "palimpsest"  # a key of ours in the line of a compaction, which the client keeps
COMPACTED, UNDONE = "compacted", "xompacted"  # types of lines: that of a compaction, and of one that was taken back
MOST_TOKENS = 10**12  # in one field of a usage; a larger number does not count
TURN_STARTS, TURN_ENDS = ("task_started", "turn_started"), ("task_complete", "turn_complete", "turn_aborted")


class CountedTokens(NamedTuple):
    """What a request and its response used, in tokens: cached ones are part of the input."""

    input: int
    cached: int
    output: int
    total: int


@dataclass(frozen=True, slots=True)
class HistoryBase:
    """The file that this one continues from: its file id, and the byte before which its history ends."""

    file_id: str
    end: int


class HeaderFacts(NamedTuple):
    """What a line says about the session of its file, or of the lines after it: its id; whether it names another
    session that it came from; and the number of its first own line where the lines before are copies, None for unknown.
    """

    id: str
    is_derived: bool
    own_from: int | None


@dataclass(frozen=True, slots=True)
class CompactedFacts:
    """The facts of a compaction's line. `items` are the whole new context, None where the client makes it from the
    requests and the summary (`message`, its characters in `size`); `handoff` is the position of the summary among them,
    None for none. `mark` identifies one of ours, which also names the position of its handoff.
    """

    items: tuple[ItemFacts, ...] | None
    handoff: int | None
    size: int
    window_id: str
    mark: str


@dataclass(frozen=True, slots=True)
class RolloutRecord:
    """One line. `position` is its number in the file; `time` in epoch seconds, 0.0 for none; `subtype` that of an event
    or item. `is_summarizing` says that the item is a model's answer to the question for a summary, which no later
    request contains; `turn` is the turn that begins or ends, `is_asked_for` that a request began it; `spawned` are a
    call and the session of the sub-agent that it started. `is_lost` says that the client skips the line, so that it has
    no type and is only here for its item; `is_bare` that it is a bare item, as in the oldest files; `unknown` is what a
    later client may understand differently, "" for nothing; `is_text` says that the line is UTF-8, `is_cut` that it is
    too long or nested too deep to be held as a whole, `is_inner` that a script made the call that ended.
    """

    position: int
    offset: int
    length: int
    type: str
    subtype: str = ""
    time: float = 0.0
    ordinal: int | None = None
    item: ItemFacts | None = None
    is_summarizing: bool = False
    compacted: CompactedFacts | None = None
    turn: str = ""
    is_asked_for: bool = False
    rolled_back: int = 0
    total: CountedTokens | None = None
    last: CountedTokens | None = None
    model: str = ""
    base: HistoryBase | None = None
    header: HeaderFacts | None = None
    spawned: tuple[str, str] | None = None
    is_lost: bool = False
    is_bare: bool = False
    unknown: str = ""
    is_text: bool = True
    is_cut: bool = False
    is_inner: bool = False

    @property
    def is_end_of_response(self) -> bool:
        """Whether the model's items after it belong to another response."""
        return self.type in ("token_usage_record", "compacted") or self.subtype in (*TURN_STARTS, *TURN_ENDS)


def record_of(line: Line, position: int) -> RolloutRecord:
    """The record in a line; a record of no type for one that the client skips."""
    value = line.object or {}
    kind, payload = items.payload_of(value or None)
    is_bare = bool(kind) and "payload" not in value and line.place in schema.READS
    is_taken = is_bare or schema.is_taken(line)
    common: dict[str, Any] = {
        "position": position, "offset": line.offset, "length": line.length,
        "type": sys.intern(kind) if is_taken else "", "time": seconds(value.get("timestamp")),
        "ordinal": _number(value.get("ordinal")),
        "is_lost": not is_taken, "is_bare": is_bare, "unknown": schema.unknown_in(line),
        "is_text": schema.is_text(line), "is_cut": line.place == "cut",
    }  # fmt: skip
    if not is_taken:
        return _of_lost(common, kind, payload)
    if kind == "response_item":
        return _of_item(common, payload, value.get("metadata"))
    if kind == "compacted":
        return RolloutRecord(**common, compacted=_compacted(payload))
    if kind == "event_msg":
        return _of_event(common, payload)
    if kind == "turn_context":
        return RolloutRecord(**common, model=interned(payload.get("model")), turn=interned(payload.get("turn_id")))
    if kind == "session_meta":
        return RolloutRecord(**common, base=base_of(payload), header=_header(payload))
    return RolloutRecord(**common)


def _of_lost(common: dict[str, Any], kind: str, payload: dict[str, Any]) -> RolloutRecord:
    """For a line that the client skips: its message, and the file that its file continues from."""
    if kind == "response_item" and payload.get("type") not in items.NOT_SENT:
        return RolloutRecord(**common, item=items.facts_of(payload))
    return RolloutRecord(**common, base=base_of(payload) if kind == "session_meta" else None)


def _of_item(common: dict[str, Any], item: dict[str, Any], metadata: Any) -> RolloutRecord:
    kind = interned(item.get("type"))
    if kind in items.NOT_SENT:
        return RolloutRecord(**common, subtype=kind)
    output = isinstance(metadata, dict) and bool(metadata.get("compaction_output"))
    return RolloutRecord(**common, subtype=kind, item=items.facts_of(item), is_summarizing=output)


def _of_event(common: dict[str, Any], event: dict[str, Any]) -> RolloutRecord:
    kind = interned(event.get("type"))
    info_value = event.get("info")
    info: dict[str, Any] = info_value if kind == "token_count" and isinstance(info_value, dict) else {}
    return RolloutRecord(
        **common,
        subtype=kind,
        turn=interned(event.get("turn_id")),
        is_asked_for=isinstance(event.get("turn_attribution"), dict),
        rolled_back=_count(event, "num_turns") if kind == "thread_rolled_back" else 0,
        total=_tokens(info.get("total_token_usage")),
        last=_tokens(info.get("last_token_usage")),
        spawned=_spawned(kind, event),
        is_inner=kind == "item_completed" and is_inner(event.get("item")),
    )


def is_inner(item: Any) -> bool:
    """Whether this is a command that a script of `exec` ran: one that a model called directly has its call's id."""
    return (
        isinstance(item, dict)
        and item.get("type") == "CommandExecution"
        and isinstance(item.get("id"), str)
        and item["id"].startswith("exec-")
    )


def _spawned(kind: str, event: dict[str, Any]) -> tuple[str, str] | None:
    """The call that started a sub-agent, and its session; lines without numbers use a different event for it."""
    item = event.get("item")
    activity, name = (event, "event_id") if kind == "sub_agent_activity" else (item, "id")
    if not isinstance(activity, dict) or activity.get("kind") != "started":
        return None
    if kind == "item_completed" and activity.get("type") != "SubAgentActivity":
        return None
    call, session = interned(activity.get(name)), interned(activity.get("agent_thread_id"))
    return (call, session) if call and session else None


def _compacted(payload: dict[str, Any]) -> CompactedFacts:
    history, message = payload.get("replacement_history"), payload.get("message")
    own_fields = payload.get(MARK)
    mark = interned(own_fields.get("id")) if isinstance(own_fields, dict) else ""
    size, window = len(message) if isinstance(message, str) else 0, interned(payload.get("window_id"))
    if history is None:
        return CompactedFacts(None, None, size, window, mark)
    facts = tuple(map(items.facts_of, history))
    handoffs = [at for at, each in enumerate(facts) if each.is_summary]
    marked_position = _number(own_fields.get("handoff")) if isinstance(own_fields, dict) else None
    handoff = marked_position if marked_position in handoffs else handoffs[-1] if handoffs else None
    return CompactedFacts(facts, handoff, size, window, mark)


def _header(meta: dict[str, Any]) -> HeaderFacts:
    is_derived = bool(meta.get("forked_from_id") or meta.get("parent_thread_id"))
    return HeaderFacts(interned(meta.get("id")), is_derived, _number(meta.get("subagent_history_start_ordinal")))


def base_of(meta: dict[str, Any]) -> HistoryBase | None:
    """The file that this one continues from, None for none."""
    base = meta.get("history_base")
    if not isinstance(base, dict):
        return None
    file_id, end = interned(base.get("thread_id")), _number(base.get("end_byte_offset"))
    return HistoryBase(file_id, end) if file_id and end is not None else None


def _tokens(usage: Any) -> CountedTokens | None:
    if not isinstance(usage, dict):
        return None
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
    counts = [usage.get(name) or 0 for name in names]
    return CountedTokens(*counts) if all(map(_is_count, counts)) else None


def _count(value: dict[str, Any], name: str) -> int:
    number = value.get(name)
    return number if isinstance(number, int) and _is_count(number) else 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None


def _may_be_undone(record: RolloutRecord) -> bool:
    """Whether an undo may overwrite the line's type, or a redo restore it."""
    return record.type in (COMPACTED, UNDONE)


RECORDS: RecordCache[RolloutRecord] = RecordCache(record_of, opened=compressed.opened, watched=_may_be_undone)
