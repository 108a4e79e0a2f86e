"""The lines that a compaction, its undo and a branch write. `docs/claude-code.md` explains the fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from .plan import Layout
from .records import object_in
from .schema import BOUNDARY, MARK

# The fields of a record that say in which session and by which client it was written.
SURROUNDINGS = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
NOTE = {
    "type": "system", "subtype": "informational", "content": "Compaction undone", "level": "info", "isMeta": False,
}  # fmt: skip


def encoded(values: Sequence[Mapping[str, Any]]) -> bytes:
    """Lines of a file. Lone surrogates stay escaped."""
    return b"".join(json.dumps(value, separators=(",", ":")).encode() + b"\n" for value in values)


def stamp(now: float) -> str:
    """A time as the client writes it."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def surroundings(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in SURROUNDINGS if name in value}


def compaction(
    layout: Layout, last: Mapping[str, Any], *, facts: Mapping[str, Any], now: float
) -> list[dict[str, Any]]:
    """Boundary and summary. `layout` contains no messages that still have to change, `last` is the record that the
    thread ended with; `facts` are extra fields of the boundary.
    """
    boundary_id, summary = str(uuid4()), str(uuid4())
    head, tail = [str(each) for each in layout.head], [str(each) for each in layout.tail]
    uuids, anchor = ([*head, summary, *tail], boundary_id) if head else (tail, summary)
    kept_fields: dict[str, Any] = {"preservedMessages": {"anchorUuid": anchor, "uuids": uuids, "allUuids": uuids}}
    if not head:
        kept_fields["preservedSegment"] = {"headUuid": tail[0], "anchorUuid": summary, "tailUuid": tail[-1]}
    common = {"isSidechain": False, "timestamp": stamp(now), **surroundings(last)}
    links = {"parentUuid": None, "logicalParentUuid": last["uuid"]}
    first = links | boundary(boundary_id, stamp(now), {**facts, **kept_fields}, last)
    second = {
        "parentUuid": boundary_id,
        "type": "user",
        "message": {"role": "user", "content": layout.handoff},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
        "uuid": summary,
        **common,
    }
    return [first, second]


def boundary(uuid: str, timestamp: str, metadata: Mapping[str, Any], last: Mapping[str, Any]) -> dict[str, Any]:
    """The record that begins a compaction, without its links. `last` is the record whose directory and version it
    takes over.
    """
    return {
        "type": "system",
        "subtype": BOUNDARY,
        "content": "Conversation compacted",
        "isMeta": False,
        "uuid": uuid,
        "level": "info",
        "compactMetadata": {"trigger": "manual", **metadata},
        "isSidechain": False,
        "timestamp": timestamp,
        **surroundings(last),
    }


def undone(
    boundary: Mapping[str, Any], records: Sequence[str], parent: str, leaf: str, now: float
) -> list[dict[str, Any]]:
    """The end of the thread, and the `records` of a compaction, boundary first, once more as notes with the `parent`,
    "" for none: for a uuid the last line counts.
    """
    around = {"isSidechain": False, "timestamp": stamp(now), **surroundings(boundary)}
    parents = [parent or None, *records]
    notes = [{**NOTE, "uuid": uuid, "parentUuid": each, **around} for uuid, each in zip(records, parents, strict=False)]
    return [end_of_thread(boundary, leaf), *notes]


def end_of_thread(value: Mapping[str, Any], leaf: str) -> dict[str, Any]:
    """A line which says that the thread ends with `leaf`, in the session of this record."""
    return {"type": "last-prompt", "leafUuid": leaf, "sessionId": value.get("sessionId", "")}


def copies_of(boundary: Mapping[str, Any]) -> list[str]:
    """The records that a compaction of ours wrote in place of messages that it shortened."""
    uuids = object_in(object_in(boundary, "compactMetadata"), MARK).get("copies")
    return [uuid for uuid in uuids if isinstance(uuid, str)] if isinstance(uuids, list) else []


def title(session_id: str, text: str) -> dict[str, Any]:
    """A name that a person gave."""
    return {"type": "custom-title", "customTitle": text, "sessionId": session_id}
