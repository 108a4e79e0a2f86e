"""Messages decoded from lines, what the client adds to them, and lines as rows. Decoding never fails: unknown content
stays unchanged.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from compaction import messages as chat
from viewer.stores.jsonl.files import line_at
from viewer.stores.jsonl.lines import LONGEST, object_at
from viewer.stores.jsonl.values import seconds
from viewer.stores.message import Addition, Handoff, HistoryMessage, State, StoredMessage

from .envelopes import ENVELOPES, META, is_meta
from .messages import SessionMessage, SessionMessages
from .paths import SIDECHAIN, parent_of
from .records import OWN_RECORD, QUEUED, Record, object_in, queued_of

LONGEST_DIFF = 200_000  # characters of a change of a file that is noted with a result
_HUNK = ("oldStart", "oldLines", "newStart", "newLines")
SHOWN_BROKEN = 20_000  # bytes that are shown of a line that is no object
_AROUND = ("message", "type", "timestamp")  # fields that a raw row shows elsewhere
ADDITION_NAMES = {"prompt_snapshot": "system prompt and tools"}
INTERRUPTED = "When the session is resumed, the client answers them by itself: “[Tool call interrupted: …]”."
NOT_KEPT = "The session does not keep what is sent of it."
LONGEST_OUTPUT = 10_000_000  # bytes of a file that are shown
_SAVED_OUTPUT = re.compile(r"\A<persisted-output>\s.{0,200}?Full output saved to: ([^\n]{1,1000})\n", re.DOTALL)


def read_value(file: BinaryIO, record: Record) -> dict[str, Any] | None:
    """The object of a record's line; None for one without an object, or where the line has changed."""
    return object_at(file, record.offset, record.length)


# -- messages ----------------------------------------------------------------------------------------------------------


def message_of(
    file: BinaryIO, conversation: SessionMessages, message: SessionMessage, session_id: str
) -> StoredMessage:
    """A message as the model is sent it."""
    values = [
        value for uuid in message.uuids if (value := read_value(file, conversation.tree.record(uuid))) is not None
    ]
    state = conversation.states[message.id]
    if values and message.role == OWN_RECORD:
        return StoredMessage(message.id, session_id, message.role, _cleared(values[0]), state, message.time)
    if not values or message.role == "system":
        return StoredMessage(
            message.id, session_id, message.role, None, state, message.time, flagged=message.is_summary
        )
    if message.role == "assistant":
        return _reply(values, message, session_id, state)
    queued = queued_of(values[0])
    value = values[0] if queued is None else {**values[0], "message": {"role": "user", "content": queued}}
    row = _from_user(value, message, session_id, state)
    if value.get("type") == QUEUED:
        return replace(row, extra={"queued": True})
    if conversation.sidechains and row.role == "tool" and not row.sub_agents:
        return replace(row, sub_agents=_within(file, conversation, message.piece.answers, session_id))
    return row


def without(row: StoredMessage, calls: Collection[str]) -> StoredMessage | None:
    """A message without these calls, and without their results; None where nothing remains of it."""
    if row.role == "tool":
        return None if row.tool_call_id in calls else row
    remaining = [call for call in row.tool_calls if not isinstance(call.get("id"), str) or call["id"] not in calls]
    if len(remaining) == len(row.tool_calls):
        return row
    return replace(row, tool_calls=remaining) if remaining or row.content or row.reasoning else None


def _cleared(value: dict[str, Any]) -> str:
    """The text of a record of a microcompaction. No real one was seen: the names of its fields are those in the
    client's source.
    """
    facts = object_in(value, "microcompactMetadata") or object_in(value, "microcompact_metadata")
    numbers = [
        f"{number:,} tokens {what}"
        for names, what in ((("preTokens", "pre_tokens"), "before"), (("tokensSaved", "tokens_saved"), "saved"))
        if isinstance(number := next((facts[name] for name in names if name in facts), None), int)
    ]
    return ": ".join(filter(None, ("The client cleared old tool output from what it sends", ", ".join(numbers)))) + "."


