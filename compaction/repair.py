"""Making tool calls and results complete: what providers refuse is left out, and said.

A normal transcript needs none of this. Calls of the last group stay even without results: they may still be running,
and Hermes keeps them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import protocol
from .messages import RESULT_ROLES, Message, as_json, call_entries, is_call_item, role, said
from .pairs import loose_ends

# Between head and tail stands the handoff (alone, or in front of the first tail message): no group crosses it.
SEPARATOR: Message = {"role": "user"}


Repairs = dict[int, dict[str, Any] | None]  # new values for a row's keys (None removes one), or None to leave it out


def repairs(head: Sequence[Message], tail: Sequence[Message]) -> Repairs:
    """Changes by position in head + tail."""
    rows = [*head, SEPARATOR, *tail]
    loose = loose_ends(rows)
    found: Repairs = {}
    for at, positions in loose.results.items():
        found[at] = _without_results(rows[at], set(positions))
    for at, positions in loose.calls.items():
        found[at] = _without_calls(rows[at], set(positions))
    return {at - (at > len(head)): changes for at, changes in found.items()}


def _without_results(row: Message, positions: set[int]) -> dict[str, Any] | None:
    if role(row) in RESULT_ROLES:
        return None
    left = _without(row["content"], "tool_result", positions)
    return {"content": left} if left else None


def _without_calls(row: Message, positions: set[int]) -> dict[str, Any] | None:
    if is_call_item(row):
        return None
    entries = call_entries(row)
    left = [entry for i, entry in enumerate(entries) if i not in positions]
    changes: dict[str, Any] = {}
    if len(left) < len(entries):
        changes["tool_calls"] = (as_json(left) if isinstance(row["tool_calls"], str) else left) if left else None
    content = row.get("content")
    if isinstance(content, list):
        blocks = _without(content, "tool_use", {p - len(entries) for p in positions})
        if len(blocks) < len(content):
            changes["content"] = content = blocks
    calling = left or (isinstance(content, list) and any(_is(b, "tool_use") for b in content))
    if not calling and not said(content).strip():
        changes["content"] = protocol.UNANSWERED_STUB
    return changes


def _without(content: list[Any], kind: str, positions: set[int]) -> list[Any]:
    """The blocks but for those of one type at these positions (counted among that type)."""
    left, seen = [], -1
    for block in content:
        seen += _is(block, kind)
        if not (_is(block, kind) and seen in positions):
            left.append(block)
    return left


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind
