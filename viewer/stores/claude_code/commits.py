"""Writing a compaction behind a session's end, and finding one again that was written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, BinaryIO
from uuid import uuid4

from compaction.handoff import PRUNED
from viewer.stores import counting
from viewer.stores.base import Store
from viewer.stores.changes import Commit, Edit, Json, edits_to_json
from viewer.stores.errors import CompactionConflict
from viewer.stores.jsonl.append import Appending, blank

from . import codec, conversations, lines, places, usage
from .context import Changed, Layout, layout_of, planned_records
from .facts import facts_of
from .forms import MARK
from .places import SessionFile
from .records import COPY, Record
from .transcript import SessionMessages


def mark_of(token: Json, edits: Sequence[Edit]) -> str:
    """What a commit of these edits is known by."""
    return blake2b(repr([token["digest"], edits_to_json(edits)]).encode(), digest_size=16).hexdigest()


def commit(
    store: Store, file: SessionFile, opened: Appending, token: Json, edits: Sequence[Edit], *, now: float
) -> Commit:
    """Append copies of what changes, the boundary and the summary; read it back. Raises CompactionConflict: nothing
    counts then of what was written.
    """
    file, seen = places.find(store, file.id), opened.state
    found = conversations.of(file)
    with file.path.open("rb") as reading:
        planned = planned_records(file, reading, found, token)
        layout, copies = _with_copies(reading, found, layout_of(found, planned, edits))
        last = codec.read_value(reading, found.thread[-1]) or {}
        tokens = _tokens(file, reading, found, layout)
    summarised = len(set(found.live) - set(_kept_ids(found, layout)))
    mark = mark_of(token, edits)
    facts = {
        "preTokens": tokens[0],
        "postTokens": tokens[1],
        "messagesSummarized": summarised,
        MARK: {"id": mark, "copies": [value["uuid"] for value in copies]},
    }
    # Until the boundary is there, the thread ends where it did, and not at a copy or the summary.
    first = lines.encoded([lines.end_of_thread(last, last["uuid"]), *copies])
    data = first + lines.encoded(lines.compaction(layout, last, facts=facts, now=now))
    start = opened.append(data, seen, switch=len(first))
    with opened.taken_back({start: data}, {start + len(first): b" ", start: blank(data)}):
        return _read_back(conversations.of(places.find(store, file.id)), layout, mark)


def _read_back(found: SessionMessages, layout: Layout, mark: str) -> Commit:
    boundary = newest_of(found, mark)
    made = [record.uuid for record in found.thread if record.uuid in {*layout.head, *layout.tail}]
    if boundary is None or made != [*layout.head, *layout.tail]:
        raise CompactionConflict(
            "What was written did not read back as it was meant, and was taken back. Please report this session."
        )
    return commit_of(found, boundary)


def newest_of(found: SessionMessages, mark: str) -> Record | None:
    """The boundary with this mark that is in effect."""
    marked = (found.tree.nodes[uuid] for uuid in reversed(found.tree.boundaries))
    return next((record for record in marked if record.boundary and record.boundary.mark == mark), None)


def commit_of(found: SessionMessages, boundary: Record, at: float | None = None) -> Commit:
    """A commit as it is in the file."""
    compacted = next(each for each in found.boundaries if each.record.uuid == boundary.uuid)
    receipt = {"handoff": compacted.handoff, "boundary": boundary.uuid, "before": list(compacted.before)}
    return Commit(compacted.handoff, found.tree.offset(boundary.uuid), compacted.handoff, receipt, at=at)


# -- messages that change ----------------------------------------------------------------------------------------------


def _with_copies(reading: BinaryIO, found: SessionMessages, layout: Layout) -> tuple[Layout, list[dict[str, Any]]]:
    """The layout with copies in place of what changes, and the lines of the copies."""
    copies: list[dict[str, Any]] = []

    def placed(each: str | Changed) -> list[str | Changed]:
        if isinstance(each, str):
            return [each]
        made = _copies(reading, found, each)
        copies.extend(made)
        return [value["uuid"] for value in made]

    head = [uuid for each in layout.head for uuid in placed(each)]
    tail = [uuid for each in layout.tail for uuid in placed(each)]
    return replace(layout, head=head, tail=tail), copies


def _copies(reading: BinaryIO, found: SessionMessages, changed: Changed) -> list[dict[str, Any]]:
    """The lines of a message with other words, under ids of their own: the client takes equal ones for one."""
    unit = found.units[changed.id]
    values = [codec.read_value(reading, found.tree.nodes[uuid]) for uuid in unit.uuids]
    response, made = f"msg_{uuid4().hex}", []
    for value in values:
        if value is None:
            raise CompactionConflict("A message that was to be shortened cannot be read any more. Plan again.")
        message = dict(value["message"])
        if unit.role == "assistant":
            message["id"] = response
        made.append({**value, "uuid": str(uuid4()), "message": message, COPY: value["uuid"]})
    return [each for each in map(_changed_line(unit.role, unit.piece.at, changed.changes), made) if each is not None]


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
    """The client keeps a result once more beside the message: it would be as long as before."""
    return {"toolUseResult": PRUNED} if "toolUseResult" in value else {}


def _changed_call(block: Any, calls: dict[str, Any]) -> Any:
    if not isinstance(block, dict) or block.get("type") != "tool_use" or block.get("id") not in calls:
        return block
    return {**block, "input": json.loads(calls[block["id"]]["function"]["arguments"])}


# -- numbers of the boundary -------------------------------------------------------------------------------------------


def _kept_ids(found: SessionMessages, layout: Layout) -> list[int]:
    return [each for uuid in (*layout.head, *layout.tail) for each in found.of_record(str(uuid))]


def _tokens(file: SessionFile, reading: BinaryIO, found: SessionMessages, layout: Layout) -> tuple[int, int]:
    """Tokens in context before and after: what the last response reported, or else as they are counted here."""
    count = counting.counter_for(facts_of(file).model)
    rows = {each: codec.message_of(reading, found, found.units[each], file.id) for each in found.live}
    counted = {each: counting.row_tokens(row, count) for each, row in rows.items()}
    reported = usage.tokens_in_context(found.thread)
    kept = sum(counted[each] for each in set(_kept_ids(found, layout)) if each in counted)
    return reported or sum(counted.values()), kept + count(str(layout.handoff))
