"""Messages decoded from rows, rows as they are stored, and what the client adds. Decoding never fails."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from viewer.stores.batches import chunks
from viewer.stores.envelopes import Added, Envelopes
from viewer.stores.message import Addition, StoredMessage

from .records import ANSWERED, MessageRecord, dict_of, object_of, text_of
from .replay import MessageUnit, OpenCodeMessages

ASK = "What did we do so far?"  # the client's words for a compaction's request
CLEARED = "[Old tool result content cleared]"
INTERRUPTED = "[Tool execution was interrupted]"
SUBTASK = "The following tool was executed by the user"
PROMPT = "OpenCode puts its system prompt and its tools before the messages, made anew for each request; not stored."

Rows = Mapping[str, Any]  # `data` of parts and messages by id


def _all_added(text: str, at: int) -> Added | None:
    return Added(len(text)) if at == 0 else None


SYNTHETIC = Envelopes("OpenCode", (_all_added,))  # of a user's message that no person typed


def rows_of(con: sqlite3.Connection, records: Iterable[MessageRecord]) -> dict[str, Any]:
    """The stored `data` of these messages and of their parts, by id."""
    chosen = list(records)
    rows: dict[str, Any] = {}
    for table, ids in (
        ("message", [record.id for record in chosen]),
        ("part", [part.id for record in chosen for part in record.parts]),
    ):
        for some in chunks(ids):
            slots = ", ".join("?" * len(some))
            rows.update(con.execute(f"SELECT id, data FROM {table} WHERE id IN ({slots})", some).fetchall())
    return rows


def message_of(
    rows: Rows, messages: OpenCodeMessages, unit: MessageUnit, session_id: str, *, sent: bool = False
) -> StoredMessage:
    """A message as stored, or, with `sent`, as a model is sent it."""
    if unit.part is not None:
        return _result(rows, messages, unit, session_id, sent=sent)
    record = unit.record
    data = object_of(rows.get(record.id)) or {}
    parts = [object_of(rows.get(part.id)) or {} for part in record.parts if part.is_content]
    extra = {} if record.is_sent else {"left out": "no model is sent it"}
    if record.error:
        extra["error"] = json.dumps(data.get("error"))
    notes = notes_of(rows, record)
    content: Any
    if not record.is_known:
        content = _content([_block(part) for part in parts]) if parts else str(rows.get(record.id) or "")
    elif record.role == "user":
        content = _content([_block(part) for part in parts if record.is_added or not part.get("synthetic")])
    else:
        content = _content([_block(part) for part in parts if part.get("type") != "reasoning"])
    calls = [object_of(rows.get(part.id)) or {} for part in record.parts if part.type == "tool"]
    return StoredMessage(
        id=unit.id,
        session_id=session_id,
        role=record.role,
        content=content,
        state=messages.state_of(unit),
        timestamp=record.time,
        tool_calls=[_call(each) for each in calls],
        reasoning="\n\n".join(text_of(part.get("text")) for part in parts if part.get("type") == "reasoning"),
        finish_reason=record.finish.replace("-", "_"),
        flagged=unit.is_summary,
        extra=extra,
        notes=notes,
        envelopes=SYNTHETIC if record.is_added else None,
    )


def notes_of(rows: Rows, record: MessageRecord) -> tuple[str, ...]:
    """The texts that the client put into a person's message, such as the content of a file that is named in it."""
    if record.role != "user" or record.is_added:
        return ()
    parts = [object_of(rows.get(part.id)) or {} for part in record.parts if part.is_content and not part.is_typed]
    return tuple(text_of(part.get("text")) for part in parts if part.get("type") == "text")


