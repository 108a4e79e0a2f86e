"""What a compaction of a session is planned on, and what a commit makes of its edits: which records stay, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO

from viewer.stores.changes import ChangeMessage, Edit, InsertMessage, Json, KeepMessage, around_handoff
from viewer.stores.errors import CompactionConflict

from .messages import SessionMessages
from .paths import SessionFile
from .records import Record


def token_of(file: SessionFile, opened: BinaryIO, conversation: SessionMessages) -> Json:
    """The token of a basis: the file, the records of the thread and a digest of their lines."""
    records = conversation.thread
    return {
        "file": [file.state.device, file.state.inode],
        "thread": [record.uuid for record in records],
        "digest": _digest(opened, records),
    }


def _digest(opened: BinaryIO, records: Sequence[Record]) -> str:
    digest = blake2b(digest_size=16)
    for record in records:
        opened.seek(record.offset)
        digest.update(opened.read(record.length) + b"\n")
    return digest.hexdigest()


def planned_records(file: SessionFile, opened: BinaryIO, conversation: SessionMessages, token: Json) -> list[Record]:
    """The planned records, if the thread still begins with them. Raises CompactionConflict."""
    if [file.state.device, file.state.inode] != token["file"]:
        raise CompactionConflict("The session's file was replaced since this summary was made. Plan again.")
    records = conversation.thread[: len(token["thread"])]
    same = [record.uuid for record in records] == token["thread"] and _digest(opened, records) == token["digest"]
    if not same:
        raise CompactionConflict(
            "Messages this summary was made from were changed or taken back since. Nothing was written and the summary "
            "is kept. Plan again."
        )
    return records


@dataclass(frozen=True, slots=True)
class Changed:
    """A message that stays with other words: its records are copied with new ids."""

    id: int
    changes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """The context that edits make: records before and after the handoff, by uuid, or messages that change."""

    head: list[str | Changed]
    handoff: Any
    tail: list[str | Changed]


def layout_of(conversation: SessionMessages, planned: Sequence[Record], edits: Sequence[Edit]) -> Layout:
    """The context that the edits of a plan make of the current thread; what was added since stays at the end."""
    before, content, after = around_handoff(edits)
    tail = _tail(conversation, planned, after)
    later = [record.uuid for record in conversation.thread[len(planned) :]]
    if not later and planned and (not tail or tail[-1] != planned[-1].uuid):
        tail.append(planned[-1].uuid)  # the client needs the thread's last record, whatever it is
    return Layout(_head(conversation, planned, before), content, [*tail, *later])


def _head(conversation: SessionMessages, planned: Sequence[Record], edits: Sequence[Edit]) -> list[str | Changed]:
    items: list[str | Changed] = []
    for edit in edits:
        items += _records_of(conversation, planned, edit)
    return items


def _tail(conversation: SessionMessages, planned: Sequence[Record], edits: Sequence[Edit]) -> list[str | Changed]:
    """The messages that stay, with everything that the client wrote between and after them."""
    named = {edit.id: edit for edit in edits if not isinstance(edit, InsertMessage)}
    items: list[str | Changed] = []
    begun, done = False, set[int]()
    for record in planned:
        ids = conversation.of_record(record.uuid)
        staying = [each for each in ids if each in named]
        begun = begun or bool(staying)
        if not ids and begun:
            items.append(record.uuid)
        elif any(isinstance(named[each], ChangeMessage) for each in staying):
            items += [
                Changed(each, dict(edit.changes))
                for each in staying
                if each not in done and isinstance(edit := named[each], ChangeMessage)
            ]
        elif staying:
            items.append(record.uuid)
        done.update(staying)
    return items


def _records_of(conversation: SessionMessages, planned: Sequence[Record], edit: Edit) -> list[str | Changed]:
    if isinstance(edit, ChangeMessage):
        return [Changed(edit.id, dict(edit.changes))]
    assert isinstance(edit, KeepMessage)
    return [record.uuid for record in planned if edit.id in conversation.of_record(record.uuid)]
