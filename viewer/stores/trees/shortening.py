"""Entries that shorten messages in pi's file: a note, followed by an edit for each message. The client sends the edit's
content instead of the message, which stays unchanged in the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viewer.stores.changes import ChangeMessage, Edit, InsertMessage, Json, around_handoff
from viewer.stores.errors import CompactionConflict

from . import codec, encode, plan
from .codec import EntrySource
from .messages import EntryMessages
from .records import TreeEntry

GONE = "A message that was to be shortened cannot be read, or not as a whole. Nothing was written. Choose a summary."


def is_asked_for(edits: Sequence[Edit]) -> bool:
    """Whether these edits shorten messages in place, and do not put a summary before them."""
    return any(isinstance(edit, ChangeMessage) and edit.why == "shortened" for edit in edits)


@dataclass(frozen=True, slots=True)
class Shortening:
    """The text of the note, and the new contents by message; None leaves a message out, which is an earlier note."""

    note: str
    contents: Mapping[int, Any]

    def entries(
        self, messages: EntryMessages, ids: Iterator[str], parent: str | None, mark: str, now: float
    ) -> list[Json]:
        """The note with this `parent`, and the edits after it, under the first of these ids."""
        new = [encode.note(self.note, next(ids), parent, mark, now)]
        for each, content in self.contents.items():
            target = plan.entry_id(messages, each)
            new.append(encode.edit(target, content, next(ids), new[-1]["id"], mark, now))
        return new


def planned_shortening(
    source: EntrySource, messages: EntryMessages, ids: Sequence[int], edits: Sequence[Edit]
) -> Shortening:
    """What the edits of a plan mean for these messages. Raises CompactionConflict."""
    _, note, _ = around_handoff(edits)
    named = {edit.id for edit in edits if not isinstance(edit, InsertMessage)}
    contents: dict[int, Any] = {each: None for each in ids if each not in named and messages.units[each].is_note}
    for edit in edits:
        if isinstance(edit, ChangeMessage) and edit.why == "shortened":
            contents[edit.id] = _content(source, messages.units[edit.id], edit.changes)
    return Shortening(plan.text_of(note), contents)


def _content(source: EntrySource, unit: TreeEntry, changes: Mapping[str, Any]) -> Any:
    """A message's stored content with these changes. Raises CompactionConflict."""
    value = source.value(unit)
    if value is None or unit.is_cut:
        raise CompactionConflict(GONE)
    stored = codec.stored_content(value, unit)
    if "content" in changes:
        stored = _client_content(changes["content"], stored)
    calls = {call.get("id"): call["function"]["arguments"] for call in changes.get("tool_calls", ())}
    return [_called(part, calls) for part in stored] if calls and isinstance(stored, list) else stored


def _client_content(new: Any, stored: Any) -> list[Any]:
    """A content in the client's form; parts with unchanged text stay as they are stored."""
    if isinstance(new, str):
        return [{"type": "text", "text": new}]
    same = stored if isinstance(stored, list) and len(stored) == len(new) else new
    return [old if codec.part_of(old) == part else part for part, old in zip(new, same, strict=True)]


def _called(part: Any, calls: Mapping[Any, str]) -> Any:
    """A part of a reply, with the arguments of its call from `calls`."""
    if not isinstance(part, dict) or part.get("type") != "toolCall" or part.get("id") not in calls:
        return part
    return {**part, "arguments": json.loads(calls[part["id"]])}
