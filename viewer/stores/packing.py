"""Making indexes: from messages and boundaries, from an index and appended rows, and from stored bytes."""

from __future__ import annotations

import json
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, Protocol
from zlib import crc32

from compaction import messages as engine
from viewer.stores.message import BOOKKEEPING_ROLES, State

from .transcript import (
    ANSWER,
    AWAY,
    LIVE,
    LOST,
    NONE,
    OUT,
    PROMPT,
    RESULT,
    SENT,
    SHORTENED,
    TWICE,
    UNDER,
    UNLINKED,
    Boundary,
    HistoryEntry,
    SeveralSources,
    TranscriptIndex,
)

VERSION = 20  # of the bytes and of how History is read from rows; other versions are not read
_HEAD = b"palimpsest outline"  # this and the key "cuts" keep their old names, so that stored indexes stay readable
_STATES = {"live": LIVE, "under": UNDER, "out": OUT, "lost": LOST}


class IndexRow(Protocol):
    """What an index needs to know of a row. `size` in bytes, `time` in epoch seconds."""

    @property
    def id(self) -> int: ...
    @property
    def role(self) -> str: ...
    @property
    def state(self) -> State: ...
    @property
    def time(self) -> float: ...
    @property
    def size(self) -> int: ...
    @property
    def is_prompt(self) -> bool:
        """Whether a person asks something in it."""

    @property
    def is_plain(self) -> bool:
        """Whether it adds one message to History, and changes nothing else, when it is appended."""


class BoundaryIds(NamedTuple):
    """A `Boundary` before it has a place in an index."""

    handoff_id: int
    time: float | None
    block_ids: tuple[int, ...]
    before_ids: tuple[int, ...]
    cut_id: int | None
    copies: tuple[tuple[int, int], ...]  # (copy row, row it was copied from) within the generation before
    summarised_ids: tuple[int, ...]
    kept_ids: tuple[int, ...]
    shortened_ids: tuple[int, ...]
    run: int | None = None
    unsure: bool = False


class HistoryParts(NamedTuple):
    """What an index is made of: messages, each once, and boundaries, oldest first. `message_of` has the message of
    every shown row.

    `settled` says that an appended live row, later than all others and without a handoff, is certainly a new message:
    there is no unfinished compaction of which it might be a copy.
    """

    messages: Sequence[HistoryEntry]
    boundaries: Sequence[BoundaryIds]
    message_of: Mapping[int, int]
    settled: bool


def pack(parts: HistoryParts, rows: Sequence[IndexRow]) -> TranscriptIndex:
    """The index of these messages and boundaries, with nothing counted. `rows` are all rows, in order of their ids."""
    number = {row.id: at for at, row in enumerate(rows)}
    entries = sorted(parts.messages, key=lambda entry: entry.id)
    place_of = {entry.id: place for place, entry in enumerate(entries)}
    places = array("i", [NONE]) * len(rows)
    for row_id, message in parts.message_of.items():
        places[number[row_id]] = place_of[message]
    ids = array("q", [row.id for row in rows])
    records = {row.id for row in rows if row.role in BOOKKEEPING_ROLES}
    return TranscriptIndex(
        ids=ids,
        flags=bytes(map(_row_flags, rows)),
        sizes=array("i", [min(row.size, 2**31 - 1) for row in rows]),
        places=places,
        tokens=array("i", [NONE]) * len(rows),
        first=array("i", [number[entry.id] for entry in entries]),
        kinds=bytes(_kind(entry, rows[number[entry.full_id]]) for entry in entries),
        several=_several(entries, number),
        boundaries=tuple(_boundary(each, ids, number, list(place_of), records) for each in parts.boundaries),
        settled=parts.settled,
        newest_time=max((row.time for row in rows), default=0.0),
    )


def extended(index: TranscriptIndex, rows: Sequence[IndexRow]) -> TranscriptIndex | None:
    """The index with rows that were appended; None where they might be more than new messages."""
    if not index.settled or not all(row.is_plain for row in rows):
        return None
    if not rows or min(row.time for row in rows) <= index.newest_time or rows[0].id <= index.ids[-1]:
        return None
    numbers = range(len(index.ids), len(index.ids) + len(rows))
    places = range(index.messages, index.messages + len(rows))
    ids = index.ids + array("q", [row.id for row in rows])
    kinds = bytes(_kind(None, row) for row in rows)
    return replace(
        index,
        ids=ids,
        flags=index.flags + bytes(map(_row_flags, rows)),
        sizes=index.sizes + array("i", [min(row.size, 2**31 - 1) for row in rows]),
        places=index.places + array("i", places),
        tokens=index.tokens + array("i", [NONE]) * len(rows),
        first=index.first + array("i", numbers),
        kinds=index.kinds + kinds,
        boundaries=tuple(replace(boundary, ids=ids) for boundary in index.boundaries),
        newest_time=max(row.time for row in rows),
        sent_order=index.sent_order + array("i", numbers) if index.sent_order else index.sent_order,
    )


def with_counts_of(index: TranscriptIndex, before: TranscriptIndex) -> TranscriptIndex:
    """The index with the token counts of an earlier one, for rows whose text still has the same size."""
    earlier = dict(zip(before.ids, zip(before.sizes, before.tokens, strict=True), strict=True))
    missing = (NONE, NONE)
    counts = (earlier.get(row_id, missing) for row_id in index.ids)
    tokens = [count if size == now else NONE for (size, count), now in zip(counts, index.sizes, strict=True)]
    return replace(index, tokens=array("i", tokens))


def _row_flags(row: IndexRow) -> int:
    sent = row.state == "live" and row.role not in BOOKKEEPING_ROLES
    return _STATES[row.state] | (SENT if sent else 0) | (ANSWER if row.role in engine.RESULT_ROLES else 0)


