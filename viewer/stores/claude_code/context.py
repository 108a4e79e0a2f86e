"""What a compaction of a session is planned on, and what a commit makes of its edits: which records stay, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, BinaryIO

from viewer.stores.changes import ChangeMessage, Edit, InsertMessage, Json, KeepMessage, around_handoff
from viewer.stores.errors import CompactionConflict

from .places import SessionFile
from .records import Record
from .transcript import SessionMessages


def token_of(file: SessionFile, opened: BinaryIO, found: SessionMessages) -> Json:
    """The token of a basis: the file, the records of the thread and a digest of their lines."""
    records = found.thread
    return {
        "file": [file.state.device, file.state.inode],
        "thread": [record.uuid for record in records],
        "digest": _digest(opened, records),
    }


def _digest(opened: BinaryIO, records: Sequence[Record]) -> str:
    said = blake2b(digest_size=16)
    for record in records:
        opened.seek(record.offset)
        said.update(opened.read(record.length) + b"\n")
    return said.hexdigest()


def planned_records(file: SessionFile, opened: BinaryIO, found: SessionMessages, token: Json) -> list[Record]:
    """The records that were planned on, which the thread still begins with. Raises CompactionConflict."""
    if [file.state.device, file.state.inode] != token["file"]:
        raise CompactionConflict("The session's file was replaced since this summary was made. Plan again.")
    records = found.thread[: len(token["thread"])]
    same = [record.uuid for record in records] == token["thread"] and _digest(opened, records) == token["digest"]
    if not same:
        raise CompactionConflict(
            "Messages this summary was made from were changed or taken back since. Nothing was written and the summary "
            "is kept. Plan again."
        )
    return records


@dataclass(frozen=True, slots=True)
class Changed:
    """A message that stays with other words: its records are copied with ids of their own."""

    id: int
    changes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """The context that edits make: records before and behind the handoff, by uuid, or messages that change."""

    head: list[str | Changed]
    handoff: Any
    tail: list[str | Changed]


def layout_of(found: SessionMessages, planned: Sequence[Record], edits: Sequence[Edit]) -> Layout:
    """What the edits of a plan make of the thread as it is now; what came since stays at the end."""
    before, content, after = around_handoff(edits)
    tail = _tail(found, planned, after)
    later = [record.uuid for record in found.thread[len(planned) :]]
    if not later and planned and (not tail or tail[-1] != planned[-1].uuid):
        tail.append(planned[-1].uuid)  # the client needs the thread's last record, whatever it is
    return Layout(_head(found, planned, before), content, [*tail, *later])


def _head(found: SessionMessages, planned: Sequence[Record], edits: Sequence[Edit]) -> list[str | Changed]:
    kept: list[str | Changed] = []
    for edit in edits:
        kept += _records_of(found, planned, edit)
    return kept


def _tail(found: SessionMessages, planned: Sequence[Record], edits: Sequence[Edit]) -> list[str | Changed]:
    """The messages that stay, with whatever the client wrote between and behind them."""
    named = {edit.id: edit for edit in edits if not isinstance(edit, InsertMessage)}
    kept: list[str | Changed] = []
    begun, done = False, set[int]()
    for record in planned:
        ids = found.of_record(record.uuid)
        staying = [each for each in ids if each in named]
        begun = begun or bool(staying)
        if not ids and begun:
            kept.append(record.uuid)
        elif any(isinstance(named[each], ChangeMessage) for each in staying):
            kept += [
                Changed(each, dict(edit.changes))
                for each in staying
                if each not in done and isinstance(edit := named[each], ChangeMessage)
            ]
        elif staying:
            kept.append(record.uuid)
        done.update(staying)
    return kept


def _records_of(found: SessionMessages, planned: Sequence[Record], edit: Edit) -> list[str | Changed]:
    if isinstance(edit, ChangeMessage):
        return [Changed(edit.id, dict(edit.changes))]
    assert isinstance(edit, KeepMessage)
    return [record.uuid for record in planned if edit.id in found.of_record(record.uuid)]