def _result(rows: Rows, messages: OpenCodeMessages, unit: MessageUnit, session_id: str, *, sent: bool) -> StoredMessage:
    """The result of a call."""
    assert unit.part is not None
    data = object_of(rows.get(unit.part.id)) or {}
    state = dict_of(data.get("state"))
    metadata = dict_of(state.get("metadata"))
    is_error = unit.part.status == "error"
    content: Any = text_of(state.get("error")) if is_error else text_of(state.get("output"))
    pictures = state.get("attachments")
    if unit.part.is_cleared and not is_error and sent:
        content = CLEARED
    elif isinstance(pictures, list) and pictures:
        content = [{"type": "text", "text": content}, *map(_block, map(dict_of, pictures))]
    failed = is_error or metadata.get("exit") not in (None, 0)
    child = text_of(metadata.get("sessionId"))
    return StoredMessage(
        id=unit.id,
        session_id=session_id,
        role="tool",
        content=content,
        state=messages.state_of(unit),
        timestamp=unit.time,
        tool_call_id=unit.part.call,
        tool_name=text_of(data.get("tool")),
        extra=({"is_error": True} if failed else {}) | ({"cleared": CLEARED} if unit.part.is_cleared else {}),
        sub_agents=(child,) if data.get("tool") == "task" and child else (),
        diff=text_of(metadata.get("diff")),
    )


def _content(blocks: Sequence[Any]) -> Any:
    """Text where there is nothing but one text, else the blocks."""
    if not blocks:
        return ""
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].get("type") == "text" else list(blocks)


def _block(part: dict[str, Any]) -> dict[str, Any]:
    kind, url = part.get("type"), part.get("url")
    if kind == "subtask":
        return {"type": "text", "text": SUBTASK}
    if kind == "file" and isinstance(url, str) and text_of(part.get("mime")).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return part if kind == "file" else {"type": "text", "text": text_of(part.get("text"))}


def _call(part: dict[str, Any]) -> dict[str, Any]:
    """A call in OpenAI's chat shape."""
    value = dict_of(part.get("state")).get("input")
    arguments = value if isinstance(value, str) else json.dumps({} if value is None else value, ensure_ascii=False)
    name = text_of(part.get("tool"))
    return {"id": part.get("callID"), "type": "function", "function": {"name": name, "arguments": arguments}}


# -- rows as they are stored -------------------------------------------------------------------------------------------


def raw_rows(rows: Rows, messages: OpenCodeMessages, record: MessageRecord, session_id: str) -> Iterator[StoredMessage]:
    """A message's row with its parts, then the rows of its calls with results: what is no text is in `extra`."""
    data = object_of(rows.get(record.id)) or {}
    extra = {"id": record.id} | {name: value for name, value in data.items() if name != "role" and value is not None}
    others = [part for part in record.parts if part.type != "text" and not part.is_answered]
    extra |= {f"part {part.id}": object_of(rows.get(part.id)) or rows.get(part.id) for part in others}
    message = message_of(rows, messages, MessageUnit(record.number, record, is_summary=record.is_flagged), session_id)
    yield replace(message, tool_calls=[], reasoning="", notes=(), envelopes=None, extra=extra)
    for number, part in record.results:
        result = message_of(rows, messages, MessageUnit(number, record, part), session_id)
        state = dict_of((object_of(rows.get(part.id)) or {}).get("state"))
        stored = {name: value for name, value in state.items() if name not in ("output", "error")}
        yield replace(result, extra={"id": part.id, "state": stored})


# -- what the client adds ----------------------------------------------------------------------------------------------


def additions(rows: Rows, messages: OpenCodeMessages, ids: frozenset[int], *, end: bool) -> Iterator[Addition]:
    """What the client itself puts directly before these messages of the context, with `end` also after the last one."""
    waiting = [Addition(None, "system prompt", PROMPT, is_sent=False)]
    for record in messages.context:
        if record.asks_summary:
            waiting.append(Addition(None, "question for a summary", ASK, is_sent=True))
        for each in (record.number, *(number for number, _ in record.results)):
            if each in messages.units and messages.is_sent(each):
                if each in ids:
                    yield from (Addition(each, one.name, one.text, one.is_sent) for one in waiting)
                waiting = []
        if record.is_sent:
            waiting += [Addition(None, "added by OpenCode", note, is_sent=True) for note in notes_of(rows, record)]
            calls = [part for part in record.parts if part.type == "tool" and part.status not in ANSWERED]
            waiting += [Addition(None, f"result of {part.call}", INTERRUPTED, is_sent=True) for part in calls]
    if end:
        yield from waiting