def _kind(entry: HistoryEntry | None, full: IndexRow) -> int:
    """The flags of an entry: `full` is its row with the fullest text. `entry` is None for an entry of one live row."""
    state = {"under": AWAY, "lost": UNLINKED}.get(entry.state, 0) if entry else 0
    return state | (RESULT if full.role in engine.RESULT_ROLES else 0) | (PROMPT if full.is_prompt else 0)


def _several(entries: Sequence[HistoryEntry], number: Mapping[int, int]) -> SeveralSources:
    entries_of_several = [(place, entry) for place, entry in enumerate(entries) if len(entry.rows) > 1]
    starts = array("i", [0])
    for _, entry in entries_of_several:
        starts.append(starts[-1] + len(entry.rows))
    return SeveralSources(
        places=array("i", [place for place, _ in entries_of_several]),
        full=array("i", [number[entry.full_id] for _, entry in entries_of_several]),
        newest=array("i", [number[entry.newest_id] for _, entry in entries_of_several]),
        marks=bytes(entry.shortened * SHORTENED | entry.twice * TWICE for _, entry in entries_of_several),
        starts=starts,
        rows=array("i", [number[row_id] for _, entry in entries_of_several for row_id in entry.rows]),
    )


def _boundary(
    facts: BoundaryIds, ids: array[int], number: Mapping[int, int], messages: Sequence[int], records: set[int]
) -> Boundary:
    """The boundary, before the first message that its tail kept, or where its handoff was written."""

    def numbers(of: Iterable[int]) -> array[int]:
        return array("i", map(number.__getitem__, of))

    return Boundary(
        handoff_id=facts.handoff_id,
        time=facts.time,
        cut_id=facts.cut_id,
        run=facts.run,
        place=bisect_left(messages, facts.handoff_id if facts.cut_id is None else facts.cut_id),
        records_before=len(records.intersection(facts.before_ids)),
        records_after=len(records.intersection(facts.block_ids)),
        unsure=facts.unsure,
        ids=ids,
        block=numbers(facts.block_ids),
        before=numbers(facts.before_ids),
        pairs=numbers(chain.from_iterable(facts.copies)),
        gone=numbers(facts.summarised_ids),
        stayed=numbers(facts.kept_ids),
        cropped=numbers(facts.shortened_ids),
    )


# -- bytes ------------------------------------------------------------------------------------------------------------

_LISTS = ("block", "before", "pairs", "gone", "stayed", "cropped")


def to_bytes(index: TranscriptIndex) -> bytes:
    """The bytes that `from_bytes` reads again, on a machine of this kind."""
    more = index.several
    parts: list[array[int] | bytes] = [
        index.ids, index.flags, index.sizes, index.places, index.tokens, index.first, index.kinds,
        more.places, more.full, more.newest, more.marks, more.starts, more.rows, index.sent_order,
    ]  # fmt: skip
    parts += [getattr(boundary, name) for boundary in index.boundaries for name in _LISTS]
    encoded = [part if isinstance(part, bytes) else part.tobytes() for part in parts]
    header_values = {
        "order": sys.byteorder,
        "lengths": [len(part) for part in encoded],
        "cuts": [
            [
                *(boundary.handoff_id, boundary.time, boundary.cut_id, boundary.run, boundary.place),
                *(boundary.records_before, boundary.records_after, boundary.unsure),
            ]
            for boundary in index.boundaries
        ],
        "settled": index.settled,
        "newest_time": index.newest_time,
    }
    header = json.dumps(header_values).encode()
    body = b"".join([len(header).to_bytes(4, "big"), header, *encoded])
    return b"".join([_HEAD, bytes([VERSION]), crc32(body).to_bytes(4, "big"), body])


def from_bytes(packed: bytes | memoryview) -> TranscriptIndex | None:
    """The index in these bytes; None where another version or kind of machine wrote them, or they are damaged."""
    start = len(_HEAD) + 5
    body = memoryview(packed)[start:]
    sound = bytes(packed[: len(_HEAD) + 1]) == _HEAD + bytes([VERSION])
    if not sound or crc32(body).to_bytes(4, "big") != bytes(packed[start - 4 : start]):
        return None
    stop = 4 + int.from_bytes(body[:4], "big")
    header_values = json.loads(bytes(body[4:stop]))
    if header_values["order"] != sys.byteorder:
        return None
    parts: list[memoryview] = []
    for length in header_values["lengths"]:
        parts.append(body[stop : stop + length])
        stop += length
    return _index(header_values, parts)


def _index(header_values: dict[str, Any], parts: Sequence[memoryview]) -> TranscriptIndex:
    def numbers(at: int, kind: str = "i") -> array[int]:
        values: array[int] = array(kind)
        values.frombytes(parts[at])
        return values

    ids = numbers(0, "q")
    boundaries = [
        Boundary(*facts, ids, *(numbers(at) for at in range(start, start + len(_LISTS))))  # type: ignore[call-arg]
        for facts, start in zip(header_values["cuts"], range(14, len(parts), len(_LISTS)), strict=True)
    ]
    return TranscriptIndex(
        ids=ids,
        flags=bytes(parts[1]),
        sizes=numbers(2),
        places=numbers(3),
        tokens=numbers(4),
        first=numbers(5),
        kinds=bytes(parts[6]),
        several=SeveralSources(numbers(7), numbers(8), numbers(9), bytes(parts[10]), numbers(11), numbers(12)),
        boundaries=tuple(boundaries),
        settled=header_values["settled"],
        newest_time=header_values["newest_time"],
        sent_order=numbers(13),
    )
