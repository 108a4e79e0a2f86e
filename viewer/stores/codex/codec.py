"""Messages decoded from items, what the client adds to them, and lines as rows. Decoding never fails: unknown content
stays unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, BinaryIO

from compaction import messages as chat
from viewer.stores.jsonl.compressed import opened
from viewer.stores.jsonl.files import line_at, readable
from viewer.stores.jsonl.lines import object_at
from viewer.stores.message import Addition, State, StoredMessage, Withheld

from . import items
from .envelopes import ENVELOPES
from .messages import RolloutMessage, RolloutMessages
from .records import TURN_STARTS, RolloutRecord, is_inner
from .replay import MESSAGE, PlacedItem, RolloutPart

MOST_INNER = 500  # lines before a script's output that are searched for the commands it ran
SHOWN_BROKEN = 20_000  # bytes that are shown of a line that is no object
OTHER_AGENT = "from another agent"
ENCRYPTED = "[The summary is encrypted: {size:,} characters that the model alone can read.]"
NOT_TAKEN = "Codex leaves this line out"
IN_BOUNDARY = "It is what the model was sent from then on."
_REPLY = ("reasoning", *items.CALLS)
ADDITION_NAMES = {
    "additional_tools": "tools",
    "model.base_instructions": "instructions of the model",
    "environments.environment_context": "environment",
    "permissions.instructions": "permissions",
    "host_skills.instructions": "skills",
    "agents_md.instructions": "AGENTS.md",
    "tools.deferred_namespaces": "tools on demand",
    "collaboration_mode.instructions": "collaboration mode",
    "multi_agent.role_instructions": "role among agents",
    "multi_agent.mode_instructions": "work with other agents",
    "generic.turn_aborted": "note that a turn was interrupted",
}
ABORTED = "When the session is resumed, the client answers them by itself: “aborted”."
MISSING_FILE = "This session goes on from another file, {file}, that is not here: what was said before is not shown."


class ItemReader(ExitStack):
    """Reads items from the files of a session; of the lines that contain many, one at a time is in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._files: dict[str, BinaryIO] = {}
        self._line: tuple[tuple[str, int], dict[str, Any]] | None = None

    def file(self, part: RolloutPart) -> BinaryIO:
        """The open file of a part. Raises StoreUnavailable."""
        path = part.rollout.path
        if path not in self._files:
            with readable(path):
                self._files[path] = self.enter_context(opened(part.path))
        return self._files[path]

    def value(self, part: RolloutPart, record: RolloutRecord) -> dict[str, Any] | None:
        """The object of a line, also of one that the client skips; None where there is none now."""
        key = part.rollout.path, record.offset
        if self._line is not None and self._line[0] == key:
            return self._line[1]
        value = object_at(self.file(part), record.offset, record.length)
        if value is not None:
            self._line = key, value
        return value

    def item(self, placed: PlacedItem) -> dict[str, Any] | None:
        """An item as stored; None where it is no longer there."""
        _, payload = items.payload_of(self.value(placed.part, placed.record))
        if placed.at is None:
            return payload or None
        if placed.at == MESSAGE:
            return {"type": "message", "role": "user", "content": payload.get("message")}
        history = payload.get("replacement_history")
        value = history[placed.at] if isinstance(history, list) and placed.at < len(history) else None
        return value if isinstance(value, dict) else None

    def metadata(self, placed: PlacedItem) -> dict[str, Any] | None:
        """The metadata that the client stores with an item, or None."""
        value = self.value(placed.part, placed.record)
        if placed.at is None:
            return _object((value or {}).get("metadata"))
        metadata = items.payload_of(value)[1].get("replacement_history_metadata")
        if not isinstance(metadata, list) or not 0 <= placed.at < len(metadata):
            return None
        return _object(metadata[placed.at])


