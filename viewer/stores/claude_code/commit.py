"""Writing a compaction at a session's end, and finding one again that was written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, BinaryIO
from uuid import uuid4

from compaction.handoff import PRUNED
from viewer.stores.base import Store
from viewer.stores.changes import Commit, Edit, Json, edits_to_json
from viewer.stores.errors import CompactionConflict
from viewer.stores.jsonl.append import Appending, blank
from viewer.stores.message import row_tokens
from viewer.usage import counting

from . import codec, encode, paths, usage
from .facts import facts_of
from .messages import SessionMessages, messages_of
from .paths import SessionFile
from .plan import Changed, Layout, layout_of, planned_records
from .records import COPY, Record
from .schema import MARK


def mark_of(token: Json, edits: Sequence[Edit]) -> str:
    """The mark by which a commit of these edits is found again."""
    return blake2b(repr([token["digest"], edits_to_json(edits)]).encode(), digest_size=16).hexdigest()


def commit(
    store: Store, file: SessionFile, opened: Appending, token: Json, edits: Sequence[Edit], *, now: float
) -> Commit:
    """Append copies of what changes, the boundary and the summary; read it back. Raises CompactionConflict: then
    nothing that was written counts.
    """
    file, state = paths.find(store, file.id), opened.state
    conversation = messages_of(file)
    with file.path.open("rb") as reading:
        planned = planned_records(file, reading, conversation, token)
        layout, copies = _with_copies(reading, conversation, layout_of(conversation, planned, edits))
        last = codec.read_value(reading, conversation.thread[-1]) or {}
        tokens = _tokens(file, reading, conversation, layout)
    summarised = len(set(conversation.live) - set(_kept_ids(conversation, layout)))
    mark = mark_of(token, edits)
    facts = {
        "preTokens": tokens[0],
        "postTokens": tokens[1],
        "messagesSummarized": summarised,
        MARK: {"id": mark, "copies": [value["uuid"] for value in copies]},
    }
    # Until the boundary is there, the thread must end where it did, and not at a copy or the summary.
    first = encode.encoded([encode.end_of_thread(last, last["uuid"]), *copies])
    data = first + encode.encoded(encode.compaction(layout, last, facts=facts, now=now))
    start = opened.append(data, state, switch=len(first))
    with opened.taken_back({start: data}, {start + len(first): b" ", start: blank(data)}):
        return _read_back(messages_of(paths.find(store, file.id)), layout, mark)


def _read_back(conversation: SessionMessages, layout: Layout, mark: str) -> Commit:
    boundary = newest_of(conversation, mark)
    thread_uuids = [record.uuid for record in conversation.thread if record.uuid in {*layout.head, *layout.tail}]
    if boundary is None or thread_uuids != [*layout.head, *layout.tail]:
        raise CompactionConflict(
            "What was written did not read back as it was meant, and was taken back. Please report this session."
        )
    return commit_of(conversation, boundary)


def newest_of(conversation: SessionMessages, mark: str) -> Record | None:
    """The boundary with this mark, if it is in effect."""
    marked = (conversation.tree.nodes[uuid] for uuid in reversed(conversation.tree.boundaries))
    return next((record for record in marked if record.boundary and record.boundary.mark == mark), None)


def commit_of(conversation: SessionMessages, boundary: Record, at: float | None = None) -> Commit:
    """A commit as it is in the file."""
    compacted = next(each for each in conversation.compactions if each.record.uuid == boundary.uuid)
    receipt = {"handoff": compacted.handoff, "boundary": boundary.uuid, "before": list(compacted.before)}
    return Commit(compacted.handoff, conversation.tree.offset(boundary.uuid), compacted.handoff, receipt, at=at)


# -- messages that change ----------------------------------------------------------------------------------------------


def _with_copies(
    reading: BinaryIO, conversation: SessionMessages, layout: Layout
) -> tuple[Layout, list[dict[str, Any]]]:
    """The layout with copies in place of what changes, and the lines of the copies."""
    copies: list[dict[str, Any]] = []

    def placed(each: str | Changed) -> list[str | Changed]:
        if isinstance(each, str):
            return [each]
        copied = _copies(reading, conversation, each)
        copies.extend(copied)
        return [value["uuid"] for value in copied]

    head = [uuid for each in layout.head for uuid in placed(each)]
    tail = [uuid for each in layout.tail for uuid in placed(each)]
    return replace(layout, head=head, tail=tail), copies


def _copies(reading: BinaryIO, conversation: SessionMessages, changed: Changed) -> list[dict[str, Any]]:
    """The lines of a message with other words, under new ids, because the client treats equal ids as one."""
    original = conversation.units[changed.id]
    values = [codec.read_value(reading, conversation.tree.nodes[uuid]) for uuid in original.uuids]
    response, new_lines = f"msg_{uuid4().hex}", []
    for value in values:
        if value is None:
            raise CompactionConflict("A message that was to be shortened cannot be read any more. Plan again.")
        message = dict(value["message"])
        if original.role == "assistant":
            message["id"] = response
        new_lines.append({**value, "uuid": str(uuid4()), "message": message, COPY: value["uuid"]})
    change = _changed_line(original.role, original.piece.at, changed.changes)
    return [each for each in map(change, new_lines) if each is not None]


def _changed_line(role: str, at: int, changes: dict[str, Any]) -> Any:
    """A function that makes the changes of one message to a line of it."""
    calls = {call["id"]: call for call in changes.get("tool_calls") or []}

    def change(value: dict[str, Any]) -> dict[str, Any] | None:
        message, content = value["message"], value["message"].get("content")
        if role == "tool":
            result = {**content[at], "content": changes.get("content", content[at].get("content"))}
            blocks = [result if number == at else block for number, block in enumerate(content)]
            return {**value, "message": {**message, "content": blocks}} | _without_copy(value)
        if role == "assistant":
            blocks = [_changed_call(block, calls) for block in content] if isinstance(content, list) else content
            return {**value, "message": {**message, "content": blocks}}
        return {**value, "message": {**message, "content": changes.get("content", content)}}

    return change


def _without_copy(value: dict[str, Any]) -> dict[str, Any]:
    """The client keeps a result a second time next to the message: it would be as long as before."""
    return {"toolUseResult": PRUNED} if "toolUseResult" in value else {}


def _changed_call(block: Any, calls: dict[str, Any]) -> Any:
    if not isinstance(block, dict) or block.get("type") != "tool_use" or block.get("id") not in calls:
        return block
    return {**block, "input": json.loads(calls[block["id"]]["function"]["arguments"])}


# -- numbers of the boundary -------------------------------------------------------------------------------------------


def _kept_ids(conversation: SessionMessages, layout: Layout) -> list[int]:
    return [each for uuid in (*layout.head, *layout.tail) for each in conversation.of_record(str(uuid))]


def _tokens(file: SessionFile, reading: BinaryIO, conversation: SessionMessages, layout: Layout) -> tuple[int, int]:
    """Tokens in context before and after: what the last response reported, or else an own count."""
    count = counting.counter_for(facts_of(file).model)
    rows = {
        each: codec.message_of(reading, conversation, conversation.units[each], file.id) for each in conversation.live
    }
    counted = {each: row_tokens(row, count) for each, row in rows.items()}
    reported = usage.tokens_in_context(conversation.thread)
    kept_tokens = sum(counted[each] for each in set(_kept_ids(conversation, layout)) if each in counted)
    return reported or sum(counted.values()), kept_tokens + count(str(layout.handoff))