def _reply(values: Sequence[dict[str, Any]], message: SessionMessage, session_id: str, state: State) -> StoredMessage:
    """A model's response, which has one line for each block."""
    blocks = [block for value in values for block in _blocks(value)]
    messages = [object_in(value, "message") for value in values]
    reason = next((each["stop_reason"] for each in reversed(messages) if isinstance(each.get("stop_reason"), str)), "")
    return StoredMessage(
        id=message.id,
        session_id=session_id,
        role="assistant",
        content=_content([block for block in blocks if _type(block) not in ("tool_use", "thinking")]),
        state=state,
        timestamp=message.time,
        tool_calls=[_call(block) for block in blocks if _type(block) == "tool_use"],
        reasoning="\n\n".join(filter(None, (_thought(block) for block in blocks))),
        finish_reason="length" if reason == "max_tokens" else reason,
        extra={"model": messages[0]["model"]} if isinstance(messages[0].get("model"), str) else {},
    )


def _from_user(value: dict[str, Any], message: SessionMessage, session_id: str, state: State) -> StoredMessage:
    content = object_in(value, "message").get("content")
    if message.piece.answers:
        block = content[message.piece.at] if isinstance(content, list) else {}
        return StoredMessage(
            id=message.id,
            session_id=session_id,
            role="tool",
            content=_result(block),
            state=state,
            timestamp=message.time,
            tool_call_id=message.piece.answers,
            extra={"is_error": True} if isinstance(block, dict) and block.get("is_error") is True else {},
            sub_agents=_sub_agents(value, session_id),
            diff=_diff(value) if isinstance(content, list) and len(content) == 1 else "",
        )
    if isinstance(content, list):
        content = _content([block for block in content if _type(block) != "tool_result"])
    return StoredMessage(
        id=message.id,
        session_id=session_id,
        role=message.role,
        content=content,
        state=state,
        timestamp=message.time,
        flagged=message.is_summary,
        extra={"display_kind": META} if is_meta(value) else {},
        envelopes=ENVELOPES,
    )


def _sub_agents(value: dict[str, Any], session_id: str) -> tuple[str, ...]:
    """The session of the sub-agent whose answer a line contains."""
    agent = object_in(value, "toolUseResult").get("agentId")
    return (f"{parent_of(session_id) or session_id}/agent-{agent}",) if isinstance(agent, str) else ()


def _diff(value: dict[str, Any]) -> str:
    """The change of a file that a line notes, as the hunks of a unified diff; "" for none, and for a very long one."""
    patch = object_in(value, "toolUseResult").get("structuredPatch")
    rows = [row for hunk in patch if isinstance(hunk, dict) for row in _hunk(hunk)] if isinstance(patch, list) else []
    return "\n".join(rows) if sum(map(len, rows)) <= LONGEST_DIFF else ""


def _hunk(hunk: dict[str, Any]) -> list[str]:
    numbers, lines = [hunk.get(name) for name in _HUNK], hunk.get("lines")
    if not all(isinstance(each, int) for each in numbers) or not isinstance(lines, list):
        return []
    old, new = f"{numbers[0]},{numbers[1]}", f"{numbers[2]},{numbers[3]}"
    return [f"@@ -{old} +{new} @@", *(line.partition("\n")[0] for line in lines if isinstance(line, str))]


def _within(file: BinaryIO, conversation: SessionMessages, call: str, session_id: str) -> tuple[str, ...]:
    """The sub-agent that wrote to the session's own file for this call: the first one after it with the same prompt."""
    caller = next(
        (uuid for uuid in reversed(conversation.tree.order) if call in conversation.tree.nodes[uuid].calls), ""
    )
    blocks = _blocks(read_value(file, conversation.tree.nodes[caller]) or {}) if caller else []
    calls = [block for block in blocks if _type(block) == "tool_use" and block.get("id") == call]
    prompt = object_in(calls[0], "input").get("prompt") if calls else None
    for record in conversation.sidechains if isinstance(prompt, str) else ():
        value = read_value(file, record) if record.position > conversation.tree.position(caller) else None
        if value and chat.said(object_in(value, "message").get("content")) == prompt:
            return (f"{session_id}/{SIDECHAIN}{record.uuid}",)
    return ()


def _result(block: dict[str, Any]) -> Any:
    content = block.get("content")
    return _content(content) if isinstance(content, list) else content


def _blocks(value: dict[str, Any]) -> list[Any]:
    content = object_in(value, "message").get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _content(blocks: list[Any]) -> Any:
    """Text where the blocks are only one text, else the blocks."""
    if not blocks:
        return ""
    if len(blocks) == 1 and _type(blocks[0]) == "text" and isinstance(blocks[0].get("text"), str):
        return blocks[0]["text"]
    return blocks