def _object(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


# -- messages ----------------------------------------------------------------------------------------------------------


def message_of(
    reader: ItemReader, messages: RolloutMessages, message: RolloutMessage, session_id: str, *, sent: bool = False
) -> StoredMessage:
    """A message as stored, or with only those of its items that are `sent`."""
    row = _spoken(reader, messages, message, session_id, sent=sent)
    notes = (reader.item(messages.replay.items[each]) for each in messages.notes.get(message.id, ()))
    return replace(row, notes=tuple(chat.said(item.get("content")) for item in notes if item is not None))


def _spoken(
    reader: ItemReader, messages: RolloutMessages, message: RolloutMessage, session_id: str, *, sent: bool
) -> StoredMessage:
    chosen = [each for each in message.items if not sent or each in messages.sent_items]
    values = [value for each in chosen if (value := reader.item(messages.replay.items[each])) is not None]
    state = messages.states[message.id]
    if not values:
        return StoredMessage(
            message.id, session_id, message.role, None, state, message.time, flagged=message.is_summary
        )
    if message.role == "assistant":
        return _reply(values, message, session_id, state)
    item = values[0]
    if message.role == "tool":
        call = str(item.get("call_id") or "")
        sub_agent = messages.sub_agents.get(call)
        return StoredMessage(
            message.id, session_id, "tool", _content(item.get("output", item.get("tools"))), state, message.time,
            tool_call_id=call, sub_agents=(sub_agent,) if sub_agent else (),
            inner=tuple(_inner(reader, messages.replay.items[chosen[0]])),
        )  # fmt: skip
    return StoredMessage(
        id=message.id,
        session_id=session_id,
        role=message.role,
        content=_user_content(item),
        state=state,
        timestamp=message.time,
        flagged=message.is_summary,
        extra=_extra(item),
        envelopes=ENVELOPES if message.role == "user" else None,
    )


def _inner(reader: ItemReader, output: PlacedItem) -> Iterator[dict[str, Any]]:
    """The commands of the script that this is the output of: those that ended since its call, or since
    another output.
    """
    records, position = output.part.records, output.record.position
    if output.at is not None or output.facts.type != "custom_tool_call_output":
        return
    ran: list[RolloutRecord] = []
    for record in reversed(records[max(0, position - MOST_INNER) : position]):
        if record.subtype in TURN_STARTS or (record.item is not None and not record.is_lost):
            break
        if record.is_inner:
            ran.append(record)
    for record in reversed(ran):
        item = items.payload_of(reader.value(output.part, record))[1].get("item")
        if isinstance(item, dict) and is_inner(item):
            yield _ran(item)


def _ran(item: dict[str, Any]) -> dict[str, Any]:
    """A command that ran, as a call of the shell with its output, below the client's heading."""
    named = {"command": item.get("command"), "workdir": str(item.get("cwd") or "").removeprefix("file://")}
    printed = f"Process exited with code {item.get('exit_code')}\nOutput:\n{item.get('aggregated_output') or ''}"
    called = {"name": "exec_command", "arguments": items.as_json(named)}
    return {"id": item["id"], "type": "function", "function": called, "output": printed}


def _user_content(item: dict[str, Any]) -> Any:
    if item.get("type") in items.ENCRYPTED:
        return ENCRYPTED.format(size=len(str(item.get("encrypted_content") or "")))
    return _content(item.get("content"))


def _extra(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") != items.AGENT_MESSAGE:
        return {}
    named = {name: item[name] for name in ("author", "recipient") if isinstance(item.get(name), str)}
    return {"display_kind": OTHER_AGENT, **named}


def _reply(values: Sequence[dict[str, Any]], message: RolloutMessage, session_id: str, state: State) -> StoredMessage:
    """A model's response: reasoning, text and calls."""
    blocks = [block for value in values if value.get("type") not in _REPLY for block in _blocks(value)]
    return StoredMessage(
        id=message.id,
        session_id=session_id,
        role="assistant",
        content=_content(blocks),
        state=state,
        timestamp=message.time,
        tool_calls=[_call(value) for value in values if value.get("type") in items.CALLS],
        reasoning="\n\n".join(filter(None, map(_thought, values))),
    )


def _blocks(item: dict[str, Any]) -> list[Any]:
    if item.get("type") != "message":
        shown = {name: value for name, value in item.items() if name != items.INTERNAL}
        return [shown]  # such as a search by the service itself
    content = item.get("content")
    return content if isinstance(content, list) else [{"type": "output_text", "text": content}]


def _content(content: Any) -> Any:
    """Text where there is nothing but one text, else the parts."""
    if not isinstance(content, list):
        return content
    if not content:
        return ""
    first = content[0]
    is_text = len(content) == 1 and isinstance(first, dict) and first.get("type") in ("input_text", "output_text")
    return first["text"] if is_text and isinstance(first.get("text"), str) else content


def _thought(item: dict[str, Any]) -> str:
    if item.get("type") != "reasoning":
        return ""
    lists = [item_list for name in ("summary", "content") if isinstance(item_list := item.get(name), list)]
    parts = [part for item_list in lists for part in item_list if isinstance(part, dict)]
    return "\n\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _call(item: dict[str, Any]) -> dict[str, Any]:
    """A call in OpenAI's chat shape; the input of a custom tool is plain text."""
    arguments = next((item[name] for name in ("arguments", "input", "action") if item.get(name) is not None), "")
    name = item.get("name") or str(item.get("type")).removesuffix("_call")
    if isinstance(item.get("namespace"), str) and item["namespace"]:
        name = f"{item['namespace']}.{name}"
    arguments_text = arguments if isinstance(arguments, str) else items.as_json(arguments)
    return {"id": item.get("call_id"), "type": "function", "function": {"name": name, "arguments": arguments_text}}


# -- lines as rows -----------------------------------------------------------------------------------------------------


def row_of(
    reader: ItemReader, part: RolloutPart, record: RolloutRecord, session_id: str, state: State
) -> StoredMessage:
    """A line as stored: its content, and all other fields."""
    row_id = part.start + record.offset
    value = reader.value(part, record)
    if value is None:
        start = line_at(reader.file(part), record.offset, min(record.length, SHOWN_BROKEN)).decode("utf-8", "replace")
        return StoredMessage(row_id, session_id, "", start, state, 0.0, extra={"line": "no JSON object"})
    kind, payload = items.payload_of(value)
    extra = {name: each for name, each in payload.items() if name != "content" and each is not None}
    for name in ("replacement_history", "replacement_history_metadata"):
        if isinstance(extra.get(name), list):
            extra[name] = Withheld(record.length, f"{len(extra[name]):,} items. {IN_BOUNDARY}")
    if record.is_lost:
        extra["line"] = NOT_TAKEN
    extra |= {f"line.{name}": value[name] for name in ("ordinal", "metadata") if name in value}
    return StoredMessage(
        id=row_id,
        session_id=session_id,
        role=kind,
        content=_content(payload.get("content")),
        state=state,
        timestamp=record.time,
        extra=extra,
    )


# -- what the client itself adds to a request: tools, instructions, environment, rules of a project, notices -----------


def additions_of(
    reader: ItemReader, messages: RolloutMessages, ids: frozenset[int], *, end: bool
) -> Iterator[Addition]:
    """The additions directly before these messages, with `end` also those after the last message, in order."""
    waiting: list[int] = []
    first, placed = messages.replay.first, messages.replay.items
    done: set[int] = set()
    if messages.lineage.missing:
        before = next(iter(messages.live), None)
        if before in ids or (before is None and end):
            yield Addition(before, "missing history", MISSING_FILE.format(file=messages.lineage.missing), is_sent=False)
    for each in messages.replay.live:
        if placed[each].facts.role == items.CONTEXT:
            waiting.append(each)
            continue
        if first[each] in ids and first[each] not in done:
            yield from (_addition(reader, messages, item, first[each]) for item in waiting)
        done.add(first[each])
        waiting = []
    if end:
        yield from (_addition(reader, messages, item, None) for item in waiting)
        if messages.open_calls:
            yield Addition(None, "results of calls that were not finished", ABORTED, is_sent=False)


def _addition(reader: ItemReader, messages: RolloutMessages, item_id: int, before: int | None) -> Addition:
    item = reader.item(messages.replay.items[item_id]) or {}
    return Addition(before, _name_of(item), _addition_text(item), is_sent=True)


def _name_of(item: dict[str, Any]) -> str:
    """A short name of an item's content."""
    kinds = items.kinds_of(item) or (str(item.get("type")),)
    names = [ADDITION_NAMES.get(kind, kind.replace("_", " ").replace(".", ": ")) for kind in kinds if kind != "message"]
    return ", ".join(dict.fromkeys(names)) or "instructions"


def _addition_text(item: dict[str, Any]) -> str:
    if item.get("type") == "additional_tools":
        return items.as_json(item.get("tools"))
    return chat.said(item.get("content"))
