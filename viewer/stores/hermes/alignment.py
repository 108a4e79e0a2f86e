"""Light rows, and whether two of them may carry the same message: equal bytes are never the test
(`history` says why).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from .envelopes import without_marker
from .records import LightRow

State = Literal["live", "under", "out"]


TEXT_CHARACTERS = 300  # of `LightRow.text`; more of a request, since a row may contain several
ASKED_CHARACTERS = 2_000
END_CHARACTERS = 64  # of `LightRow.end`
STEP = 1.5e-6  # seconds between two rows that the agent inserts in one write: 1e-6, plus rounding of floats
Pair = tuple[LightRow, LightRow]  # (copy, the row it was copied from)


def may_be_head(row: LightRow, handoff: LightRow) -> bool:
    """Whether its state allows a row to be a head copy: rows are taken back from the end, so a live handoff has its
    head.
    """
    return row.state == "live" if handoff.state == "live" else handoff.state == "out" or row.state != "live"


def text_limit(row_role: str) -> int:
    """The characters of `LightRow.text` for a role."""
    return ASKED_CHARACTERS if row_role == "user" else TEXT_CHARACTERS


def words(row: LightRow) -> tuple[str, ...]:
    """The features that identify a row's content: its start, its end and its ids, without its images."""
    if row.handoff == "standalone":
        return (row.role, row.handoff_key)
    row = without_image(row)
    return (row.role, row.tool_call_id, row.text, ending(row), row.calls)


def typed_in(row: LightRow) -> LightRow | None:
    """A row with only its typed text, where that was merged into a marker that only a compaction writes."""
    text = without_marker(row.text) if row.of_compaction else row.text
    if text == row.text:
        return None
    end = text[-END_CHARACTERS:] if len(row.text) < ASKED_CHARACTERS else row.end
    return replace(row, text=text, end=end, scaffold=False, of_compaction=False)


def ending(row: LightRow) -> str:
    """The end of a typed text or an answer; not of a result, which may be cut off."""
    return "" if row.role == "tool" else row.end[-_ENDING:]


def without_image(row: LightRow) -> LightRow:
    """A row without the texts that replace images or say that they were left out."""
    if row.role != "user" or not row.end.endswith("]"):
        return row
    return replace(row, text=_IMAGE.sub("", row.text), end=_IMAGE.sub("", row.end))


_ENDING = 16  # characters of the end that distinguish long texts with the same start, whatever replaces an image
_IMAGE = re.compile(r"( ?\[(screenshot|[^][]*\bimage\b[^][]*)\])+$")


def _key(row: LightRow) -> tuple[str, str]:
    return (row.role, row.tool_call_id)


def may_pair(a: LightRow, b: LightRow) -> bool:
    """Whether two rows may carry the same message."""
    return _key(a) == _key(b) and not (a.named and b.named and a.uid != b.uid)


def with_telling_times(rows: Sequence[LightRow]) -> list[LightRow]:
    """The rows, with the time 0 where the time identifies nothing, because rows of different messages share it."""
    first: dict[float, LightRow] = {}
    shared: set[float] = set()
    for row in rows:
        other = first.setdefault(row.time, row)
        if not (_key(row) == _key(other) and _alike(row, other)):  # equal names may be a coincidence (`naming`)
            shared.add(row.time)
    return [replace(row, time=0.0) if row.time in shared else row for row in rows]


def related(a: LightRow, b: LightRow) -> bool:
    """Whether two rows may carry the same message, one of them shortened: alike at the start, or with the same calls,
    or one with words in place of its calls.
    """
    return may_pair(a, b) and _alike(a, b)


def _alike(a: LightRow, b: LightRow) -> bool:
    if a.uid and a.uid == b.uid:
        return True
    alike = a.text.startswith(b.text[:_ALIKE_CHARACTERS]) if b.text else not a.text
    alike = alike or bool(a.text and b.text.startswith(a.text[:_ALIKE_CHARACTERS]))
    alike = alike or any(row.handoff == "merged" and not row.text for row in (a, b))
    alike = alike or bool(a.handoff and b.handoff)  # a summary, and a row that another one was merged into with it
    stub = _CALLS_REMOVED in (a.text, b.text) and bool(a.calls) != bool(b.calls)
    return alike or bool(a.tool_call_id) or stub or bool(a.calls and a.calls == b.calls)


_ALIKE_CHARACTERS = 40
_CALLS_REMOVED = "(tool call removed)"  # written by a compaction where no result followed (context_compressor)
