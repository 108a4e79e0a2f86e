"""What a model was sent before a compaction, next to what it was sent directly after it, for any
boundary in History.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from viewer.stores.message import Parted, parted
from viewer.stores.registry import Reader
from viewer.stores.transcript import Boundary, TranscriptIndex

from .aligning import AlignedRow, align

Fate = Literal["kept", "shortened", "summarised", "new"]


class SentPart(NamedTuple):
    """The content of one cell: a row, or one part of a row in which a summary and a message were merged."""

    row_id: int
    part: Literal["row", "summary", "message"]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row of the two columns. `left` and `right` say what happened to each side, "" if it is empty; `at` is the
    row's position, `band` that of `AlignedRow`.
    """

    at: int
    before: SentPart | None
    after: SentPart | None
    left: Fate | Literal[""]
    right: Fate | Literal[""]
    band: int

    @property
    def is_kept(self) -> bool:
        """Whether one message is on both sides, word for word."""
        return self.left == self.right == "kept"

    @property
    def is_pair(self) -> bool:
        """Whether one message is on both sides."""
        return self.left == self.right != ""


def compare(reader: Reader, session_id: str, index: TranscriptIndex, boundary: Boundary) -> list[ComparedRow]:
    """All rows of a boundary. Reads only the rows of its own handoff and of earlier ones that were in context."""
    before, after = boundary.before_ids, boundary.block_ids
    handoffs = {each.handoff_id for each in index.boundaries} & {*before, *after}
    handoffs |= {copy for copy, source in boundary.copies if source in handoffs}
    rows = reader.messages(session_id, sorted(handoffs)).values()
    split = {row.id: _parts_of(row.id, parted(row), message_first=_is_head(row.id, index, boundary)) for row in rows}
    left, right = list(_parts(before, split)), list(_parts(after, split))
    source_of = dict(_sources(left, right, boundary))
    return list(_compared(align(left, right, source_of), index, boundary))


def _is_head(row_id: int, index: TranscriptIndex, boundary: Boundary) -> bool:
    """Whether a row's message is older than those that were summarised."""
    position = index.place_of(row_id)
    first = index.place_of(boundary.summarised_ids[0]) if boundary.summarised else None
    return position is not None and first is not None and position < first


def _parts_of(row_id: int, parts: Parted, *, message_first: bool) -> list[SentPart]:
    """The parts of a row with a summary: if it was merged with a message, the summary is next to what it replaces."""
    if parts.message is None:
        return [SentPart(row_id, "summary")]
    both = [SentPart(row_id, "summary"), SentPart(row_id, "message")]
    return (both[::-1] if message_first else both) if parts.has_handoff else [SentPart(row_id, "row")]


def _parts(ids: Sequence[int], split: Mapping[int, list[SentPart]]) -> Iterator[SentPart]:
    for row_id in ids:
        yield from split.get(row_id) or [SentPart(row_id, "row")]


def _sources(
    left: Sequence[SentPart], right: Sequence[SentPart], boundary: Boundary
) -> Iterator[tuple[SentPart, SentPart]]:
    """For each part on the right, the part that it continues: the row it was copied from, or the same row. A summary
    continues an earlier one, unless it belongs to the boundary itself.
    """
    messages = {part.row_id: part for part in left if part.part != "summary"}
    summaries = {part.row_id: part for part in left if part.part == "summary"}
    copied: dict[int, int] = {}
    for copy, source in boundary.copies:
        copied.setdefault(copy, source)
    for part in right:
        source = copied.get(part.row_id, part.row_id)
        carries = messages if part.part != "summary" else summaries if part.row_id != boundary.handoff_id else {}
        if source in carries:
            yield part, carries[source]


def _compared(
    rows: Sequence[AlignedRow[SentPart]], index: TranscriptIndex, boundary: Boundary
) -> Iterator[ComparedRow]:
    kept, shortened = set(boundary.kept_ids), set(boundary.shortened_ids)

    def fate(part: SentPart | None, otherwise: Fate) -> Fate | Literal[""]:
        if part is None:
            return ""
        message = index.message_of(part.row_id) if part.part != "summary" else None
        if message not in kept:
            return otherwise
        return "shortened" if message in shortened else "kept"

    for at, row in enumerate(rows):
        left, right = fate(row.before, "summarised"), fate(row.after, "new")
        if row.matched:
            left = right = "shortened" if "shortened" in (left, right) else "kept"
        yield ComparedRow(at, row.before, row.after, left, right, row.band)
