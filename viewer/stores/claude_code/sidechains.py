"""Sub-agents of Claude Code 1.0, which wrote into the file of their session: records marked as a sidechain, each such
conversation a separate tree. Files from later versions are not searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from compaction import messages as chat
from viewer.stores.jsonl.files import FileState, beginning
from viewer.stores.jsonl.lines import decoded
from viewer.stores.jsonl.values import seconds

from .records import Record, object_in

START = 16_384  # bytes at the start of a file in which it names the version that began it
REMEMBERED = 100_000  # files; every listing of a store asks for all of them
_OLD = re.compile(rb'"version":\s*"1\.')
_LINE = re.compile(rb'[^\n]*"isSidechain":\s*true[^\n]*')


@dataclass(frozen=True, slots=True)
class Sidechain:
    """The beginning of a sidechain: the uuid of its first record, its task, and its time (epoch seconds)."""

    uuid: str
    words: str
    began: float


@lru_cache(maxsize=REMEMBERED)
def in_file(path: str, state: FileState) -> dict[str, Sidechain]:
    """The sidechains in a file in this state, in order, by the uuid of the first record. Raises OSError."""
    if not _OLD.search(beginning(path, START)):
        return {}
    sidechains: dict[str, Sidechain] = {}
    inside: set[str] = set()
    for value in _values(beginning(path, state.size)):
        uuid, parent = value.get("uuid"), value.get("parentUuid")
        if not isinstance(uuid, str) or value.get("isSidechain") is not True or uuid in inside:
            continue
        inside.add(uuid)
        if not isinstance(parent, str) or parent not in inside:
            words = chat.said(object_in(value, "message").get("content"))
            sidechains[uuid] = Sidechain(uuid, words, seconds(value.get("timestamp")))
    return sidechains


def _values(data: bytes) -> Iterator[dict[str, Any]]:
    return (value for line in _LINE.finditer(data) if (value := decoded(line[0])) is not None)


def begun(records: Iterable[Record]) -> Iterator[Record]:
    """The first records of all sidechains."""
    inside: set[str] = set()
    for record in records:
        if record.is_sidechain and record.uuid and record.uuid not in inside:
            inside.add(record.uuid)
            if record.parent not in inside:
                yield record


def of(records: Iterable[Record], root: str) -> list[Record]:
    """The records of the sidechain that begins with this one."""
    inside = {root}
    members = []
    for record in records:
        if record.is_sidechain and (record.uuid == root or (record.parent in inside and record.uuid)):
            inside.add(record.uuid)
            members.append(record)
    return members
