"""Whether two rows may carry the same message. Equal bytes are never the test: copies are shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from viewer.stores.hermes.envelopes import without_marker
from viewer.stores.hermes.records import ASKED_CHARACTERS, END_CHARACTERS, LightRow


def may_be_head(row: LightRow, handoff: LightRow) -> bool:
    """Whether its state allows a row to be a head copy: rows are taken back from the end, so a live handoff has its
    head.
    """
    return row.state == "live" if handoff.state == "live" else handoff.state == "out" or row.state != "live"


def typed_in(row: LightRow) -> LightRow | None:
    """A row with only its typed text, where that was merged into a marker that only a compaction writes."""
    text = without_marker(row.text) if row.of_compaction else row.text
    if text == row.text:
        return None
    end = text[-END_CHARACTERS:] if len(row.text) < ASKED_CHARACTERS else row.end
    return replace(row, text=text, end=end, scaffold=False, of_compaction=False)


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
