"""Tool calls with their results: which result answers which call, and how one call is shown.

Ids repeat within real sessions, so a result is first matched with the calls directly before it, then by id
(`docs/hermes.md` section 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from django.utils.safestring import SafeString

from compaction import messages as engine
from viewer.stores.message import StoredMessage

from . import cache, diffs, formats, tools
from .outcomes import CallOutcome
from .texts import json_value

LIMIT = 60  # calls of one row that are shown; no agent known makes so many at once


@dataclass(frozen=True, slots=True)
class ShownResult:
    """A tool's result, and how the call ended according to its text. `number` is its place in History, counted from 1;
    0 if it is not there. `tokens` is None while they are not counted; then `length` has the characters.

    `colours` is the URL of the same in colours, "" if there is nothing to colour; `copy` that of its raw text,
    `keep` that of the page on which it is pinned or put back, "" if it is not in History;
    `sessions` are (id, URL) of the sub-agents' sessions it names.
    """

    id: int
    number: int
    href: str
    tokens: int | None
    length: int
    html: SafeString
    colours: str
    copy: str
    keep: str
    outcome: CallOutcome
    seconds: str
    notes: tuple[str, ...]
    marked: bool
    sessions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ShownCall:
    """One tool call in one fold: a summary line, with arguments and result inside. `is_change`: the arguments are a
    change or a to-do list, so that the result of a call that did not fail is rarely read. `sort` is that of
    `tools.sort`.
    """

    template: ClassVar[str] = "blocks/call.html"
    name: str
    sort: str
    title: tools.Title
    html: SafeString
    colours: str
    result: ShownResult | None
    waiting: bool
    is_change: bool = False

    @property
    def open(self) -> bool:
        return self.result is not None and self.result.marked

    @property
    def is_folded(self) -> bool:
        """Whether the result is in a fold of its own."""
        return self.is_change and self.result is not None and not self.result.outcome.word

    @property
    def fold(self) -> SafeString:
        """The call as HTML, cached by all its fields."""
        return cache.by_template(self.template, self)


def calls_of(row: StoredMessage) -> list[engine.Call]:
    """The calls of a row that are shown, in order."""
    parts = row.content
    if isinstance(parts, list) and len(parts) > LIMIT:
        parts = [part for part in parts if isinstance(part, dict) and part.get("type") == "tool_use"][:LIMIT]
    return engine.calls({"tool_calls": row.tool_calls[:LIMIT], "content": parts})[:LIMIT]


def left_out(row: StoredMessage) -> int:
    """The number of calls of a row that are not shown."""
    return max(0, len(row.tool_calls) - LIMIT)


def pair(rows: Sequence[StoredMessage], called: Sequence[Sequence[engine.Call]]) -> dict[tuple[int, int], int]:
    """(index of the calling row, position of the call in it) -> index of the row with its result."""
    pairs: dict[tuple[int, int], int] = {}
    open_calls: list[tuple[int, int, str]] = []  # calls without a result so far, oldest first
    for index, row in enumerate(rows):
        if row.role in engine.RESULT_ROLES:
            number = _answered(open_calls, row.tool_call_id)
            if number is not None:
                at, position, _ = open_calls.pop(number)
                pairs[at, position] = index
        else:
            open_calls += [(index, position, call.ids[0]) for position, call in enumerate(called[index])]
    return pairs


def _answered(open_calls: list[tuple[int, int, str]], call_id: str) -> int | None:
    """The open call that a result answers: the first with its id in the newest row with calls, else the newest with its
    id.
    """
    newest = open_calls[-1][0] if open_calls else -1
    near = [at for at, call in enumerate(open_calls) if call[0] == newest and (call[2] == call_id or not call_id)]
    if near:
        return near[0]
    return next((at for at in reversed(range(len(open_calls))) if open_calls[at][2] == call_id != ""), None)


def noted(call: engine.Call, result: StoredMessage) -> str:
    """The change of a file that an agent notes with a result, as a unified diff; "" for none. Hermes puts it into the
    result.
    """
    if not tools.changes_files(call.name):
        return ""
    if result.diff:
        return result.diff
    value = result.content if isinstance(result.content, dict) else json_value(engine.text(result.content))
    diff = value.get("diff") if isinstance(value, dict) else None
    return diff if isinstance(diff, str) and diffs.is_diff(diff) else ""


def without_noted(result: StoredMessage) -> StoredMessage:
    """A result without the change that it contains, for a page that shows the change before it."""
    value = result.content if isinstance(result.content, dict) else json_value(engine.text(result.content))
    if result.diff or not isinstance(value, dict) or "diff" not in value:
        return result
    return replace(result, content={name: each for name, each in value.items() if name != "diff"})


def duration(call: StoredMessage, result: StoredMessage) -> str:
    """How long the tool took, if the times of the two rows can tell."""
    passed = result.timestamp - call.timestamp
    return formats.seconds(passed) if 0.05 <= passed < 3_600 else ""