def _type(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def _thought(block: Any) -> str:
    text = block.get("thinking") if _type(block) == "thinking" else ""
    return text if isinstance(text, str) else ""


def _call(block: dict[str, Any]) -> dict[str, Any]:
    """A call in OpenAI's shape."""
    arguments = json.dumps(block.get("input"), ensure_ascii=False)
    return {"id": block.get("id"), "type": "function", "function": {"name": block.get("name"), "arguments": arguments}}


# -- lines as rows -----------------------------------------------------------------------------------------------------


def row_of(file: BinaryIO, record: Record, session_id: str, state: State) -> StoredMessage:
    """A line as stored: its content, and all other fields."""
    value = read_value(file, record)
    if value is None:
        start = line_at(file, record.offset, min(record.length, SHOWN_BROKEN)).decode("utf-8", "replace")
        why = "too long to be read" if record.length > LONGEST else "no JSON object"
        return StoredMessage(record.offset, session_id, "", start, state, 0.0, extra={"line": why})
    message = object_in(value, "message")
    around = _AROUND if message else _AROUND[1:]  # a message that is no object is shown unchanged
    extra = {name: each for name, each in value.items() if name not in around and each is not None}
    if not record.is_read:
        extra["line"] = "not read by Claude Code: damaged, or after something else on its line"
    extra |= {f"message.{name}": each for name, each in message.items() if name != "content" and each is not None}
    return StoredMessage(
        id=record.offset,
        session_id=session_id,
        role=record.type,
        content=message.get("content"),
        state=state,
        timestamp=seconds(value.get("timestamp")),
        flagged=record.is_summary,
        extra=extra,
    )


# -- what the client itself adds to a request: attachments such as the list of skills, the date, a file's text ---------


def additions_of(
    file: BinaryIO, conversation: SessionMessages, ids: frozenset[int], *, end: bool
) -> Iterator[Addition]:
    """The additions directly before these messages, with `end` also those after the last message, in order."""
    waiting: list[Record] = []
    for record in conversation.thread:
        messages = conversation.of_record(record.uuid)
        if record.type == "attachment" and not messages:
            waiting.append(record)
        elif messages:
            if messages[0] in ids:
                yield from (_addition(file, each, messages[0]) for each in waiting)
            waiting = []
    if end:
        yield from (_addition(file, each, None) for each in waiting)
        if conversation.unfinished:
            yield Addition(None, "results of calls that were not finished", INTERRUPTED, is_sent=False)


def _addition(file: BinaryIO, record: Record, before: int | None) -> Addition:
    value = read_value(file, record) or {}
    attachment = value.get("attachment")
    kind = str(attachment.get("type") or "") if isinstance(attachment, dict) else ""
    text = "\n\n".join(_addition_texts(value.get("rendered")))
    return Addition(
        before, ADDITION_NAMES.get(kind, kind.replace("_", " ")) or "attachment", text or NOT_KEPT, bool(text)
    )


def _addition_texts(rendered: Any) -> Iterator[str]:
    for each in rendered if isinstance(rendered, list) else []:
        content = each.get("content") if isinstance(each, dict) else each
        for block in content if isinstance(content, list) else [content]:
            text = block.get("text") if isinstance(block, dict) else block
            if isinstance(text, str):
                yield text


# -- results that were too long for a line, in files in the session's own directory ------------------------------------


def with_whole_output(shown: HistoryMessage | Handoff, directory: Path) -> HistoryMessage | Handoff:
    """A tool's result with its full text, which the model does not see; anything else as it is."""
    if isinstance(shown, Handoff) or shown.row.role != "tool":
        return shown
    content = _with_saved_output(shown.content, directory)
    if content == shown.content:
        return shown
    return HistoryMessage(replace(shown.entry, shortened=True), replace(shown.row, content=content), content)


def _with_saved_output(content: Any, directory: Path) -> Any:
    """The content, with the full text where it names a file of its own session; any other file is not read."""
    saved = _SAVED_OUTPUT.match(content) if isinstance(content, str) else None
    if saved is None:
        return content
    path = directory / "tool-results" / os.path.basename(saved[1].strip())
    try:
        inside = path.resolve(strict=True).parent == (directory / "tool-results").resolve(strict=True)
        if not inside or not path.is_file():
            return content
        with path.open("rb") as file:
            text = file.read(LONGEST_OUTPUT + 1)
    except (OSError, ValueError, RuntimeError):
        return content
    more = (
        f"\n[{path.stat().st_size - LONGEST_OUTPUT:,} more bytes in {path.name}]" if len(text) > LONGEST_OUTPUT else ""
    )
    return f"{text[:LONGEST_OUTPUT].decode('utf-8', 'replace')}{more}"
